//! Tests `docs/how-to/virtual-ip.md` and `docs/how-to/from-keepalived.md` on three machines. The tests kill, stall and
//! cut off the machine that has the address. The address must never be on two machines.
//!
//! Each fault costs about five seconds, because a new holder waits for four seconds. The tests mostly wait.

use std::io::{BufRead, BufReader, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_segment::{Container, Layout, Node, Segment, Test, binaries, tests};

use super::pages::{FROM_KEEPALIVED, VIRTUAL_IP, block};
use super::{WAIT_LIMIT, install, with_sudo};

const MACHINES: usize = 3;
/// The node of the segment that connects to the address. It has no `ringd`.
const CLIENT: usize = MACHINES;
const ADDRESS: &str = "192.0.2.7";
/// A closed port: a machine with the address refuses the connection.
const CLOSED_PORT: u16 = 9;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
const RINGD: &str = "ringd@eth0";

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_address_survives_a_killed_or_stopped_daemon_and_a_killed_program,
        the_address_is_on_one_machine_through_stalls_of_a_whole_machine,
        the_address_is_on_one_machine_through_splits,
        the_address_moves_from_keepalived_to_the_ring_and_back,
    ]
}

/// Machines that have the address, according to the kernel's messages.
#[derive(Debug, Default)]
struct Sightings {
    has: [bool; MACHINES],
    /// Number of times that each machine got the address when it did not have it.
    gains: [usize; MACHINES],
    violation: Option<String>,
    log: Vec<String>,
}

#[derive(Debug, Default)]
struct Watch {
    sightings: Mutex<Sightings>,
    changed: Condvar,
}

impl Watch {
    fn lock(&self) -> MutexGuard<'_, Sightings> {
        self.sightings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn on_message(&self, machine: usize, line: &str) {
        let mut it = self.lock();
        let has = !line.contains("Deleted ");
        it.gains[machine] += usize::from(has && !it.has[machine]);
        it.has[machine] = has;
        it.log.push(format!("machine {machine}: {line}"));
        if it.has.iter().filter(|has| **has).count() > 1 && it.violation.is_none() {
            it.violation = Some(format!("machines {:?} have the address", it.has));
        }
        self.changed.notify_all();
    }

    /// Waits until `wanted` accepts the sightings. Fails if two machines have the address.
    fn wait_for(&self, what: &str, wanted: impl Fn(&Sightings) -> bool) -> Result<()> {
        let deadline = Instant::now() + WAIT_LIMIT;
        let mut it = self.lock();
        while !wanted(&it) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || it.violation.is_some() {
                let log = it.log.join("\n");
                bail!("{what}: {:?} at {:?}\n{log}", it.violation, it.has);
            }
            let woken = self.changed.wait_timeout(it, left);
            it = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(it);
        self.check()
    }

    /// Waits like [`Watch::wait_for`], and does not judge the sightings up to the end of the wait.
    fn wait_without_judging(&self, wanted: impl Fn(&[bool; MACHINES]) -> bool) -> Result<()> {
        let deadline = Instant::now() + WAIT_LIMIT;
        let mut it = self.lock();
        while !wanted(&it.has) {
            let left = deadline.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "{}", it.log.join("\n"));
            let woken = self.changed.wait_timeout(it, left);
            it = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        it.violation = None;
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let it = self.lock();
        let log = it.log.join("\n");
        ensure!(it.violation.is_none(), "{:?}\n{log}", it.violation);
        Ok(())
    }
}

struct Scene {
    watch: Arc<Watch>,
    monitors: Vec<Child>,
    machines: Vec<Container>,
    segment: Segment,
}

impl Scene {
    /// Installs the recipe on all machines, and starts it.
    fn new() -> Result<Self> {
        let scene = Self::installed()?;
        for machine in &scene.machines {
            machine.run(&["systemctl", "enable", "--now", "--quiet", "vip"])?;
        }
        scene.holder()?;
        scene.reach()?;
        Ok(scene)
    }

