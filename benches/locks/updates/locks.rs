//! Locks of this project and of other projects. Each lock wraps a command, so that only one copy of the command runs at
//! a time.

use std::env;
use std::fs;
use std::ops::Range;
use std::process::{self, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use nix::unistd::Pid;
use ring_segment::{Layout, Node, Segment, ask, binaries};
use serde_json::json;
use tempfile::TempDir;

use super::faults::Fault;
use super::processes;
use crate::rivals::{Server, etcd, wait_for};

pub(super) const CLIENTS_LOG: &str = "clients.log";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Lock {
    /// ringctl run --require quorum, and ringd --ring-size N on every node.
    Ringd,
    /// ringctl run. Each side of a split can have its own lock holder.
    RingdAlone,
    /// ringctl run. Its command runs under ringctl guard.
    RingdGuard,
    /// ringctl token run, and ringd ftn --quorum majority on every node.
    Token,
    /// flock of util-linux, on one machine. This lock must lose no update.
    Flock,
    /// etcdctl lock, and an etcd on every node.
    Etcd,
    /// No lock. Clients without a lock must lose updates. This proves that the test finds lost updates.
    Nothing,
}

/// The lock under test, and the sets that it protects.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) lock: Lock,
    /// Names of the sets. Each set has a separate lock.
    pub(super) sets: Vec<String>,
    /// Whether ringd's locks are named locks. Otherwise, ringd's only lock is the token of the ring.
    is_named: bool,
}

impl Target {
    pub(super) fn new(lock: Lock, names: Option<u8>) -> Self {
        let sets = match names {
            Some(names) => (1..=names).map(|number| format!("set{number}")).collect(),
            None => vec!["set".to_owned()],
        };
        Self {
            lock,
            sets,
            is_named: names.is_some(),
        }
    }

    /// Returns the faults that can affect this lock, and two values in seconds: the range of a fault's length, and the
    /// longest work.
    ///
    /// Both values are longer than every timeout of the lock. The lease of a named lock ends 2.2 s after the death of
    /// its holder. With etcd the timeouts are a session of 2 s and an election of up to 2 s. With the token service the
    /// timeout is a session of 5 s.
    pub(super) fn fault_settings(&self) -> (&'static [Fault], Range<f64>, f64) {
        let (faults, lasting, longest_work) = match self.lock {
            Lock::Nothing => (1, 1.5..3.0, 1.5),
            Lock::Flock => (4, 1.5..3.0, 1.5),
            Lock::Etcd => (7, 4.0..6.0, 6.0),
            Lock::Token => (8, 6.0..8.0, 7.0),
            Lock::Ringd | Lock::RingdAlone | Lock::RingdGuard if self.is_named => {
                (10, 2.5..4.0, 3.5)
            }
            Lock::Ringd | Lock::RingdAlone | Lock::RingdGuard => (10, 1.5..3.0, 1.5),
        };
        (&Fault::value_variants()[..faults], lasting, longest_work)
    }
}

#[derive(Debug)]
pub(super) struct Locks {
    pub(super) target: Target,
    segment: Segment,
    namespaces: Vec<u64>,
    daemons: Mutex<Vec<Server>>,
    folder: TempDir,
    /// Path of this program, which also does the clients' work.
    program: String,
}

impl Locks {
    pub(super) fn start(target: Target, nodes: usize) -> Result<Self> {
        let own = fs::read_link("/proc/self").context("cannot read /proc")?;
        ensure!(
            own.to_str() == Some(&process::id().to_string()),
            "cannot mount /proc: if this is a container, it must be privileged"
        );
        let segment = Layout::new(nodes).addresses().without_capture().bridge()?;
        // During a split, the second bridge connects the other half of the nodes.
        let bridge = "link add br1 type bridge forward_delay 0 mcast_snooping 0\nlink set br1 up\n";
        segment.hub().ip(bridge)?;
        let namespaces = segment.nodes().iter().map(|node| {
            node.ns().ip("link set lo up\n")?;
            processes::inode(node.ns())
        });
        let locks = Self {
            target,
            namespaces: namespaces.collect::<Result<_>>()?,
            daemons: Mutex::default(),
            folder: tempfile::tempdir_in("/run").context("cannot make a folder in /run")?,
            segment,
            program: env::current_exe()?.display().to_string(),
        };
        let ips = locks.nodes().iter().filter_map(Node::ip);
        let servers: Vec<_> = ips.map(|ip| format!("{ip}:7301")).collect();
        fs::write(locks.path("servers"), servers.join("\n"))?;
        for node in locks.nodes() {
            let started = locks.start_daemon(node)?;
            locks.daemons().extend(started);
        }
        Ok(locks)
    }

