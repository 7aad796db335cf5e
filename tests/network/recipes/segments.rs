//! Tests `docs/how-to/several-segments.md` on two segments of two machines, with a real etcd and a real PostgreSQL, and
//! `docs/how-to/from-etcdctl-lock.md` on one segment.
//!
//! Each test costs about a minute, because the leases in the page last for 10 s and 15 s. The tests mostly wait.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{Container, NetNs, PostgreSql, Segment, Test, binaries, tests};
use tempfile::TempDir;

use super::pages::{FROM_ETCDCTL, SEVERAL_SEGMENTS, block};
use super::{WAIT_LIMIT, check_disjoint, install, runs, with_reports};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const SEGMENTS: usize = 2;
const MACHINES_PER_SEGMENT: usize = 2;
/// The server's address in the page.
const SERVER: &str = "192.0.2.10";
/// A job that continues for a moment after SIGTERM. It writes the seconds since the boot to a file while it runs.
const SLOW_TO_END: &str = "#!/bin/sh\n\
    left=8 over=\n\
    trap 'over=yes' TERM\n\
    while [ $left -gt 0 ] && read -r now _ </proc/uptime; do\n\
        echo \"$now\" >>/run/reports.$$; sleep 0.02\n\
        [ -z \"$over\" ] || left=$((left - 1))\n\
    done\n";
const UNIT: &str = "reports";
const RINGD: &str = "ringd@eth0";

pub(super) fn tests() -> Vec<Test> {
    tests![
        one_machine_of_two_segments_runs_the_job_under_a_lock_in_etcd,
        one_machine_of_two_segments_runs_the_job_under_a_lock_in_postgresql,
        a_service_moves_from_etcdctl_lock_to_the_ring_and_back,
    ]
}

/// A network that connects machines of all segments with a server. The server is in the hub's namespace.
struct Backbone {
    hub: NetNs,
}

impl Backbone {
    fn new() -> Result<Self> {
        let hub = NetNs::new()?;
        hub.ip(&format!(
            "link set lo up\n\
             link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0\n\
             link set br0 up\n\
             addr add {SERVER}/24 dev br0\n"
        ))?;
        Ok(Self { hub })
    }

    /// Gives machine `at` the interface `eth1` with the address `192.0.2.(at + 1)`.
    fn plug(&self, at: usize, machine: &NetNs) -> Result<()> {
        self.hub.connect(&format!("p{at}"), machine, "eth1")?;
        self.set_up(at, true)?;
        machine.ip(&format!("addr add 192.0.2.{}/24 dev eth1\n", at + 1))
    }

    /// Cuts a machine off, or connects it again. The machine does not notice.
    fn set_up(&self, at: usize, up: bool) -> Result<()> {
        let port = if up { "master br0" } else { "nomaster" };
        self.hub.ip(&format!("link set p{at} {port}\n"))
    }
}

/// An etcd server at the address of the page. The server ends on drop.
struct Etcd {
    process: Child,
    _folder: TempDir,
}

