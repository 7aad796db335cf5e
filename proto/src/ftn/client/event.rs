//! What a client tells the program above it.

use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::{Access, Kind};

use super::Reason;
use crate::ftn::Configuration;

/// What a client tells the program above it, in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The client needs a socket of another port; [`handle_link`](crate::Machine::handle_link) says which.
    NewSocket,
    /// Two seconds of LOGIN have brought no session. It goes on trying.
    LoginFailed {
        /// What is in the way.
        trouble: Trouble,
    },
    /// The leader has given an id; it is not known yet whether the session will last.
    Proving {
        /// The session's id.
        session: i32,
        /// The leader's index.
        leader: usize,
    },
    /// The first renewal was confirmed: tokens can be requested, until [`Client::lease`](super::Client::lease).
    Live {
        /// The session's id.
        session: i32,
    },
    /// The session is over, and so is everything that it held or awaited. The client logs in anew.
    Lost {
        /// The session's id, which is never used again.
        session: i32,
        /// Why.
        loss: Loss,
    },
    /// The session was ended by [`Logout`](super::Command::Logout). Nothing comes after this.
    LoggedOut {
        /// Whether the leader has said so; if not, it finds out a CT after the client's last message.
        confirmed: bool,
    },
    /// Leader or states of servers have changed.
    Adopted {
        /// The new configuration.
        configuration: Configuration,
    },
    /// A token is held now, or held with another access.
    Granted {
        /// The token's name.
        name: Box<[u8]>,
        /// How it is held.
        access: Access,
        /// The fencing number, if one was asked for: larger than that of any earlier grant of the token.
        fence: Option<u128>,
        /// The token's data.
        data: Box<[u8]>,
    },
    /// Somebody else waits for a token that is held. Told once a grant.
    Revoked {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// A shared token was given back while an upgrade was awaited, since somebody else waits as well: it is no longer
    /// held, and requested anew.
    UpgradeRevoked {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// An update was confirmed.
    Updated {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// A token was given back, and that was confirmed.
    Returned {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// A request was given up, and that was confirmed.
    Cancelled {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// A server takes the client for the holder of a token that it does not hold; it gives that back.
    Declined {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// A page of a server's tokens.
    Listed {
        /// The server's index.
        server: usize,
        /// JSON, as the server has sent it (`docs/ftn.md`, section 6); not checked.
        page: Box<[u8]>,
    },
    /// A page that was asked for does not come: the server is DOWN, or there is none.
    ListingFailed {
        /// The server's index.
        server: usize,
    },
    /// A command was not carried out, and has changed nothing.
    Refused {
        /// The token's name.
        name: Box<[u8]>,
        /// Why.
        refusal: Refusal,
    },
    /// A server announces a client timeout below [`MIN_CLIENT_TIMEOUT`](crate::ftn::MIN_CLIENT_TIMEOUT): this client does not use
    /// that server until it announces a longer one.
    ShortTimeout {
        /// The server's index.
        server: usize,
        /// The timeout that it announces.
        timeout: Duration,
    },
    /// Somebody has another list of servers; told once for each of up to 1,024 senders.
    OtherList {
        /// The sender.
        from: SocketAddr,
        /// The signature of its list.
        ssig: i32,
    },
    /// A datagram was dropped.
    Dropped {
        /// Where it came from.
        from: SocketAddr,
        /// Its type, if it decodes.
        kind: Option<Kind>,
        /// Why.
        reason: Reason,
    },
    /// The socket did not take a datagram. It is repeated as if it had been lost on the way.
    SendFailed,
}

/// Why there is no session yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// No server answers.
    NoAnswer,
    /// Somebody answers with another list of servers, and nobody with this one.
    OtherList,
    /// Servers answer, but not the one that they take for their leader.
    NoLeader,
}

/// Why a session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// No renewal that was sent in the last ¾ CT is confirmed.
    LeaseOver,
    /// No renewal was ever confirmed, for CT.
    NotProven,
    /// The program has changed the socket by itself.
    SocketChanged,
}

/// Why a command was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The session is not live.
    NotLive,
    /// The name has no byte, or more than 1,024.
    Name,
    /// The data have more than 32 KiB.
    Data,
    /// The token is held this way already, or its request is under way.
    AlreadyDone,
    /// The token is not held, or on its way back.
    NotHeld,
}
