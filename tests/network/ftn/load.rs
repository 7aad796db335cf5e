//! Twenty clients that compete for one token while servers and clients crash, and the leader is cut off.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ring_segment::{Test, WAIT_LIMIT, tests};

use super::judge::{Service, judge};
use super::stand::ServerStand;
use crate::record::Record;

const CLIENTS: usize = 20;
/// CT. A change of leader takes less than three quarters of CT.
const CLIENT_TIMEOUT: &str = "5s";
/// Length of a lease: three quarters of CT.
const LEASE: Duration = Duration::from_millis(3_750);
/// Number of grants after which the test considers the token in use.
const ROUND_GRANTS: usize = 5;
/// Number of clients that the test kills at the same time.
const KILLED_CLIENTS: usize = 6;
const POLL_INTERVAL: Duration = Duration::from_millis(20);

pub(super) fn tests() -> Vec<Test> {
    tests![five_servers_survive_the_loss_of_the_leader_and_another,]
}

/// A stand with clients that repeatedly run a shell line under token `t`.
struct ClientGroup {
    stand: ServerStand,
    /// Log of all work. Each start and each end of a piece of work has one line with the fencing number.
    log: PathBuf,
    clients: Vec<Child>,
    record: Record,
    service: Service,
}

/// Starts a stand with this many nodes and servers, and these options.
type StandStart = fn(usize, usize, &[(&str, &str)]) -> Result<ServerStand>;

impl ClientGroup {
    /// Starts the clients on two additional nodes.
    fn new(servers: usize) -> Result<Self> {
        Self::on(servers, ServerStand::new)
    }

    fn on(servers: usize, start: StandStart) -> Result<Self> {
        let options = [
            ("--quorum", "majority"),
            ("--client-timeout", CLIENT_TIMEOUT),
            ("--grace", CLIENT_TIMEOUT),
        ];
        let stand = start(servers + 2, servers, &options)?;
        let log = stand.folder().join("log");
        fs::write(&log, "")?;
        let work = "echo b $RINGD_TOKEN >>$0; sleep 0.01; echo e $RINGD_TOKEN >>$0";
        let again = format!(
            "while :; do {} token --servers {} --client-timeout {CLIENT_TIMEOUT} \
             run -w 60 t -- sh -c '{work}' {}; done",
            ring_segment::program("ringctl"),
            stand.list().display(),
            log.display()
        );
        let mut group = Self {
            record: Record::start(stand.segment())?,
            service: Service {
                lines: stand.lines()?,
                servers: stand.addresses()?,
                lease: LEASE,
            },
            stand,
            log,
            clients: Vec::new(),
        };
        for client in 0..CLIENTS {
            let node = group.stand.segment().node(servers + client % 2);
            node.wait_for_link()?;
            let mut command = Command::new("sh");
            command
                .args(["-c", &again])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            group.clients.push(node.ns().spawn(&mut command)?);
        }
        Ok(group)
    }

    fn grants(&self) -> Result<usize> {
        let log = fs::read_to_string(&self.log)?;
        Ok(log.lines().filter(|line| line.starts_with("b ")).count())
    }

    /// Waits for [`ROUND_GRANTS`] further grants.
    fn wait_for_round(&self) -> Result<()> {
        let (wanted, began) = (self.grants()? + ROUND_GRANTS, Instant::now());
        while self.grants()? < wanted {
            ensure!(began.elapsed() < WAIT_LIMIT, "the token does not move");
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Kills some clients and their keepers at random moments.
    fn kill_clients() -> Result<()> {
        let mut killed = 0;
        for process in fs::read_dir("/proc")? {
            let path = process?.path();
            let called = fs::read_to_string(path.join("comm")).unwrap_or_default();
            let is_one = ["ringctl", "ringd-keeper"].contains(&called.trim_end());
            let number = path
                .file_name()
                .and_then(|name| name.to_str()?.parse().ok());
            if let (true, Some(number)) = (is_one, number) {
                // The process may have ended already.
                let _ = kill(Pid::from_raw(number), Signal::SIGKILL);
                killed += 1;
            }
            if killed == 2 * KILLED_CLIENTS {
                return Ok(());
            }
        }
        bail!("only {killed} clients exist")
    }

    /// Checks that each client's work ended or was killed before the next work began. Also checks that fencing numbers
    /// grow.
    fn judge(&self) -> Result<()> {
        let log = fs::read_to_string(&self.log)?;
        let mut at_work: Option<u64> = None;
        let mut ended = BTreeSet::new();
        for (place, line) in log.lines().enumerate() {
            let (what, fence) = line.split_once(' ').context("two words")?;
            let fence: u64 = fence.parse()?;
            if what == "b" {
                let is_newer = at_work.is_none_or(|before| fence > before);
                ensure!(is_newer, "line {place}: {fence} begins after {at_work:?}");
                at_work = Some(fence);
            } else {
                let is_last = at_work == Some(fence) && ended.insert(fence);
                ensure!(is_last, "line {place}: {fence} ends under {at_work:?}");
            }
        }
        ensure!(
            ended.len() >= 6 * ROUND_GRANTS,
            "only {} clients have ended",
            ended.len()
        );
        let granted = judge(&self.record, &self.service)?;
        ensure!(
            granted >= ended.len(),
            "{granted} grants on the wire, but {} in the log of the work",
            ended.len()
        );
        Ok(())
    }
}

impl Drop for ClientGroup {
    fn drop(&mut self) {
        for client in &mut self.clients {
            let _ = client.kill();
            let _ = client.wait();
        }
    }
}

/// Runs clients while the leader and a follower are killed, the leader is cut off, and all servers start again. The
/// last of the three servers is the judged program. The run lasts for two grace periods and three changes of leader.
pub(super) fn survive_losses() -> Result<()> {
    let mut group = ClientGroup::on(3, ServerStand::with_judged)?;
    let leader = group.stand.wait_until_served_by(&[0, 1, 2])?;
    group.wait_for_round()?;

    let follower = (leader + 1) % 3;
    group.stand.server(follower).kill()?;
    group.wait_for_round()?;
    group.stand.server(follower).start()?;
    group.stand.wait_until_served_by(&[0, 1, 2])?;

    group.stand.server(leader).kill()?;
    group.wait_for_round()?;
    ClientGroup::kill_clients()?;
    group.wait_for_round()?;
    group.stand.server(leader).start()?;
    let leader = group.stand.wait_until_served_by(&[0, 1, 2])?;

    group.stand.segment().cut(leader)?;
    group.wait_for_round()?;
    group.stand.segment().heal(leader)?;
    group.stand.wait_until_served_by(&[0, 1, 2])?;
    group.wait_for_round()?;

    for index in 0..3 {
        group.stand.server(index).kill()?;
    }
    for index in 0..3 {
        group.stand.server(index).start()?;
    }
    group.wait_for_round()?;
    group.judge()
}

/// This test lasts for a grace period and a change of leader.
fn five_servers_survive_the_loss_of_the_leader_and_another() -> Result<()> {
    let mut group = ClientGroup::new(5)?;
    let all = [0, 1, 2, 3, 4];
    let leader = group.stand.wait_until_served_by(&all)?;
    group.wait_for_round()?;
    let another = (leader + 2) % 5;
    for index in [leader, another] {
        group.stand.server(index).kill()?;
    }
    for _ in 0..4 {
        group.wait_for_round()?;
        ClientGroup::kill_clients()?;
    }
    for index in [leader, another] {
        group.stand.server(index).start()?;
    }
    group.stand.wait_until_served_by(&all)?;
    group.wait_for_round()?;
    group.judge()
}
