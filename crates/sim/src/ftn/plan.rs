//! A run written down: whatever goes wrong in it, when, and the seed for the rest.

use std::time::Duration;

use ring_proto::ftn::server::{self, majority};
use serde::{Deserialize, Serialize};

use crate::kernel::faults::{NetworkFault, ProcessFault};
use crate::kernel::schedule::{self, Fault as _};

/// Something that goes wrong, or is wanted, at a time.
pub type Action = schedule::Action<Fault>;

/// No time of a schedule is longer.
const MAX_TIME_US: u64 = 365 * 24 * 60 * 60 * 1_000_000;
/// Clocks run faster or slower by no more, in millionths: no two differ by more than an eighth.
pub(super) const MAX_RATE: i32 = 58_000;
/// The most servers and clients of a run.
pub(super) const MAX_SERVERS: usize = 9;
pub(super) const MAX_CLIENTS: usize = 64;
/// Tokens are numbered below this.
pub(super) const TOKENS: usize = 16;

/// A complete run, as it is replayed, shrunk and kept in a file. Times are in microseconds of the
/// world's time. Nodes are numbered from 0: the servers first, then the clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// What it shows, for the reader.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Decides the fate of single datagrams.
    pub seed: u64,
    /// How many servers there are.
    pub servers: usize,
    /// How many clients there are.
    pub clients: usize,
    /// Q.
    pub quorum: usize,
    /// How long the faults last.
    pub time_us: u64,
    /// HB.
    pub heartbeat_us: u64,
    /// ST.
    pub server_timeout_us: u64,
    /// CT, and the grace of a cold leader.
    pub client_timeout_us: u64,
    /// The most bytes that tokens may take at a server.
    pub max_memory: usize,
    /// How long a datagram takes on a clear network: at least, and how much longer at most.
    pub latency_us: (u64, u64),
    /// A server with other options than the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odd: Option<Odd>,
    /// What goes wrong, in order of time.
    pub actions: Vec<Action>,
}

/// A server with other options than the others, and these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Odd {
    pub server: usize,
    pub quorum: usize,
    pub heartbeat_us: u64,
    pub server_timeout_us: u64,
    pub client_timeout_us: u64,
}

/// What goes wrong, or is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "fault",
    rename_all = "kebab-case",
    expecting = "there is no such fault, or a field of it is missing or wrong"
)]
#[expect(missing_docs, reason = "fields that say themselves what they are")]
pub enum Fault {
    /// A process dies; a server may lose its state file.
    End { node: usize, forget: bool },
    /// A process dies as soon as it has sent a message of this type, a place in the list of types, and starts again
    /// so much later.
    Doom { node: usize, sends: usize, us: u64 },
    /// It starts again.
    Start { node: usize },
    /// A process stands still.
    Pause { node: usize },
    /// It goes on.
    Resume { node: usize },
    /// A disk takes nothing, or all again.
    Disk { node: usize, full: bool },
    /// A wall clock is set forward, or back.
    Wall { node: usize, seconds: i64 },
    /// A stranger sends so many datagrams to a server.
    Stranger { node: usize, count: u16 },
    /// A client's socket is replaced by one of another address.
    Socket { node: usize },
    /// A client runs a command that lasts so long under a token.
    Run {
        node: usize,
        token: usize,
        shared: bool,
        us: u64,
    },
    /// A client holds a token until somebody else wants it.
    Hold {
        node: usize,
        token: usize,
        shared: bool,
    },
    /// A client that holds a token asks for the other access.
    Change { node: usize, token: usize },
    /// A client that holds a token sets its data.
    Update { node: usize, token: usize },
    /// A client gives up what there is of a token.
    Cancel { node: usize, token: usize },
    /// A client asks a server for its tokens.
    List { node: usize, server: usize },
    /// A client logs out, and its process ends.
    Logout { node: usize },
    /// A server is shut down, and its process ends.
    Leave { node: usize },
    /// Something happens to messages.
    #[serde(untagged)]
    Network(NetworkFault),
    /// Something happens to a process.
    #[serde(untagged)]
    Process(ProcessFault),
}

impl schedule::Fault for Fault {
    fn nodes_mut(&mut self) -> [Option<&mut usize>; 2] {
        match self {
            Self::Network(fault) => fault.nodes_mut(),
            Self::Process(fault) => fault.nodes_mut(),
            Self::List { node, server } => [Some(node), Some(server)],
            Self::End { node, .. }
            | Self::Doom { node, .. }
            | Self::Start { node }
            | Self::Pause { node }
            | Self::Resume { node }
            | Self::Disk { node, .. }
            | Self::Wall { node, .. }
            | Self::Stranger { node, .. }
            | Self::Socket { node }
            | Self::Run { node, .. }
            | Self::Hold { node, .. }
            | Self::Change { node, .. }
            | Self::Update { node, .. }
            | Self::Cancel { node, .. }
            | Self::Logout { node }
            | Self::Leave { node } => [Some(node), None],
        }
    }

    fn groups_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Network(fault) => fault.groups_mut(),
            _ => None,
        }
    }
}

