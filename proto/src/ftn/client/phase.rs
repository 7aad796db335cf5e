//! The phases of a client.

use super::Options;
use super::login::Login;
use super::logout::Logout;
use super::session::Session;
use crate::time::Instant;

/// Phase of a client. When the client enters a phase, it drops the data of the earlier phase.
#[derive(Debug, Clone, Hash)]
pub(super) enum Phase {
    /// The client waits for a socket.
    NoSocket {
        /// Port of the last session. The next socket must have a different port.
        former_port: Option<u16>,
    },
    Login(Login),
    // This variant is boxed, because a session is much larger than the data of the other phases.
    Session(Box<Session>),
    Logout(Logout),
    // A client never leaves this phase. A program that needs another session makes another client.
    Ended,
}

impl Phase {
    pub(super) const fn session(&self) -> Option<&Session> {
        match self {
            Self::Session(session) => Some(session),
            _ => None,
        }
    }

    /// Returns the time of the client's next action.
    pub(super) fn due(&self, options: &Options) -> Option<Instant> {
        match self {
            Self::NoSocket { .. } | Self::Ended => None,
            Self::Login(login) => Some(login.due()),
            Self::Session(session) => Some(session.due(options)),
            Self::Logout(logout) => Some(logout.due()),
        }
    }
}
