//! What a server is started with (`docs/ftn.md`, section 1).

use std::time::Duration;

use thiserror::Error;

use crate::ftn::carrier::{PARTS_MAX, TOTAL_MAX};
use crate::ftn::{MIN_CLIENT_TIMEOUT, PART};

/// What a server is told at its start. All servers of a list are to have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options {
    /// HB: the period of the leader's STATE, and the window of an election.
    pub heartbeat: Duration,
    /// ST: the silence after which a server is DOWN, or a leader is given up.
    pub server_timeout: Duration,
    /// CT: the silence after which a session ends.
    pub client_timeout: Duration,
    /// How long a leader that is cold, or in doubt, lets sessions come back before anything is granted.
    pub grace: Duration,
    /// Q: the servers, itself included, without which a leader has no authority.
    pub quorum: usize,
    /// The most bytes that clients may make the server take: names and data of tokens, [`TOKEN_BYTES`] for each, and what
    /// those take that have to do with it, and sessions.
    pub max_memory: usize,
    /// The most sessions that a leader begins.
    pub max_clients: usize,
}

/// What a token takes of [`Options::max_memory`] beside its name and data, in bytes. One session that has to do with it is
/// included.
pub const TOKEN_BYTES: usize = 256;
/// Each further session that holds a token, waits for it or has returned it takes so many bytes, and the length of the
/// name, which a REVOKE to it repeats.
pub const PARTY_BYTES: usize = 160;
/// The queue of a token takes so many bytes, while there is one.
pub const QUEUE_BYTES: usize = 512;
/// Each REQUEST in it takes so many.
pub const WAIT_BYTES: usize = 64;
/// A session takes so many bytes, and more where there are four servers or more: [`session_bytes`].
pub const SESSION_BYTES: usize = 512;
/// A token of which a survey is to say who holds it takes so many more until then.
pub(crate) const GAINED_BYTES: usize = 192;
/// Each part of a session's answer to a survey takes so many until the answer is whole: it may have come with nothing in it.
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

/// Why options cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// A period is zero.
    #[error("{0} must be longer than nothing")]
    Zero(&'static str),
    /// A server would be taken for DOWN after a lost heartbeat or two.
    #[error(
        "--server-timeout {server_timeout:?} is less than three times --heartbeat {heartbeat:?}"
    )]
    ServerTimeout {
        /// ST as given.
        server_timeout: Duration,
        /// HB as given.
        heartbeat: Duration,
    },
    /// Sessions would end before their renewals are confirmed.
    #[error(
        "--client-timeout {0:?} is below {MIN_CLIENT_TIMEOUT:?}: sessions would end before their renewals are confirmed; \
         give at least {MIN_CLIENT_TIMEOUT:?}"
    )]
    ClientTimeout(Duration),
    /// More servers are called for than there are, or none.
    #[error("--quorum {quorum} is not between 1 and the number of servers, {servers}")]
    Quorum {
        /// Q as given.
        quorum: usize,
        /// n, the length of the list.
        servers: usize,
    },
    /// The servers could not tell each other of so many sessions.
    #[error(
        "--max-clients {given} is above {most}: a list of more sessions does not fit in what each of {servers} servers \
         may send to the others; give at most {most}"
    )]
    Clients {
        /// The number as given.
        given: usize,
        /// The most that fit.
        most: usize,
        /// n, the length of the list.
        servers: usize,
    },
    /// There is no server with this index.
    #[error("--index {index} names none of the {servers} servers, which are numbered from 0")]
    Index {
        /// The index as given.
        index: usize,
        /// n, the length of the list.
        servers: usize,
    },
}

/// An option that must be equal on all servers, and is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// The option.
    pub option: &'static str,
    /// The value of this server.
    pub own: Setting,
    /// The value of the other server.
    pub theirs: Setting,
}

/// The value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// A time.
    Time(Duration),
    /// A number.
    Count(usize),
}

/// What a session takes in a STATE at most, in bytes: its id, and the text of an address of IPv6 with a port.
const LISTED_BYTES: usize = 53;
/// What a STATE takes besides its sessions, in bytes at most.
const STATE_BYTES: usize = 512;

/// The most sessions that so many servers can tell each other of. A list of them fits a message in parts, and the leader has room
/// for two to each other server: the one under way and the newest.
pub const fn most_clients(servers: usize) -> usize {
    let of_message = (PARTS_MAX * PART - STATE_BYTES) / LISTED_BYTES;
    let others = if servers > 1 { servers - 1 } else { 1 };
    // A byte for each part comes to this.
    let of_all = (TOTAL_MAX / (2 * others) - STATE_BYTES) / (LISTED_BYTES + 1);
    if of_message < of_all {
        of_message
    } else {
        of_all
    }
}

/// What a session takes of [`Options::max_memory`] at one of so many servers, in bytes. A leader of many others has lists of all
/// sessions under way to each.
pub const fn session_bytes(servers: usize) -> usize {
    let with_lists = SESSION_BYTES / 2 + 2 * LISTED_BYTES * servers.saturating_sub(1);
    if with_lists < SESSION_BYTES {
        SESSION_BYTES
    } else {
        with_lists
    }
}

impl Options {
    /// Whether a list of so many `servers` can work with these options.
    ///
    /// # Errors
    /// Says which option is wrong, and why.
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
        if self.client_timeout < MIN_CLIENT_TIMEOUT {
            return Err(OptionsError::ClientTimeout(self.client_timeout));
        }
        let most = most_clients(servers);
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

    /// ¾ ST: how long an acknowledged STATE gives authority, and a received one the right to serve.
    pub fn server_lease(&self) -> Duration {
        self.server_timeout * 3 / 4
    }

    /// 3 ST: how long what is known from STATE is worth something in an election.
    pub fn warmth(&self) -> Duration {
        self.server_timeout * 3
    }
}

/// The quorum of a majority of so many servers: n/2 + 1.
pub const fn majority(servers: usize) -> usize {
    servers / 2 + 1
}
