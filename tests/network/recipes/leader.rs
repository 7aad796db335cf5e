//! Tests the units of `docs/how-to/service.md` that run a service on the token's machine. The tests kill, restart,
//! stop and pause the daemons of two machines.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use ring_segment::{Container, Segment, Test, binaries, tests};

use super::pages::{FROM_CONSUL, SERVICE, block};
use super::{WAIT_LIMIT, check_disjoint, runs, with_reports, with_sudo};

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const UNIT: &str = "reports";
const RINGD: &str = "ringd@eth0";

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_service_under_ringctl_run_is_on_one_machine_during_all_troubles_of_the_daemons,
        a_drop_in_binds_an_existing_service_to_the_target_of_the_leader,
        a_service_that_ran_under_consul_lock_runs_under_ringctl_run,
        a_permanent_service_uses_a_separate_ring,
        systemd_restarts_a_leader_until_a_daemon_runs,
    ]
}

struct ServicePair {
    machines: [Container; 2],
    _segment: Segment,
}

impl ServicePair {
    /// Installs the service on both machines with `install`, and starts it.
    fn new(install: impl Fn(&Container) -> Result<()>) -> Result<Self> {
        let pair = Self::before_the_start(install)?;
        for machine in &pair.machines {
            machine.run(&["systemctl", "enable", "--now", "--quiet", UNIT])?;
        }
        Ok(pair)
    }

    /// Installs the service on both machines with `install`, and starts the ring.
    fn before_the_start(install: impl Fn(&Container) -> Result<()>) -> Result<Self> {
        let segment = Segment::bridge(2)?;
        let mut machines = Vec::new();
        for at in 0..2 {
            let machine = Container::boot(segment.node(at), binaries())?;
            machine.install_service()?;
            with_reports(&machine)?;
            install(&machine)?;
            machine.run(&["systemctl", "enable", "--now", "--quiet", RINGD])?;
            machines.push(machine);
        }
        for machine in &machines {
            machine.sh(
                "until ringctl -i eth0 status --json | grep -q 02:00:00:00:00:02 && \
                 ringctl -i eth0 status -q; do sleep 0.05; done",
            )?;
        }
        let Ok(machines) = machines.try_into() else {
            anyhow::bail!("two machines");
        };
        Ok(Self {
            machines,
            _segment: segment,
        })
    }

    fn count(&self, at: usize) -> Result<usize> {
        Ok(runs(&self.machines[at])?.len())
    }

