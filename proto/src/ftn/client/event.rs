//! Events that a client reports to its program.

use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::{Access, Kind};

use super::DropReason;
use crate::ftn::Configuration;

/// An event that a client reports to its program, in the order in which they happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The client needs a socket with another port; [`handle_link`](crate::Machine::handle_link) reports the port.
    NewSocket,
    /// LOGIN has brought no session for two seconds. The client continues to try.
    LoginFailed {
        /// Cause of the failure.
        failure: LoginFailure,
    },
    /// The leader has given an id. No renewal of the session is confirmed yet.
    Proving {
        /// Id of the session.
        session: i32,
        /// Index of the leader.
        leader: usize,
    },
    /// The first renewal was confirmed. Tokens can be requested until [`Client::lease`](super::Client::lease).
    Live {
        /// Id of the session.
        session: i32,
    },
    /// The session has ended, with all its tokens and requests. The client logs in again.
    Lost {
        /// Id of the session, which is never used again.
        session: i32,
        /// Cause of the loss.
        loss: Loss,
    },
    /// [`Logout`](super::Command::Logout) has ended the session. This is the last event.
    LoggedOut {
        /// Whether the leader has confirmed it. If not, the leader ends the session CT after the client's last message.
        confirmed: bool,
    },
    /// The leader or the states of servers have changed.
    Adopted {
        /// The new configuration.
        configuration: Configuration,
    },
    /// A token is held, or held with another access than before.
    Granted {
        /// Name of the token.
        name: Box<[u8]>,
        /// The access, exclusive or shared.
        access: Access,
        /// Fencing number, if one was requested: larger than that of any earlier grant of the token.
        fence: Option<u128>,
        /// Data of the token.
        data: Box<[u8]>,
    },
    /// Another client waits for a token that this client holds. Reported once per grant.
    Revoked {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// The client gave a shared token back while it awaited an upgrade, because another client waits as well. It
    /// no longer holds the token, and requests it again.
    UpgradeRevoked {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// An update was confirmed.
    Updated {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// A token was given back, and its server has confirmed that.
    Returned {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// A request was given up, and its server has confirmed that.
    Cancelled {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// A server takes the client for the holder of a token that it does not hold. The client gives the token back.
    Declined {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// A page of a server's tokens has arrived.
    Listed {
        /// Index of the server.
        server: usize,
        /// JSON as the server has sent it (`docs/ftn.md`, section 6), not checked.
        page: Box<[u8]>,
    },
    /// A requested page will not arrive, because the server is DOWN or does not exist.
    ListingFailed {
        /// Index of the server.
        server: usize,
    },
    /// A command was refused, and has changed nothing.
    Refused {
        /// Name of the token.
        name: Box<[u8]>,
        /// Cause of the refusal.
        refusal: Refusal,
    },
    /// A server announces a client timeout below [`CLIENT_TIMEOUT_MIN`](crate::ftn::CLIENT_TIMEOUT_MIN). The client
    /// does not use that server until it announces a longer one.
    ShortTimeout {
        /// Index of the server.
        server: usize,
        /// The announced timeout.
        timeout: Duration,
    },
    /// A sender has another list of servers. Reported once for each of up to 1,024 senders.
    OtherList {
        /// Address of the sender.
        from: SocketAddr,
        /// Signature of the sender's list.
        ssig: i32,
    },
    /// A datagram was dropped.
    Dropped {
        /// Address of the sender.
        from: SocketAddr,
        /// Type of the message, if it decodes.
        kind: Option<Kind>,
        /// Reason of the drop.
        reason: DropReason,
    },
    /// The socket did not take a datagram. The client repeats it as if it had been lost on the way.
    SendFailed,
}

/// Cause of a failed login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginFailure {
    /// No server answers.
    NoAnswer,
    /// Senders answer with another list of servers, and no server answers with this one.
    OtherList,
    /// Servers answer, but the leader that they name does not.
    NoLeader,
}

/// Cause of a lost session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// No renewal of the last ¾ CT was confirmed.
    LeaseOver,
    /// No renewal was confirmed within CT.
    NotProven,
    /// The program has changed the socket without a request.
    SocketChanged,
}

/// Cause of a refused command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The session is not live.
    NotLive,
    /// The name is empty or has more than 1,024 bytes.
    Name,
    /// The data have more than 32 KiB.
    Data,
    /// The token is already held with this access, or its request is outstanding.
    AlreadyDone,
    /// The token is not held, or is being returned.
    NotHeld,
}