impl Etcd {
    fn start(backbone: &Backbone) -> Result<Self> {
        let folder = tempfile::tempdir_in("/run")?;
        let url = format!("http://{SERVER}:2379");
        let mut command = Command::new("etcd");
        command
            .arg("--data-dir")
            .arg(folder.path())
            .args([
                "--listen-client-urls",
                &url,
                "--advertise-client-urls",
                &url,
            ])
            .args([
                "--listen-peer-urls",
                "http://127.0.0.1:2380",
                "--logger",
                "zap",
            ])
            .stdin(Stdio::null());
        let process = backbone.hub.spawn(&mut command).context(
            "there is no etcd: install it, for example with apt-get install etcd-server etcd-client",
        )?;
        Ok(Self {
            process,
            _folder: folder,
        })
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Site {
    machines: Vec<Container>,
    backbone: Backbone,
    _segments: Vec<Segment>,
}

impl Site {
    /// Boots the machines. Installs the page's programs and units with `more`, and starts the service.
    fn new(backbone: Backbone, more: impl Fn(&Container) -> Result<()>) -> Result<Self> {
        let (mut segments, mut machines) = (Vec::new(), Vec::new());
        for _ in 0..SEGMENTS {
            let segment = Segment::bridge(MACHINES_PER_SEGMENT)?;
            for node in segment.nodes() {
                backbone.plug(machines.len(), node.ns())?;
                let machine = Container::boot(node, binaries())?;
                machine.install_service()?;
                machine.write("/usr/local/bin/reports", 0o755, SLOW_TO_END)?;
                install(
                    &machine,
                    0o755,
                    block(
                        SEVERAL_SEGMENTS,
                        "#!/bin/bash\n# /usr/local/bin/while-lines",
                    )?,
                )?;
                install(
                    &machine,
                    0o644,
                    block(SEVERAL_SEGMENTS, "# /etc/systemd/system/reports.service")?,
                )?;
                more(&machine)?;
                machine.run(&["systemctl", "daemon-reload"])?;
                machine.run(&["systemctl", "enable", "--now", "--quiet", RINGD])?;
                machines.push(machine);
            }
            segments.push(segment);
        }
        for machine in &machines {
            machine.sh(
                "until ringctl status --json | jq -e '.members[1]' >/dev/null; do sleep 0.05; done",
            )?;
            machine.run(&["systemctl", "enable", "--now", "--quiet", UNIT])?;
        }
        Ok(Self {
            machines,
            backbone,
            _segments: segments,
        })
    }

    fn counts(&self) -> Result<Vec<usize>> {
        let count = |machine| Ok(runs(machine)?.len());
        self.machines.iter().map(count).collect()
    }

    /// Waits until the job starts on a machine that `wanted` accepts. Returns the machine.
    fn wait_for_start(&self, before: &[usize], wanted: impl Fn(usize) -> bool) -> Result<usize> {
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            let now = self.counts()?;
            let started = (0..now.len()).find(|at| wanted(*at) && now[*at] > before[*at]);
            if let Some(at) = started {
                return Ok(at);
            }
            ensure!(
                Instant::now() < deadline,
                "the job starts nowhere: {before:?}, {now:?}"
            );
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until the job has worked for this time, on any machine. If two machines could run the job, both would do
    /// so in this time.
    fn wait_for_work(&self, time: Duration) -> Result<()> {
        let total = || -> Result<f64> {
            let all = self.machines.iter().map(runs).collect::<Result<Vec<_>>>()?;
            Ok(all
                .concat()
                .iter()
                .map(|(begun, ended)| ended - begun)
                .sum())
        };
        let (before, deadline) = (total()?, Instant::now() + WAIT_LIMIT);
        while total()? < before + time.as_secs_f64() {
            ensure!(Instant::now() < deadline, "the job does not work");
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Kills and stops the daemon of the machine that runs the job. Then cuts the segment that runs the job off from
    /// the server, `cuts` times.
    fn survive_faults(&self, cuts: usize) -> Result<()> {
        let mut at = self.wait_for_start(&vec![0; self.machines.len()], |_| true)?;
        for signal in ["KILL", "STOP"] {
            let before = self.counts()?;
            let kill = |signal: &str| {
                let signal = format!("--signal={signal}");
                self.machines[at].run(&["systemctl", "kill", &signal, RINGD])
            };
            kill(signal)?;
            let next = self.wait_for_start(&before, |other| other != at)?;
            if signal == "STOP" {
                kill("CONT")?;
            }
            self.machines[at].sh("until ringctl status -q 2>/dev/null; do sleep 0.05; done")?;
            at = next;
        }
        for _ in 0..cuts {
            let (before, segment) = (self.counts()?, at / MACHINES_PER_SEGMENT);
            let is_in = |other: usize| other / MACHINES_PER_SEGMENT == segment;
            let set_up = |up| -> Result<()> {
                let mut machines = (0..self.machines.len()).filter(|other| is_in(*other));
                machines.try_for_each(|other| self.backbone.set_up(other, up))
            };
            set_up(false)?;
            at = self.wait_for_start(&before, |other| !is_in(other))?;
            set_up(true)?;
        }
        for (at, one) in self.machines.iter().enumerate() {
            for other in &self.machines[..at] {
                check_disjoint(one, other)?;
            }
        }
        Ok(())
    }
}

fn one_machine_of_two_segments_runs_the_job_under_a_lock_in_etcd() -> Result<()> {
    let backbone = Backbone::new()?;
    let _etcd = Etcd::start(&backbone)?;
    let lines = block(SEVERAL_SEGMENTS, "#!/bin/sh\n# /usr/local/bin/etcd-lines")?;
    let site = Site::new(backbone, |machine| install(machine, 0o755, lines))?;
    // Each fault takes as long as a lease of 15 s.
    site.survive_faults(1)
}

fn one_machine_of_two_segments_runs_the_job_under_a_lock_in_postgresql() -> Result<()> {
    let backbone = Backbone::new()?;
    let mut server = PostgreSql::start(tempfile::tempdir_in("/run")?)?;
    server.move_to(&backbone.hub, SERVER)?;
    let lines = block(
        SEVERAL_SEGMENTS,
        "#!/bin/sh\n# /usr/local/bin/postgresql-lines",
    )?;
    let drop_in = block(SEVERAL_SEGMENTS, "[Service]\nEnvironment=PGHOST")?;
    let site = Site::new(backbone, |machine| {
        install(machine, 0o755, lines)?;
        machine.edit("reports.service", drop_in)
    })?;
    site.survive_faults(2)
}

/// Boots two machines of one segment, with the service under `etcdctl lock`.
fn site_with_etcdctl(backbone: Backbone) -> Result<Site> {
    let segment = Segment::bridge(2)?;
    let mut machines = Vec::new();
    let old = block(FROM_ETCDCTL, "# /etc/systemd/system/reports.service")?;
    for node in segment.nodes() {
        backbone.plug(machines.len(), node.ns())?;
        let machine = Container::boot(node, binaries())?;
        machine.install_service()?;
        with_reports(&machine)?;
        install(&machine, 0o644, old)?;
        machine.run(&["systemctl", "daemon-reload"])?;
        machine.run(&["systemctl", "enable", "--now", "--quiet", RINGD])?;
        machines.push(machine);
    }
    let site = Site {
        machines,
        backbone,
        _segments: vec![segment],
    };
    for machine in &site.machines {
        machine.sh(
            "until ringctl status --json | jq -e '.members[1]' >/dev/null; do sleep 0.05; done",
        )?;
        machine.run(&["systemctl", "enable", "--now", "--quiet", UNIT])?;
    }
    Ok(site)
}

fn a_service_moves_from_etcdctl_lock_to_the_ring_and_back() -> Result<()> {
    let backbone = Backbone::new()?;
    let etcd = Etcd::start(&backbone)?;
    let site = site_with_etcdctl(backbone)?;
    let both = block(
        FROM_ETCDCTL,
        "[Service]\nExecStart=\nExecStart=/usr/bin/etcdctl",
    )?;
    let new = block(
        FROM_ETCDCTL,
        "[Service]\nExecStart=\nExecStart=/usr/local/bin/ringctl",
    )?;
    let at = site.wait_for_start(&[0, 0], |_| true)?;

    // The difference that the page's table names: if the lease expires, etcdctl does not end its command.
    let before = site.counts()?;
    site.backbone.set_up(at, false)?;
    site.wait_for_start(&before, |other| other != at)?;
    let [one, other] = &site.machines[..] else {
        anyhow::bail!("two machines")
    };
    let deadline = Instant::now() + WAIT_LIMIT;
    while check_disjoint(one, other).is_ok() {
        ensure!(Instant::now() < deadline, "etcdctl has ended its command");
        thread::sleep(POLL_INTERVAL);
    }
    site.backbone.set_up(at, true)?;
    for machine in &site.machines {
        machine.sh(&format!(
            "systemctl kill --signal=KILL {UNIT}; systemctl stop {UNIT}; \
             rm /run/reports.*; systemctl start --no-block {UNIT}"
        ))?;
    }

    site.wait_for_start(&[0, 0], |_| true)?;
    // The steps of the page: forward, back by one step, and forward to the end.
    for (at, lines) in [
        (0, both),
        (1, both),
        (0, new),
        (0, both),
        (1, ""),
        (1, both),
        (1, new),
        (0, new),
    ] {
        let machine = &site.machines[at];
        machine.run(&["systemctl", "stop", UNIT])?;
        machine.edit("reports.service", lines)?;
        machine.run(&["systemctl", "start", UNIT])?;
        site.wait_for_work(Duration::from_millis(500))?;
    }
    check_disjoint(one, other)?;
    // The lock in etcd ends the command of the section "Keep etcd" when the machine is cut off.
    let lines = block(FROM_ETCDCTL, "etcd-lines reports | while-lines")?;
    for beginning in [
        "#!/bin/bash\n# /usr/local/bin/while-lines",
        "#!/bin/sh\n# /usr/local/bin/etcd-lines",
    ] {
        install(one, 0o755, block(SEVERAL_SEGMENTS, beginning)?)?;
    }
    let before = site.counts()?;
    let endpoint = format!("--setenv=ETCDCTL_ENDPOINTS=http://{SERVER}:2379");
    one.run(&[
        "systemd-run",
        "--quiet",
        "--unit=kept",
        &endpoint,
        "sh",
        "-c",
        lines,
    ])?;
    site.wait_for_start(&before, |at| at == 0)?;
    site.backbone.set_up(0, false)?;
    let has_ended = |state: &str| state != "active";
    one.wait_for("kept", "ActiveState", WAIT_LIMIT, has_ended)?;
    for machine in &site.machines {
        // The runs of both commands are over, or do not count.
        machine.sh(&format!(
            "systemctl stop {UNIT}; rm /run/reports.*; systemctl start {UNIT}"
        ))?;
    }

    // The service no longer needs etcd.
    drop(etcd);
    let at = site.wait_for_start(&[0, 0], |_| true)?;
    let before = site.counts()?;
    site.machines[at].run(&["systemctl", "kill", "--signal=KILL", RINGD])?;
    site.wait_for_start(&before, |other| other != at)?;
    check_disjoint(one, other)
}
