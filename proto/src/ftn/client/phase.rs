//! The phases of a client.

use super::Options;
use super::login::Login;
use super::logout::Logout;
use super::session::Session;
use crate::time::Instant;

/// Phase of a client. Entering a phase drops the data of the one before.
#[derive(Debug, Clone, Hash)]
pub(super) enum Phase {
    /// The client waits for a socket.
    NoSocket {
        /// Port of the last session, which the next socket must not have.
        former_port: Option<u16>,
    },
    Login(Login),
    // Boxed, because a session is much larger than the others.
    Session(Box<Session>),
    Logout(Logout),
    Ended,
}

impl Phase {
    pub(super) const fn session(&self) -> Option<&Session> {
        match self {
            Self::Session(session) => Some(session),
            _ => None,
        }
    }

    /// Returns when the client has something to do.
    pub(super) fn due(&self, options: &Options) -> Option<Instant> {
        match self {
            Self::NoSocket { .. } | Self::Ended => None,
            Self::Login(login) => Some(login.due()),
            Self::Session(session) => Some(session.due(options)),
            Self::Logout(logout) => Some(logout.due()),
        }
    }
}
