//! Options of a server (`docs/ftn.md`, section 1).

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
    /// How long a leader that is cold or in doubt lets sessions return before it grants tokens.
    pub grace: Duration,
    /// Q: how many servers, the leader included, must acknowledge a leader to give it authority.
    pub quorum: usize,
    /// Most memory that clients can make the server use, in bytes. It counts sessions, and tokens with their names,
    /// data and parties ([`TOKEN_BYTES`] and the constants after it).
    pub max_memory: usize,
    /// Most sessions that a leader begins.
    pub max_clients: usize,
}

/// Share of a token in [`Options::max_memory`] in addition to its name and data, in bytes. It includes one session that
/// holds the token, waits for it or has returned it.
pub const TOKEN_BYTES: usize = 256;
/// Share of each further such session, in bytes. Each also counts the length of the name, which a REVOKE to it repeats.
pub const PARTY_BYTES: usize = 160;
/// Share of a token's queue while there is one, in bytes.
pub const QUEUE_BYTES: usize = 512;
/// Share of each REQUEST in a queue, in bytes.
pub const WAITING_REQUEST_BYTES: usize = 64;
/// Share of a session, in bytes. It is more with four servers or more: [`session_bytes`].
pub const SESSION_BYTES: usize = 512;
/// Share of a token in a survey until the survey ends, in bytes.
pub(crate) const SURVEYED_TOKEN_BYTES: usize = 192;
// Each part counts, because an answer may consist of many empty parts.
/// Share of each part of a session's answer until the answer is complete, in bytes.
pub(crate) const PART_BYTES: usize = 16;

impl Default for Options {
    fn default() -> Self {
        let client_timeout = Duration::from_secs(15);
        Self {
            heartbeat: Duration::from_secs(1),
            server_timeout: Duration::from_secs(4),
            client_timeout,
            grace: client_timeout,
            quorum: 1,
            max_memory: 256 << 20,
            max_clients: 10_000,
        }
    }
}

/// Reason why options cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// A period is zero.
    #[error("{0} is zero: give a longer time")]
    Zero(&'static str),
    /// A server would be DOWN after one or two lost heartbeats.
    #[error(
        "--server-timeout {server_timeout:?} is less than three times --heartbeat {heartbeat:?}: a server would be DOWN \
         after two lost heartbeats; give at least three times --heartbeat"
    )]
    ServerTimeout {
        /// ST as given.
        server_timeout: Duration,
        /// HB as given.
        heartbeat: Duration,
    },
    /// Sessions would end before their renewals are confirmed.
    #[error(
        "--client-timeout {0:?} is below {CLIENT_TIMEOUT_MIN:?}: sessions would end before their renewals are confirmed; \
         give at least {CLIENT_TIMEOUT_MIN:?}"
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
        "--index {index} names none of the {servers} servers: they are numbered from 0; give the number of a line"
    )]
    Index {
        /// The index as given.
        index: usize,
        /// n, the length of the list.
        servers: usize,
    },
}

/// An option that must be equal on all servers and differs.
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

/// Longest entry of a session in a STATE, in bytes: its id, and an IPv6 address with a port as text.
const LISTED_BYTES: usize = 53;
/// Longest rest of a STATE, in bytes.
const STATE_BYTES: usize = 512;

/// Returns the most sessions that a number of servers can tell each other about. Their list fits one message in parts.
/// The leader's limit allows two lists to each other server: the one under way and the newest.
pub const fn clients_max(servers: usize) -> usize {
    let of_message = (PARTS_MAX * PART - STATE_BYTES) / LISTED_BYTES;
    let others = if servers > 1 { servers - 1 } else { 1 };
    // One byte more, because the carrier keeps a flag for each part.
    let of_all = (TOTAL_MAX / (2 * others) - STATE_BYTES) / (LISTED_BYTES + 1);
    if of_message < of_all {
        of_message
    } else {
        of_all
    }
}

/// Returns a session's share of [`Options::max_memory`] at one of `servers` servers, in bytes. It grows with the number
/// of servers, because a leader has lists of all sessions under way to each other server.
pub const fn session_bytes(servers: usize) -> usize {
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
    /// The option that is wrong.
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

    /// Returns ¾ ST: how long an acknowledged STATE gives authority, and how long a received one lets a follower serve.
    pub fn server_lease(&self) -> Duration {
        self.server_timeout * 3 / 4
    }

    /// Returns 3 ST: how long the knowledge from a STATE counts in an election.
    pub fn warm_timeout(&self) -> Duration {
        self.server_timeout * 3
    }
}

/// Returns the quorum of a majority: n/2 + 1.
pub const fn majority(servers: usize) -> usize {
    servers / 2 + 1
}
