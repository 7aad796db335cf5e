//! A run written down: whatever goes wrong in it, when, and the seed for the rest.

use std::time::Duration;

use ring_proto::ftn::server::{self, majority};
use serde::{Deserialize, Serialize};

use super::outcome::{Rule, Stats};
use crate::kernel::faults::{self, NetworkFault};
use crate::kernel::schedule::{MAX_TIME_US, Nodes, declare_faults, declare_schedule};

/// Clocks run faster or slower by no more, in millionths: no two differ by more than an eighth.
pub(super) const MAX_RATE: i32 = 58_000;
/// The most servers and clients of a run.
pub(super) const MAX_SERVERS: usize = 9;
pub(super) const MAX_CLIENTS: usize = 64;
/// Tokens are numbered below this.
pub(super) const TOKENS: usize = 16;

declare_schedule! {
    /// The servers come first, then the clients.
    nodes {
        /// How many servers there are.
        pub servers: usize,
        /// How many clients there are.
        pub clients: usize,
        /// Q.
        pub quorum: usize,
    }
    own {
        /// HB.
        pub heartbeat_us: u64,
        /// ST.
        pub server_timeout_us: u64,
        /// CT, and the grace of a cold leader.
        pub client_timeout_us: u64,
        /// The most bytes that tokens may take at a server.
        pub max_memory: usize,
    }
    last {
        /// A server with other options than the others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub odd: Option<Odd>,
    }
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
pub type Fault = faults::Fault<WorldFault>;

declare_faults! {
    /// What goes wrong, or is wanted, in this world only.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    WorldFault {
        /// A process dies; a server may lose its state file.
        End[node] { forget: bool } => Self::Start { node },
        /// A process dies as soon as it has sent a message of this type, a place in the list of types, and starts again
        /// so much later.
        Doom[node] { sends: usize, us: u64 },
        /// It starts again.
        Start[node],
        /// A process stands still.
        Pause[node] => Self::Resume { node },
        /// It goes on.
        Resume[node],
        /// A disk takes nothing, or all again.
        Disk[node] { full: bool },
        /// A wall clock is set forward, or back.
        Wall[node] { seconds: i64 },
        /// A stranger sends so many datagrams to a server.
        Stranger[node] { count: u16 },
        /// A client's socket is replaced by one of another address.
        Socket[node],
        /// A client runs a command that lasts so long under a token.
        Run[node] { token: usize, shared: bool, us: u64 },
        /// A client holds a token until somebody else wants it.
        Hold[node] { token: usize, shared: bool },
        /// A client that holds a token asks for the other access.
        Change[node] { token: usize },
        /// A client that holds a token sets its data.
        Update[node] { token: usize },
        /// A client gives up what there is of a token.
        Cancel[node] { token: usize },
        /// A client asks a server for its tokens.
        List[node, server],
        /// A client logs out, and its process ends.
        Logout[node] => Self::Start { node },
        /// A server is shut down, and its process ends.
        Leave[node] => Self::Start { node },
    }
}

impl Schedule {
    /// What the servers are started with.
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
    pub fn client_timeout(&self) -> Duration {
        let odd = self.odd.map_or(u64::MAX, |odd| odd.client_timeout_us);
        Duration::from_micros(self.client_timeout_us.min(odd))
    }

    /// The longest times of all servers, which bound how long they take, and the largest quorum.
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
    pub fn latest(&self) -> Duration {
        let late = self.actions.iter().map(|action| match action.fault {
            Fault::Network(NetworkFault::Reorder { ms, .. }) => ms,
            _ => 0,
        });
        Duration::from_millis(late.max().unwrap_or(0))
    }

    /// Whether servers have memory for a few tokens only.
    pub const fn is_scarce(&self) -> bool {
        self.max_memory < 1 << 20
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
        if !self.stay_dead.is_empty() {
            return Err("all servers and clients are started again".into());
        }
        for server in 0..self.servers {
            let options = self.options_of(server).check(self.servers);
            options.map_err(|error| error.to_string())?;
        }
        for action in &self.actions {
            match action.fault {
                Fault::World(WorldFault::Doom { us, .. }) if us > MAX_TIME_US => {
                    return Err("nothing lasts more than a year".into());
                }
                Fault::World(
                    WorldFault::Run { token, .. }
                    | WorldFault::Hold { token, .. }
                    | WorldFault::Change { token, .. }
                    | WorldFault::Update { token, .. }
                    | WorldFault::Cancel { token, .. },
                ) if token >= TOKENS => {
                    return Err(format!("tokens are numbered below {TOKENS}"));
                }
                _ => {}
            }
        }
        faults::check(self, MAX_RATE)
    }
}

impl Nodes for Schedule {
    fn nodes(&self) -> usize {
        self.servers + self.clients
    }

    /// The last server stays. With a majority as quorum it is one of those that are left.
    fn take_node(&mut self, node: usize) -> bool {
        if node >= self.servers {
            self.clients -= 1;
            return true;
        }
        if self.servers <= 1 {
            return false;
        }
        self.servers -= 1;
        if self.quorum > 1 {
            self.quorum = majority(self.servers);
        }
        // Its place is another one, and its quorum may be none of fewer servers.
        self.odd = None;
        true
    }
}
