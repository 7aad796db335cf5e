//! Options of a server (`docs/token-service/protocol/conventions.md` O6 to O9).

use std::time::Duration;

use thiserror::Error;

use crate::ftn::carrier::{PARTS_MAX, TOTAL_MAX};
use crate::ftn::{CLIENT_TIMEOUT_MIN, PART};

/// Options of a server. All servers of a list need the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options {
    /// HB: the period of the leader's STATE, and the time window of an election.
    pub heartbeat: Duration,
    /// ST: the silence after which a server is DOWN, or after which a follower gives up its leader.
    pub server_timeout: Duration,
    /// CT: the silence after which a session ends.
    pub client_timeout: Duration,
    /// The grace: a leader that is cold or in doubt adopts returning sessions for this time before it grants tokens.
    pub grace: Duration,
    /// Q: number of servers that must acknowledge a leader to give it authority. The leader itself counts as one of
    /// these servers.
    pub quorum: usize,
    /// Maximum amount of memory that clients can make the server use, in bytes. Sessions and tokens take this memory.
    /// The names, data and parties of tokens count too. [`TOKEN_BYTES`] and the next constants state the amounts.
    pub max_memory: usize,
    /// Maximum number of sessions that a leader begins.
    pub max_clients: usize,
}

/// Number of bytes of [`Options::max_memory`] that each token takes, in addition to its name and data. This number
/// includes the bytes for one session that is involved with the token.
pub const TOKEN_BYTES: usize = 256;
/// Number of bytes that each further session of a token takes, in addition to the length of the token's name. The name
/// counts again, because a REVOKE to the session repeats the name.
pub const PARTY_BYTES: usize = 160;
/// Number of bytes that the queue of a token takes while the token has a queue.
pub const QUEUE_BYTES: usize = 512;
/// Number of bytes that each REQUEST in a queue takes.
// Queues are counted apart from parties, because a holder may also wait for an upgrade.
pub const WAITING_REQUEST_BYTES: usize = 64;
/// Number of bytes that each session takes. With four or more servers, each session takes more bytes:
/// [`session_bytes`].
pub const SESSION_BYTES: usize = 512;
/// Number of bytes that each token of a survey takes until the survey ends.
pub(crate) const SURVEYED_TOKEN_BYTES: usize = 192;
// Each part counts, because an answer may consist of many empty parts.
/// Number of bytes that each part of a session's answer takes until the answer is complete.
pub(crate) const PART_BYTES: usize = 16;

impl Default for Options {
    fn default() -> Self {
        let client_timeout = Duration::from_secs(15);
        Self {
            heartbeat: Duration::from_secs(1),
            server_timeout: Duration::from_secs(4),
            client_timeout,
            grace: client_timeout,
            // A majority depends on the number of servers, and the options do not contain this number.
            quorum: 1,
            max_memory: 256 << 20,
            max_clients: 10_000,
        }
    }
}

/// Reason why a server cannot work with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// A period is zero.
    #[error("{0} is zero: give a longer time")]
    Zero(&'static str),
    /// A server would be DOWN after one or two lost heartbeats.
    #[error(
        "--server-timeout {server_timeout:?} is less than three times --heartbeat {heartbeat:?}: \
         two lost heartbeats would make a server DOWN; raise --server-timeout"
    )]
    ServerTimeout {
        /// ST as given.
        server_timeout: Duration,
        /// HB as given.
        heartbeat: Duration,
    },
    /// Sessions would end before their renewals are confirmed.
    #[error(
        "--client-timeout {0:?} is below {CLIENT_TIMEOUT_MIN:?}: sessions would end before \
         their renewals are confirmed; give at least {CLIENT_TIMEOUT_MIN:?}"
    )]
    ClientTimeout(Duration),
    /// The quorum is 0, or larger than the number of servers.
    #[error(
        "--quorum {quorum} is not between 1 and the number of servers, {servers}; give a number in this range"
    )]
    Quorum {
        /// Q as given.
        quorum: usize,
        /// n, the length of the list.
        servers: usize,
    },
    /// The servers cannot send each other a list of this many sessions.
    #[error(
        "--max-clients {given} is above {most}: {servers} servers cannot send each other a longer list of sessions; \
         give at most {most}"
    )]
    Clients {
        /// The number as given.
        given: usize,
        /// Largest number that works.
        most: usize,
        /// n, the length of the list.
        servers: usize,
    },
    /// There is no server with this index.
    #[error(
        "--index {index} names none of the {servers} servers: the first has number 0; give this server's number"
    )]
    Index {
        /// The index as given.
        index: usize,
        /// n, the length of the list.
        servers: usize,
    },
}