impl Schedule {
    /// What the servers are started with.
    #[must_use]
    pub fn options(&self) -> server::Options {
        let client_timeout = Duration::from_micros(self.client_timeout_us);
        server::Options {
            heartbeat: Duration::from_micros(self.heartbeat_us),
            server_timeout: Duration::from_micros(self.server_timeout_us),
            client_timeout,
            grace: client_timeout,
            quorum: self.quorum,
            max_memory: self.max_memory,
            ..server::Options::default()
        }
    }

    /// What this server is started with.
    #[must_use]
    pub fn options_of(&self, server: usize) -> server::Options {
        let usual = self.options();
        let Some(odd) = self.odd.filter(|odd| odd.server == server) else {
            return usual;
        };
        let client_timeout = Duration::from_micros(odd.client_timeout_us);
        server::Options {
            heartbeat: Duration::from_micros(odd.heartbeat_us),
            server_timeout: Duration::from_micros(odd.server_timeout_us),
            client_timeout,
            grace: client_timeout,
            quorum: odd.quorum,
            ..usual
        }
    }

    /// CT of clients that have heard of all servers.
    #[must_use]
    pub fn client_timeout(&self) -> Duration {
        let odd = self.odd.map_or(u64::MAX, |odd| odd.client_timeout_us);
        Duration::from_micros(self.client_timeout_us.min(odd))
    }

    /// The longest times of all servers, which bound how long they take, and the largest quorum.
    #[must_use]
    pub fn slowest(&self) -> server::Options {
        let usual = self.options();
        let odd = self.odd.map_or(usual, |odd| self.options_of(odd.server));
        server::Options {
            heartbeat: usual.heartbeat.max(odd.heartbeat),
            server_timeout: usual.server_timeout.max(odd.server_timeout),
            client_timeout: usual.client_timeout.max(odd.client_timeout),
            grace: usual.grace.max(odd.grace),
            quorum: usual.quorum.max(odd.quorum),
            ..usual
        }
    }

    /// By how much a datagram may be late.
    #[must_use]
    pub fn latest(&self) -> Duration {
        let late = self.actions.iter().map(|action| match action.fault {
            Fault::Network(NetworkFault::Reorder { ms, .. }) => ms,
            _ => 0,
        });
        Duration::from_millis(late.max().unwrap_or(0))
    }

    /// Whether servers have memory for a few tokens only.
    #[must_use]
    pub const fn is_scarce(&self) -> bool {
        self.max_memory < 1 << 20
    }

    /// How long the faults last.
    #[must_use]
    pub const fn time(&self) -> Duration {
        Duration::from_micros(self.time_us)
    }

    /// Whether a world can be made from it.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MAX_SERVERS).contains(&self.servers) || self.clients > MAX_CLIENTS {
            return Err(format!(
                "a run has 1 to {MAX_SERVERS} servers and at most {MAX_CLIENTS} clients"
            ));
        }
        if self.time_us > MAX_TIME_US {
            return Err("a run lasts a year at most".into());
        }
        for server in 0..self.servers {
            let options = self.options_of(server).check(self.servers);
            options.map_err(|error| error.to_string())?;
        }
        let nodes = self.servers + self.clients;
        for action in &self.actions {
            if !action.fault.is_among(nodes) {
                return Err(format!("there is no such node: {:?}", action.fault));
            }
            match action.fault {
                Fault::Process(ProcessFault::Rate { millionths, .. })
                    if millionths.unsigned_abs() > MAX_RATE.unsigned_abs() =>
                {
                    return Err(format!("{millionths} millionths are more than {MAX_RATE}"));
                }
                Fault::Doom { us, .. } if us > MAX_TIME_US => {
                    return Err("nothing lasts more than a year".into());
                }
                Fault::Run { token, .. }
                | Fault::Hold { token, .. }
                | Fault::Change { token, .. }
                | Fault::Update { token, .. }
                | Fault::Cancel { token, .. }
                    if token >= TOKENS =>
                {
                    return Err(format!("tokens are numbered below {TOKENS}"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl schedule::Schedule for Schedule {
    type Fault = Fault;

    fn nodes(&self) -> usize {
        self.servers + self.clients
    }

    fn time_us(&self) -> u64 {
        self.time_us
    }

    fn set_time_us(&mut self, time_us: u64) {
        self.time_us = time_us;
    }

    fn actions(&self) -> &[Action] {
        &self.actions
    }

    fn actions_mut(&mut self) -> &mut Vec<Action> {
        &mut self.actions
    }

    /// The last server stays. With a majority as quorum it is one of those that are left.
    fn without(&self, node: usize) -> Self {
        let mut shorter = self.clone();
        if node >= self.servers {
            shorter.clients -= 1;
        } else if self.servers > 1 {
            shorter.servers -= 1;
        } else {
            return shorter;
        }
        if self.quorum > 1 {
            shorter.quorum = majority(shorter.servers);
        }
        if node < self.servers {
            // Its place is another one, and its quorum may be none of fewer servers.
            shorter.odd = None;
        }
        shorter
            .actions
            .retain_mut(|action| action.fault.take_out(node));
        shorter
    }

    /// They are in any case.
    fn start_all_again(&mut self) {}
}