    /// Waits until the service has run on this machine more than `before` times.
    fn wait_for_run(&self, at: usize, before: usize) -> Result<()> {
        let deadline = Instant::now() + WAIT_LIMIT;
        while self.count(at)? <= before {
            ensure!(
                Instant::now() < deadline,
                "the service does not run on machine {at}"
            );
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Waits until the service on a machine waits for the token. If the test continued earlier, the other machine could
    /// get the token first.
    fn wait_for_client(&self, at: usize) -> Result<()> {
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            let status = self.machines[at].run(&["ringctl", "status", "--json"])?;
            let status: serde_json::Value = serde_json::from_str(&status)?;
            if status["clients"][0].is_object() {
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "the service does not wait on machine {at}"
            );
            thread::sleep(POLL_INTERVAL);
        }
    }

    fn place_of_service(&self) -> Result<usize> {
        let deadline = Instant::now() + WAIT_LIMIT;
        loop {
            for (at, machine) in self.machines.iter().enumerate() {
                let status = machine.run(&["ringctl", "status", "--json"])?;
                let status: serde_json::Value = serde_json::from_str(&status)?;
                if status["clients"][0]["holds"] == true {
                    return Ok(at);
                }
            }
            ensure!(Instant::now() < deadline, "the service runs on no machine");
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// For each trouble: applies it to the daemon of the machine on which the service runs, and then ends it. The
    /// service must continue on the other machine.
    fn survive_troubles(&self, troubles: &[(&str, &str)]) -> Result<()> {
        for (trouble, end) in troubles {
            let here = self.place_of_service()?;
            let there = 1 - here;
            self.wait_for_client(there)?;
            let before = self.count(there)?;
            self.machines[here].sh(trouble)?;
            self.wait_for_run(there, before)?;
            self.machines[here].sh(end)?;
            self.check()?;
            let machine = &self.machines[here];
            machine.sh("until ringctl status -q 2>/dev/null; do sleep 0.05; done")?;
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        check_disjoint(&self.machines[0], &self.machines[1])?;
        for machine in &self.machines {
            // The service may have failed once before a restart. systemd must not have given the service up.
            let deadline = Instant::now() + WAIT_LIMIT;
            while machine.show(UNIT, "ActiveState")? == "failed" {
                ensure!(Instant::now() < deadline, "systemd gave the service up");
                thread::sleep(POLL_INTERVAL);
            }
        }
        Ok(())
    }
}

fn with_unit(machine: &Container) -> Result<()> {
    let unit = block(SERVICE, "# /etc/systemd/system/reports.service")?;
    machine.write("/etc/systemd/system/reports.service", 0o644, unit)?;
    machine.run(&["systemctl", "daemon-reload"]).map(drop)
}

fn a_service_under_ringctl_run_is_on_one_machine_during_all_troubles_of_the_daemons() -> Result<()>
{
    let pair = ServicePair::new(with_unit)?;
    pair.survive_troubles(&[
        ("systemctl kill --signal=KILL ringd@eth0", "true"),
        ("systemctl restart ringd@eth0", "true"),
        ("ringctl pause --wait", "ringctl resume"),
        (
            "systemctl kill --signal=STOP ringd@eth0",
            "systemctl kill --signal=CONT ringd@eth0",
        ),
        ("systemctl kill --signal=KILL ringd@eth0", "true"),
    ])?;
    // The service must not start again after a stop.
    for machine in &pair.machines {
        machine.run(&["systemctl", "stop", UNIT])?;
        let state = machine.show(UNIT, "ActiveState")?;
        ensure!(state == "inactive", "the service is {state} after a stop");
    }
    pair.check()
}

fn a_drop_in_binds_an_existing_service_to_the_target_of_the_leader() -> Result<()> {
    let pair = ServicePair::before_the_start(|machine| {
        let unit =
            "[Service]\nExecStart=/usr/local/bin/reports\n[Install]\nWantedBy=multi-user.target\n";
        machine.write("/etc/systemd/system/reports.service", 0o644, unit)?;
        machine.run(&["systemctl", "enable", "--quiet", UNIT])?;
        with_sudo(machine)?;
        machine.sh(block(SERVICE, "sudo install -m 644 systemd/ringd.target")?)?;
        let drop_in = block(SERVICE, "[Unit]\nBindsTo=ringd-leader@eth0.target")?;
        machine.edit("reports.service", drop_in)?;
        machine
            .sh(block(SERVICE, "sudo systemctl disable --now reports")?)
            .map(drop)
    })?;
    for machine in &pair.machines {
        machine.sh(block(
            SERVICE,
            "sudo systemctl daemon-reload\nsudo systemctl enable --now ringd-leader",
        )?)?;
    }
    pair.survive_troubles(&[
        ("systemctl restart ringd-leader@eth0", "true"),
        ("ringctl pause --wait", "ringctl resume"),
    ])
}

/// Consul is not in Debian, so the test begins with the last step of `docs/how-to/from-consul-lock.md`.
fn a_service_that_ran_under_consul_lock_runs_under_ringctl_run() -> Result<()> {
    let pair = ServicePair::new(|machine| {
        let unit = "[Service]\n\
            ExecStart=/usr/bin/consul lock -child-exit-code service/reports /usr/local/bin/reports\n\
            [Install]\nWantedBy=multi-user.target\n";
        machine.write("/etc/systemd/system/reports.service", 0o644, unit)?;
        let drop_in = block(FROM_CONSUL, "[Unit]\nAfter=ringd@eth0.service")?;
        machine.edit("reports.service", drop_in)
    })?;
    pair.survive_troubles(&[("systemctl kill --signal=KILL ringd@eth0", "true")])
}

/// Other clients may use the first ring's token while the service runs under the second ring's token.
fn a_permanent_service_uses_a_separate_ring() -> Result<()> {
    let pair = ServicePair::new(|machine| {
        with_unit(machine)?;
        with_sudo(machine)?;
        machine.sh(block(SERVICE, "sed 's/^Environment=RINGD_OPTIONS=")?)?;
        let drop_in = block(SERVICE, "[Unit]\nAfter=ringd-two@eth0.service")?;
        machine.edit("reports.service", drop_in)
    })?;
    let runs = |at: usize| pair.count(at).map(|count| count > 0);
    let deadline = Instant::now() + WAIT_LIMIT;
    let here = loop {
        match (runs(0)?, runs(1)?) {
            (true, _) => break 0,
            (_, true) => break 1,
            _ => ensure!(Instant::now() < deadline, "the service runs on no machine"),
        }
        thread::sleep(POLL_INTERVAL);
    };
    for machine in &pair.machines {
        machine.run(&["ringctl", "-i", "eth0", "run", "-w", "60", "--", "true"])?;
    }
    let machine = &pair.machines[here];
    let refused = machine.output(&["ringctl", "-i", "eth0:0x88b6", "run", "-n", "true"])?;
    ensure!(refused.status.code() == Some(1), "{refused:?}");
    let there = 1 - here;
    let before = pair.count(there)?;
    machine.run(&["systemctl", "kill", "--signal=KILL", "ringd-two@eth0"])?;
    pair.wait_for_run(there, before)?;
    pair.check()
}

fn systemd_restarts_a_leader_until_a_daemon_runs() -> Result<()> {
    const ROUNDS: u32 = 7;
    let pair = ServicePair::new(with_unit)?;
    let here = pair.place_of_service()?;
    let machine = &pair.machines[here];
    machine.run(&["systemctl", "stop", RINGD])?;
    let tried = |count: &str| count.parse().is_ok_and(|count: u32| count >= ROUNDS);
    machine.wait_for(UNIT, "NRestarts", WAIT_LIMIT, tried)?;
    let before = pair.count(here)?;
    machine.run(&["systemctl", "start", RINGD])?;
    let other = &pair.machines[1 - here];
    other.run(&["systemctl", "stop", UNIT])?;
    pair.wait_for_run(here, before)?;
    pair.check()
}
