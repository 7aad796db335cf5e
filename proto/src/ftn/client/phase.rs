//! What a client is doing, with what belongs to it.

use super::Options;
use super::login::Login;
use super::logout::Logout;
use super::session::Session;
use crate::time::Instant;

/// What a client is doing. To enter a phase is to forget the one before.
#[derive(Debug, Clone, Hash)]
pub(super) enum Phase {
    /// It waits for a socket.
    NoSocket {
        /// The port of the session before, which must not be that of the next.
        former: Option<u16>,
    },
    Login(Login),
    /// Boxed, since it is much larger than the others.
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

    /// When it has something to do.
    pub(super) fn due(&self, options: &Options) -> Option<Instant> {
        match self {
            Self::NoSocket { .. } | Self::Ended => None,
            Self::Login(login) => Some(login.due()),
            Self::Session(session) => Some(session.due(options)),
            Self::Logout(logout) => Some(logout.due()),
        }
    }
}
