//! Events that a client reports to its program.

use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::{Access, Kind};

use super::DropReason;
use crate::ftn::Configuration;

/// An event that a client reports to its program. Events are reported in the order in which they happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The client needs a new socket with a different port. The program reports the port with
    /// [`handle_link`](crate::Machine::handle_link).
    NewSocket,
    /// LOGIN led to no session for two seconds. The client continues to try.
    LoginFailed {
        /// Cause of the failure.
        failure: LoginFailure,
    },
    /// The leader gave the client an id. The session has no confirmed renewal.
    Proving {
        /// Id of the session.
        session: i32,
        /// Index of the leader.
        leader: usize,
    },
    /// The first renewal was confirmed. The program can request tokens until [`Client::lease`](super::Client::lease).
    Live {
        /// Id of the session.
        session: i32,
    },
    /// The session ended, together with all its tokens and requests. The client logs in again.
    Lost {
        /// Id of the ended session. The client never uses this id again.
        session: i32,
        /// Cause of the loss.
        loss: Loss,
    },
    /// [`Logout`](super::Command::Logout) ended the session. No event follows this event.
    LoggedOut {
        /// Whether the leader confirmed the logout. If the leader does not confirm the logout, it ends the session CT
        /// after the client's last message.
        confirmed: bool,
    },
    /// The leader or the states of servers changed.
    Adopted {
        /// The new configuration.
        configuration: Configuration,
    },
    /// The client now holds a token, or has a new kind of access to a held token.
    Granted {
        /// Name of the token.
        name: Box<[u8]>,
        /// The access, exclusive or shared.
        access: Access,
        /// Fencing number, if the program requested one. The number is larger than the fencing numbers of all earlier
        /// grants of the token.
        fence: Option<u128>,
        /// Data of the token.
        data: Box<[u8]>,
    },
    /// Another client waits for a token that this client holds. The client reports the event once for each grant.
    Revoked {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// The client waited for an upgrade of a shared token, and had to return the token because another client waits for
    /// it. The client no longer holds the token, and requests it again.
    UpgradeRevoked {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// An update was confirmed.
    Updated {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// The client returned a token, and the server confirmed the return.
    Returned {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// The client gave up a request, and the server confirmed the cancellation.
    Cancelled {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// A server wrongly believed that the client holds a token. The client returns the token.
    Declined {
        /// Name of the token.
        name: Box<[u8]>,
    },
    /// A page of a server's tokens arrived.
    Listed {
        /// Index of the server.
        server: usize,
        /// The page as JSON (`docs/token-service/protocol/tokens.md` I3). The client does not check the page.
        page: Box<[u8]>,
    },
    /// A requested page will not arrive, because the server is DOWN or does not exist.
    ListingFailed {
        /// Index of the server.
        server: usize,
    },
    /// A command was refused and had no effect.
    Refused {
        /// Name of the token.
        name: Box<[u8]>,
        /// Cause of the refusal.
        refusal: Refusal,
    },
    /// A server announces a client timeout below [`CLIENT_TIMEOUT_MIN`](crate::ftn::CLIENT_TIMEOUT_MIN). The client
    /// does not use this server until the server announces a longer timeout.
    ShortTimeout {
        /// Index of the server.
        server: usize,
        /// The announced timeout.
        timeout: Duration,
    },
    /// The sender's list of servers differs from this client's list. The client reports the event once per sender, for
    /// at most 1,024 senders.
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
        /// Type of the message, if the message decodes.
        kind: Option<Kind>,
        /// Reason of the drop.
        reason: DropReason,
    },
    /// The socket did not accept a datagram. The client repeats the datagram, as if the network had lost it.
    SendFailed,
}

/// Cause of a failed login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginFailure {
    /// No server answers.
    NoAnswer,
    /// Only senders with a different list of servers answer.
    OtherList,
    /// Servers answer, but the leader in their answers does not answer.
    NoLeader,
}

/// Cause of a lost session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// No renewal that the client sent in the last ¾ CT was confirmed.
    LeaseOver,
    /// No renewal was confirmed during CT.
    NotProven,
    /// The program changed the socket, although the client did not request this.
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