    fn start_daemon(&self, node: &Node) -> Result<Option<Server>> {
        let (socket, list) = (self.socket(node.index()), self.path("servers"));
        let options = match self.target.lock {
            Lock::Flock | Lock::Nothing => return Ok(None),
            Lock::Etcd => return etcd::start_member(node, self.nodes()).map(Some),
            Lock::Ringd => format!("eth0 --ring-size {}", self.nodes().len()),
            Lock::RingdAlone | Lock::RingdGuard => "eth0".to_owned(),
            Lock::Token => format!(
                "ftn --servers {list} --index {} --heartbeat 300ms --server-timeout 1s --client-timeout 5s \
                 --quorum majority",
                node.index()
            ),
        };
        let options = format!("{options} --control {socket} --state-dir");
        let options: Vec<String> = options.split(' ').map(str::to_owned).collect();
        Server::start((binaries().ringd, "ringd"), node, &options).map(Some)
    }

    pub(super) fn wait_until_ready(&self) -> Result<()> {
        let nodes = self.nodes();
        match self.target.lock {
            Lock::Flock | Lock::Nothing => Ok(()),
            Lock::Etcd => etcd::wait_until_ready(nodes),
            lock => (0..nodes.len()).try_for_each(|node| {
                wait_for(|| {
                    let socket = self.socket(node);
                    let status = ask(socket.as_ref(), &json!({"request": "status"}), "status")?;
                    let is_ready = match lock {
                        Lock::Token => status["authority"] == true && status["state"] == "READY",
                        _ => status["members"].as_array().map(Vec::len) == Some(nodes.len()),
                    };
                    ensure!(is_ready, "node {} is not ready: {status}", node + 1);
                    Ok(())
                })
            }),
        }
    }

    pub(super) fn nodes(&self) -> &[Node] {
        self.segment.nodes()
    }

    pub(super) fn daemons(&self) -> MutexGuard<'_, Vec<Server>> {
        self.daemons.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the path of a file that all nodes can see.
    pub(super) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn socket(&self, node: usize) -> String {
        self.path(&format!("node{}.sock", node + 1))
    }

    /// Returns the processes of all nodes, each with the index of its node.
    pub(super) fn processes(&self) -> Vec<(usize, Pid)> {
        processes::all(&self.namespaces)
    }

    pub(super) fn working_processes(&self) -> Vec<(usize, Pid)> {
        let mut found = self.processes();
        found.retain(|&(_, pid)| processes::runs(pid, &format!("{}\0add\0", self.program)));
        found
    }

    /// Moves nodes to a different bridge, so that they hear only the nodes on that bridge. All links stay up.
    pub(super) fn move_to(&self, bridge: &str, nodes: &[usize]) -> Result<()> {
        let lines = nodes
            .iter()
            .map(|node| format!("link set p{node} master {bridge}\n"));
        self.segment.hub().ip(&lines.collect::<String>())
    }

    /// Returns the command that adds elements to a set on a node, under the lock of the set.
    pub(super) fn command(&self, node: usize, set: &str) -> Command {
        let name = if self.target.is_named {
            format!("--name {set}")
        } else {
            String::new()
        };
        let run = format!("ringctl --socket {} run {name}", self.socket(node));
        let line = match self.target.lock {
            Lock::Ringd => format!("{run} --require quorum --"),
            Lock::RingdAlone => format!("{run} --"),
            Lock::RingdGuard => {
                let fence = self.path(&format!("{set}.fence"));
                format!("{run} -- ringctl guard {fence} --")
            }
            Lock::Token => {
                let list = self.path("servers");
                format!("ringctl token --servers {list} --client-timeout 5s run {set} --")
            }
            Lock::Flock => format!("flock {}", self.path(&format!("{set}.lock"))),
            Lock::Etcd => {
                let members: Vec<_> = self.nodes().iter().flat_map(etcd::endpoint).collect();
                // If the election timeout is 1 s, etcd grants no session shorter than 2 s.
                format!(
                    "etcdctl --endpoints {} lock --ttl 2 {set} --",
                    members.join(",")
                )
            }
            Lock::Nothing => String::new(),
        };
        let set = self.path(set);
        let words = line.split_whitespace();
        let words = words.chain([&*self.program, "add", &set]);
        let mut words = words.map(|it| {
            if it == "ringctl" {
                binaries().ringctl
            } else {
                it
            }
        });
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).stdin(Stdio::null());
        command
    }

    pub(super) fn log_tails(&self) -> String {
        let clients = fs::read_to_string(self.path(CLIENTS_LOG)).unwrap_or_default();
        let daemons = self.daemons();
        let logs = [clients].into_iter().chain(daemons.iter().map(Server::log));
        let ends = logs.map(|log| {
            log.lines()
                .rev()
                .take(3)
                .fold(String::new(), |all, line| format!("{line}\n{all}"))
        });
        ends.collect()
    }
}
