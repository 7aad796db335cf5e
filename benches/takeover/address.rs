//! The time until another machine has a virtual IP address, with `ringctl run` and with keepalived.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring_segment::{Layout, Node, Ring, Segment, WAIT_LIMIT, binaries, now};
use tempfile::TempDir;

const ADDRESS: &str = "10.77.0.200";
/// The time in which all machines learn the state of the others.
const SETTLE_TIME: Duration = Duration::from_millis(500);
/// The time that a started keepalived needs to hear the master.
const BACKUP_TIME: Duration = Duration::from_secs(1);

/// A machine got the address.
struct Gained {
    node: usize,
    at: Duration,
}

/// Kills its process when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reports when a machine of the segment gets the address.
struct Watch {
    gains: Receiver<Gained>,
    _monitors: Vec<Killed>,
}

impl Watch {
    fn start(nodes: &[Node]) -> Result<Self> {
        let (report, gains) = mpsc::channel();
        let monitors = nodes.iter().map(|node| watch_node(node, report.clone()));
        let monitors = monitors.collect::<Result<_>>()?;
        Ok(Self {
            gains,
            _monitors: monitors,
        })
    }

    /// Waits until a machine gets the address.
    fn wait(&self) -> Result<Gained> {
        let gained = self.gains.recv_timeout(WAIT_LIMIT);
        gained.context("no machine gets the address")
    }
}

fn watch_node(node: &Node, report: Sender<Gained>) -> Result<Killed> {
    let mut command = Command::new("ip");
    command
        .args(["-o", "monitor", "address"])
        .stdout(Stdio::piped());
    let mut monitor = node.ns().spawn(&mut command)?;
    let output = monitor.stdout.take().context("the output is piped")?;
    let node = node.index();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if line.contains(ADDRESS) && !line.contains("Deleted") {
                // The measurement may have ended.
                let _ = report.send(Gained { node, at: now() });
            }
        }
    });
    Ok(Killed(monitor))
}

/// Measures how long it takes after the death of `ringd` on the machine with the address. On each machine, a command of
/// `ringctl run` has the address while it runs.
pub(crate) fn with_ringd(
    rounds: usize,
    start: impl Fn(Segment) -> Result<Ring>,
) -> Result<Vec<Duration>> {
    let mut ring = start(Layout::new(3).addresses().bridge()?)?;
    ring.wait_until_formed()?;
    let watch = Watch::start(ring.segment.nodes())?;
    let mut commands = (0..3).map(|at| hold_address(&ring, at).map(Some));
    let mut commands = commands.by_ref().collect::<Result<Vec<_>>>()?;
    let mut holder = watch.wait()?.node;
    let mut times = Vec::new();
    for _ in 0..rounds {
        thread::sleep(SETTLE_TIME);
        let killed = now();
        ring.daemons[holder].crash()?;
        let gained = watch.wait()?;
        times.push(gained.at.saturating_sub(killed));
        if let Some(mut command) = commands[holder].take() {
            command.0.wait()?;
        }
        ring.daemons[holder].start()?;
        ring.wait_for_one_owner(now())?;
        ring.wait_for_equal_tables()?;
        commands[holder] = Some(hold_address(&ring, holder)?);
        holder = gained.node;
    }
    Ok(times)
}

fn hold_address(ring: &Ring, at: usize) -> Result<Killed> {
    let daemon = &ring.daemons[at];
    let line = format!(
        "trap 'ip address del {ADDRESS}/32 dev eth0; exit' TERM; \
         ip address add {ADDRESS}/32 dev eth0; sleep 1000 & wait"
    );
    let mut command = Command::new(binaries().ringctl);
    command.arg("--socket").arg(daemon.control());
    command.args(["run", "--", "sh", "-c", &line]);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    Ok(Killed(daemon.node().ns().spawn(&mut command)?))
}

/// A keepalived with the shortest interval that VRRP can announce: 10 ms.
struct Keepalived {
    folder: TempDir,
    process: Child,
}

impl Keepalived {
    fn start(node: &Node, priority: u32) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let configuration = format!(
            "global_defs {{\n vrrp_version 3\n vrrp_garp_master_delay 0\n}}\n\
             vrrp_instance web {{\n state BACKUP\n interface eth0\n virtual_router_id 51\n \
             priority {priority}\n advert_int 0.01\n virtual_ipaddress {{\n {ADDRESS}/32\n }}\n}}\n"
        );
        let file = folder.path().join("keepalived.conf");
        fs::write(&file, configuration)?;
        let mut command = Command::new("keepalived");
        command.args(["--dont-fork", "--vrrp", "--log-console", "--use-file"]);
        command.arg(file);
        for (option, name) in [("--pid", "main.pid"), ("--vrrp_pid", "vrrp.pid")] {
            command.arg(option).arg(folder.path().join(name));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let process = node.ns().spawn(command.stderr(Stdio::null()))?;
        Ok(Self { folder, process })
    }

    /// Kills both processes. The first stays stopped, because it would start the second again.
    fn kill(&mut self) -> Result<()> {
        let text = fs::read_to_string(self.folder.path().join("vrrp.pid"))?;
        let worker = Pid::from_raw(text.trim().parse()?);
        kill(
            Pid::from_raw(self.process.id().cast_signed()),
            Signal::SIGSTOP,
        )?;
        kill(worker, Signal::SIGKILL)?;
        Ok(())
    }
}

impl Drop for Keepalived {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Measures how long it takes after the death of keepalived on the machine with the address.
pub(crate) fn with_keepalived(rounds: usize) -> Result<Vec<Duration>> {
    let segment = Layout::new(2).addresses().bridge()?;
    let nodes = segment.nodes();
    let watch = Watch::start(nodes)?;
    let mut master = Keepalived::start(&nodes[0], 100)?;
    let mut times = Vec::new();
    for round in 0..rounds {
        let (old, new) = (round % 2, (round + 1) % 2);
        if round == 0 && watch.wait()?.node != old {
            bail!("another machine is the master");
        }
        let backup = Keepalived::start(&nodes[new], 100)?;
        thread::sleep(BACKUP_TIME);
        let killed = now();
        master.kill()?;
        let gained = watch.wait()?;
        if gained.node != new {
            bail!("the dead machine got the address again");
        }
        times.push(gained.at.saturating_sub(killed));
        master = backup;
        // A killed keepalived leaves its address on its machine.
        nodes[old]
            .ns()
            .ip(&format!("address del {ADDRESS}/32 dev eth0\n"))?;
    }
    Ok(times)
}