    /// Installs the recipe on all machines, and starts only `ringd`.
    fn installed() -> Result<Self> {
        let segment = Layout::new(MACHINES + 1).addresses().bridge()?;
        let watch = Arc::<Watch>::default();
        let (mut machines, mut monitors) = (Vec::new(), Vec::new());
        for at in 0..MACHINES {
            let machine = Container::boot(segment.node(at), binaries())?;
            machine.install_service()?;
            let size = block(VIRTUAL_IP, "# /etc/ringd/ringd.toml")?;
            install(&machine, 0o644, size)?;
            let program = block(VIRTUAL_IP, "#!/bin/sh\n# /usr/local/sbin/vip")?;
            install(&machine, 0o755, program)?;
            let unit = block(VIRTUAL_IP, "# /etc/systemd/system/vip.service")?;
            install(&machine, 0o644, unit)?;
            machine.run(&["systemctl", "daemon-reload"])?;
            monitors.push(monitor(segment.node(at), at, &watch)?);
            machine.run(&["systemctl", "enable", "--now", "--quiet", RINGD])?;
            machines.push(machine);
        }
        let client = segment.node(CLIENT).ns();
        client.ip(&format!("route add {ADDRESS}/32 dev eth0\n"))?;
        // The client believes its ARP cache for an hour, so only a gratuitous ARP can correct the cache.
        let believes = |key: &str, value: &str| {
            std::fs::write(format!("/proc/sys/net/ipv4/neigh/eth0/{key}"), value)
        };
        client.run(|| believes("base_reachable_time_ms", "3600000"))??;
        Ok(Self {
            watch,
            monitors,
            machines,
            segment,
        })
    }

    fn holder(&self) -> Result<usize> {
        let has = |it: &Sightings| it.has.contains(&true);
        self.watch.wait_for("no machine has the address", has)?;
        let has = self.watch.lock().has;
        has.iter().position(|has| *has).context("a holder")
    }

    /// Waits until the client reaches the address at the machine that holds it.
    fn reach(&self) -> Result<()> {
        let deadline = Instant::now() + WAIT_LIMIT;
        let to = SocketAddr::new(ADDRESS.parse()?, CLOSED_PORT);
        loop {
            let connect = || TcpStream::connect_timeout(&to, CONNECT_TIMEOUT);
            match self.segment.node(CLIENT).ns().run(connect)? {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(()),
                answer => ensure!(Instant::now() < deadline, "not reachable: {answer:?}"),
            }
        }
    }

    /// Applies a fault to the machine that holds the address. Ends the fault when another machine holds the address and
    /// the client reaches it.
    fn survive(
        &self,
        fault: impl FnOnce(usize, &Container) -> Result<()>,
        end: impl FnOnce(usize, &Container) -> Result<()>,
    ) -> Result<()> {
        let old = self.holder()?;
        self.wait_for_waiters()?;
        let before = self.watch.lock().gains;
        fault(old, &self.machines[old])?;
        self.watch.wait_for("the address does not move", |it| {
            (0..MACHINES).any(|at| it.gains[at] > before[at] && at != old)
        })?;
        self.reach()?;
        end(old, &self.machines[old])?;
        self.machines[old].sh("until ringctl status -q 2>/dev/null; do sleep 0.05; done")?;
        self.watch.check()
    }

    /// Waits until, on every machine, `vip` either holds the token or is waiting for the token. Otherwise the old
    /// holder could be the next holder.
    fn wait_for_waiters(&self) -> Result<()> {
        for machine in &self.machines {
            machine.sh(
                "until ringctl status --json | jq -e '.clients[0]' >/dev/null; do sleep 0.05; done",
            )?;
        }
        Ok(())
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for monitor in &mut self.monitors {
            let _ = monitor.kill();
            let _ = monitor.wait();
        }
    }
}

/// Follows the kernel's messages about addresses of a machine. The monitor runs outside of the machine, so it continues
/// while the machine stalls.
fn monitor(node: &Node, at: usize, watch: &Arc<Watch>) -> Result<Child> {
    let mut command = Command::new("ip");
    command.args(["-4", "-o", "-ts", "monitor", "address"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = node.ns().spawn(&mut command)?;
    let output = child.stdout.take().context("the output of `ip`")?;
    let watch = Arc::clone(watch);
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if line.contains(ADDRESS) {
                watch.on_message(at, &line);
            }
        }
    });
    Ok(child)
}

