//! A run as data: the faults, their times, and the seed for all other random values.

use std::time::Duration;

use ring_proto::ftn::server::{self, majority};
use serde::{Deserialize, Serialize};

use super::client_keys::{self, ClientNames};
use super::outcome::{Rule, Stats};
use crate::kernel::faults::{self, NetworkFault};
use crate::kernel::schedule::{MAX_TIME_US, Nodes, declare_faults, declare_schedule};

/// The maximum error of a clock's rate, in millionths. With this maximum rate error, the rates of any two clocks differ
/// by at most an eighth.
pub(super) const MAX_RATE: i32 = 58_000;
/// The maximum numbers of servers and clients of a run.
pub(super) const MAX_SERVERS: usize = 9;
pub(super) const MAX_CLIENTS: usize = 64;
/// The upper limit of token numbers.
pub(super) const TOKENS: usize = 16;

declare_schedule! {
    /// The servers come first, then the clients.
    nodes {
        /// The number of servers.
        pub servers: usize,
        /// The number of clients.
        pub clients: usize,
        /// Q.
        pub quorum: usize,
    }
    own {
        /// HB.
        pub heartbeat_us: u64,
        /// ST.
        pub server_timeout_us: u64,
        /// CT, and the grace period of a cold leader.
        pub client_timeout_us: u64,
        /// The maximum memory for tokens at a server, in bytes.
        pub max_memory: usize,
    }
    last {
        /// A server whose options differ from the options of the other servers.
        #[serde(rename = "odd", default, skip_serializing_if = "Option::is_none")]
        pub deviant: Option<DeviantServer>,
        /// The names that the keys of the clients permit. If the list is empty, clients have the keys of the servers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub client_names: Vec<ClientNames>,
    }
}

/// A server whose options differ from the options of the other servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviantServer {
    pub server: usize,
    pub quorum: usize,
    pub heartbeat_us: u64,
    pub server_timeout_us: u64,
    pub client_timeout_us: u64,
}

/// A fault or a user action.
pub type Fault = faults::Fault<SystemFault>;

declare_faults! {
    /// A fault or user action of FTN.
    #[serde(tag = "fault", rename_all = "kebab-case")]
    SystemFault {
        /// Kills the process; `forget` deletes a server's state file.
        End[node] { forget: bool } => Self::Start { node },
        /// Kills the process as soon as it has sent a message of a type. `sends` is the index of this type in the list
        /// of types. The process starts again `us` microseconds later.
        Doom[node] { sends: usize, us: u64 },
        /// Starts a dead process.
        Start[node],
        /// Stalls the process.
        Pause[node] => Self::Resume { node },
        /// Continues the process.
        Resume[node],
        /// Makes writes to the disk fail, or makes them succeed again.
        Disk[node] { full: bool },
        /// Sets the wall clock forward, or back.
        Wall[node] { seconds: i64 },
        /// Sends datagrams of a stranger to a server.
        Stranger[node] { count: u16 },
        /// Replaces a client's socket by a socket with another address.
        Socket[node],
        /// Runs a command of a client under a token.
        Run[node] { token: usize, shared: bool, us: u64 },
        /// Holds a token for a client until another client requests it.
        Hold[node] { token: usize, shared: bool },
        /// Requests the other kind of access to a token that the client holds.
        Change[node] { token: usize },
        /// Sets the data of a token that the client holds.
        Update[node] { token: usize },
        /// Cancels a client's request for a token, or gives up a token that the client holds.
        Cancel[node] { token: usize },
        /// Asks a server for its tokens.
        List[node, server],
        /// Logs a client out; its process ends.
        Logout[node] => Self::Start { node },
        /// Shuts a server down; its process ends.
        Leave[node] => Self::Start { node },
    }
}

impl Schedule {
    /// Returns the options of the servers.
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

    /// Returns the options of this server.
    pub fn options_of(&self, server: usize) -> server::Options {
        let usual = self.options();
        let Some(deviant) = self.deviant.filter(|deviant| deviant.server == server) else {
            return usual;
        };
        let client_timeout = Duration::from_micros(deviant.client_timeout_us);
        server::Options {
            heartbeat: Duration::from_micros(deviant.heartbeat_us),
            server_timeout: Duration::from_micros(deviant.server_timeout_us),
            client_timeout,
            grace: client_timeout,
            quorum: deviant.quorum,
            ..usual
        }
    }

    /// Returns the CT of clients that have heard of all servers.
    pub fn client_timeout(&self) -> Duration {
        let deviant = self
            .deviant
            .map_or(u64::MAX, |deviant| deviant.client_timeout_us);
        Duration::from_micros(self.client_timeout_us.min(deviant))
    }

    /// Returns the longest times and the largest quorum of all servers. These values limit the duration of the
    /// recovery.
    pub fn slowest(&self) -> server::Options {
        let usual = self.options();
        let deviant = self
            .deviant
            .map_or(usual, |deviant| self.options_of(deviant.server));
        server::Options {
            heartbeat: usual.heartbeat.max(deviant.heartbeat),
            server_timeout: usual.server_timeout.max(deviant.server_timeout),
            client_timeout: usual.client_timeout.max(deviant.client_timeout),
            grace: usual.grace.max(deviant.grace),
            quorum: usual.quorum.max(deviant.quorum),
            ..usual
        }
    }

    /// Returns the largest delay of a reordered datagram.
    pub fn latest(&self) -> Duration {
        let late = self.actions.iter().map(|action| match action.fault {
            Fault::Network(NetworkFault::Reorder { ms, .. }) => ms,
            _ => 0,
        });
        Duration::from_millis(late.max().unwrap_or(0))
    }

    /// Whether servers have memory for only a few tokens.
    pub const fn is_scarce(&self) -> bool {
        self.max_memory < 1 << 20
    }

    /// Checks that all values are within the simulator's limits.
    ///
    /// # Errors
    /// Returns the reason if a value is not within the limits.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=MAX_SERVERS).contains(&self.servers) || self.clients > MAX_CLIENTS {
            return Err(format!(
                "a run has 1 to {MAX_SERVERS} servers and at most {MAX_CLIENTS} clients"
            ));
        }
        if !self.stay_dead.is_empty() {
            return Err(
                "stay_dead must be empty: all servers and clients are started again".into(),
            );
        }
        client_keys::check(&self.client_names, self.clients)?;
        for server in 0..self.servers {
            let options = self.options_of(server).check(self.servers);
            options.map_err(|error| error.to_string())?;
        }
        for action in &self.actions {
            match action.fault {
                Fault::System(SystemFault::Doom { us, .. }) if us > MAX_TIME_US => {
                    return Err("a time of more than a year".into());
                }
                Fault::System(
                    SystemFault::Run { token, .. }
                    | SystemFault::Hold { token, .. }
                    | SystemFault::Change { token, .. }
                    | SystemFault::Update { token, .. }
                    | SystemFault::Cancel { token, .. },
                ) if token >= TOKENS => {
                    return Err(format!("token numbers must be below {TOKENS}"));
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

    /// The last server is not removed. If the quorum was a majority, it becomes a majority of the remaining servers.
    fn take_node(&mut self, node: usize) -> bool {
        if let Some(client) = node.checked_sub(self.servers) {
            self.clients -= 1;
            if client < self.client_names.len() {
                self.client_names.remove(client);
            }
            return true;
        }
        if self.servers <= 1 {
            return false;
        }
        self.servers -= 1;
        if self.quorum > 1 {
            self.quorum = majority(self.servers);
        }
        // The index of the deviant server may now belong to another server, and the deviant quorum may exceed the
        // number of servers.
        self.deviant = None;
        true
    }
}