/// An option that differs between two servers, although it must be equal on all servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionDifference {
    /// Name of the option.
    pub option: &'static str,
    /// Value of this server.
    pub own: OptionValue,
    /// Value of the other server.
    pub theirs: OptionValue,
}

/// Value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionValue {
    /// A time.
    Time(Duration),
    /// A number.
    Count(usize),
}

/// Maximum length of a session's entry in a STATE, in bytes. An entry consists of an id, and of an IPv6 address with a
/// port as text.
// The id takes 5 bytes, the length of the text takes 1, and the text takes 47.
const LISTED_BYTES: usize = 53;
/// Upper limit for all other fields of a STATE, in bytes.
const STATE_BYTES: usize = 512;

/// Returns the largest number of sessions that the servers can list to each other. A message in parts can carry a list
/// of this many sessions. For each other server, the leader has room for two lists: the list under way, and the newest
/// list.
pub const fn clients_max(servers: usize) -> usize {
    let of_message = (PARTS_MAX * PART - STATE_BYTES) / LISTED_BYTES;
    let others = if servers > 1 { servers - 1 } else { 1 };
    // Each part takes one more byte, because the carrier keeps a flag for it.
    let of_all = (TOTAL_MAX / (2 * others) - STATE_BYTES) / (LISTED_BYTES + 1);
    if of_message < of_all {
        of_message
    } else {
        of_all
    }
}

/// Returns the number of bytes of [`Options::max_memory`] that each session takes at one of `servers` servers. This
/// number grows with the number of servers, because a leader sends lists of all sessions to the other servers.
pub const fn session_bytes(servers: usize) -> usize {
    // The factor 2 stands for the two lists that `clients_max` allows to each other server.
    let with_lists = SESSION_BYTES / 2 + 2 * LISTED_BYTES * servers.saturating_sub(1);
    if with_lists < SESSION_BYTES {
        SESSION_BYTES
    } else {
        with_lists
    }
}

impl Options {
    /// Checks whether a list of `servers` servers can work with these options.
    ///
    /// # Errors
    /// Returns the option that is wrong.
    pub fn check(&self, servers: usize) -> Result<(), OptionsError> {
        let periods = [
            (self.heartbeat, "--heartbeat"),
            (self.server_timeout, "--server-timeout"),
        ];
        for (period, name) in periods {
            if period.is_zero() {
                return Err(OptionsError::Zero(name));
            }
        }
        if self.server_timeout < self.heartbeat.saturating_mul(3) {
            return Err(OptionsError::ServerTimeout {
                server_timeout: self.server_timeout,
                heartbeat: self.heartbeat,
            });
        }
        if self.client_timeout < CLIENT_TIMEOUT_MIN {
            return Err(OptionsError::ClientTimeout(self.client_timeout));
        }
        let most = clients_max(servers);
        if self.max_clients > most {
            return Err(OptionsError::Clients {
                given: self.max_clients,
                most,
                servers,
            });
        }
        if !(1..=servers).contains(&self.quorum) {
            return Err(OptionsError::Quorum {
                quorum: self.quorum,
                servers,
            });
        }
        Ok(())
    }

    /// Returns ¾ ST. An acknowledged STATE gives a leader authority for this time. A received STATE allows a follower
    /// to serve for this time.
    pub fn server_lease(&self) -> Duration {
        // The rest of ST allows for clocks whose rates differ by up to an eighth.
        self.server_timeout * 3 / 4
    }

    /// Returns 3 ST: the time for which the knowledge from a STATE counts in an election.
    pub fn warm_timeout(&self) -> Duration {
        self.server_timeout * 3
    }
}

/// Returns the quorum of a majority: n/2 + 1.
pub const fn majority(servers: usize) -> usize {
    servers / 2 + 1
}