fn the_address_survives_a_killed_or_stopped_daemon_and_a_killed_program() -> Result<()> {
    let scene = Scene::new()?;
    let signal = |signal: &'static str, unit: &'static str| {
        let signal = format!("--signal={signal}");
        move |_: usize, machine: &Container| {
            machine.run(&["systemctl", "kill", &signal, unit]).map(drop)
        }
    };
    let none = |_: usize, _: &Container| Ok(());
    for _ in 0..2 {
        scene.survive(signal("KILL", RINGD), none)?;
        scene.survive(signal("STOP", RINGD), signal("CONT", RINGD))?;
        // The signal kills the program, ringctl and its keeper, so the program cannot delete the address.
        scene.survive(signal("KILL", "vip"), none)?;
    }
    Ok(())
}

/// Stalls or continues all processes of a machine, including systemd.
fn freeze(machine: &Container, frozen: bool) -> Result<()> {
    let file = machine.path("/sys/fs/cgroup/cgroup.freeze");
    std::fs::write(&file, if frozen { "1" } else { "0" }).context("cannot freeze a machine")
}

fn the_address_is_on_one_machine_through_stalls_of_a_whole_machine() -> Result<()> {
    let scene = Scene::new()?;
    for _ in 0..3 {
        let stall = |at: usize, machine: &Container| {
            // The stall begins directly after a renewal: the page names the other case as a limit.
            let before = scene.watch.lock().log.len();
            scene
                .watch
                .wait_for("no renewal", |it| it.log.len() > before)?;
            freeze(machine, true)?;
            ensure!(scene.watch.lock().has[at], "the address is gone already");
            Ok(())
        };
        scene.survive(stall, |_, machine| freeze(machine, false))?;
    }
    Ok(())
}

fn the_address_is_on_one_machine_through_splits() -> Result<()> {
    let scene = Scene::new()?;
    for _ in 0..3 {
        scene.survive(
            |at, _| scene.segment.cut(at),
            |at, _| scene.segment.heal(at),
        )?;
    }
    Ok(())
}

/// Machines with keepalived. Keepalived needs no majority.
const KEEPALIVED_MACHINES: [usize; 2] = [0, 1];

fn the_address_moves_from_keepalived_to_the_ring_and_back() -> Result<()> {
    ensure!(
        std::path::Path::new("/usr/sbin/keepalived").exists(),
        "there is no keepalived: install it, for example with apt-get install keepalived"
    );
    let scene = Scene::installed()?;
    let configuration = block(FROM_KEEPALIVED, "vrrp_instance web")?;
    let stop = block(FROM_KEEPALIVED, "sudo systemctl disable --now keepalived")?;
    let start = block(FROM_KEEPALIVED, "sudo systemctl enable --now vip")?;
    let back = block(FROM_KEEPALIVED, "sudo systemctl disable --now vip")?;
    let (stop_vip, start_keepalived) = back.split_once('\n').context("two lines")?;
    let (is_there, is_gone) = (
        |has: &[bool; MACHINES]| has.contains(&true),
        |has: &[bool; MACHINES]| !has.contains(&true),
    );
    // On a busy machine keepalived may have the address on both machines for a moment, so the test does not judge it.
    let keepalived = || -> Result<()> {
        for at in KEEPALIVED_MACHINES {
            scene.machines[at].sh(start_keepalived)?;
            scene.watch.wait_without_judging(is_there)?;
        }
        scene.reach()
    };
    for machine in &scene.machines {
        with_sudo(machine)?;
        machine.write("/etc/keepalived/keepalived.conf", 0o644, configuration)?;
    }
    keepalived()?;

    for at in [1, 0] {
        scene.machines[at].sh(stop)?;
    }
    scene.watch.wait_without_judging(is_gone)?;
    for machine in &scene.machines {
        machine.sh(start)?;
    }
    scene.holder()?;
    scene.reach()?;

    for machine in &scene.machines {
        machine.sh(stop_vip)?;
    }
    scene.watch.check()?;
    scene.watch.wait_without_judging(is_gone)?;
    keepalived()?;

    // The difference that the page's table names: a killed keepalived leaves its address on the machine.
    let has = scene.watch.lock().has;
    let master = has.iter().position(|has| *has).context("a master")?;
    // systemd kills the main process first. If the other process of keepalived still runs then, it deletes the address
    // and hands it over. So both processes are stopped before the kill.
    for signal in ["--signal=STOP", "--signal=KILL"] {
        scene.machines[master].run(&["systemctl", "kill", signal, "keepalived"])?;
    }
    scene.watch.wait_without_judging(|has| has[0] && has[1])
}
