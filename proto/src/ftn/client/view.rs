//! The client's state, as the program sees it.

use ring_codec::ftn::Access;

use super::Client;
use super::holding::TokenState;
use super::phase::Phase;
use crate::ftn::Configuration;
use crate::time::Instant;

/// State of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientState {
    /// The client waits for a socket.
    NoSocket,
    /// The client asks for a session.
    Login {
        /// Number of servers that have answered.
        answered: usize,
        /// Whether a sender has another list of servers.
        other_list: bool,
    },
    /// The client has an id, and its first renewal is not confirmed yet.
    Proving {
        /// Id of the session.
        session: i32,
    },
    /// The client has a session.
    Live {
        /// Id of the session.
        session: i32,
    },
    /// The client ends its session.
    LoggingOut,
    /// The client has ended its session.
    Ended,
}

/// A token that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldToken<'a> {
    /// The access, exclusive or shared.
    pub access: Access,
    /// Fencing number of the grant, if one was requested.
    pub fence: Option<u128>,
    /// Data as granted, or as last updated and confirmed.
    pub data: &'a [u8],
}

impl Client {
    /// Returns the client's state.
    pub fn state(&self) -> ClientState {
        match &self.phase {
            Phase::NoSocket { .. } => ClientState::NoSocket,
            Phase::Login(login) => ClientState::Login {
                answered: login.answer_count(),
                other_list: login.has_seen_other_list(),
            },
            Phase::Session(session) => {
                let (id, is_live) = (session.id, session.is_live());
                if is_live {
                    ClientState::Live { session: id }
                } else {
                    ClientState::Proving { session: id }
                }
            }
            Phase::Logout(_) => ClientState::LoggingOut,
            Phase::Ended => ClientState::Ended,
        }
    }

    /// Returns the end of the lease: ¾ CT after the sending of the last confirmed renewal. From then on the client
    /// holds nothing, even if no input has told it the time. Returns `None` if the session is not live.
    pub fn lease(&self) -> Option<Instant> {
        self.phase.session()?.renewal.lease()
    }

    /// Returns since when the session is live, or `None` if it is not.
    pub fn live_since(&self) -> Option<Instant> {
        self.phase.session()?.renewal.live_since()
    }

    /// Returns the session's configuration, or `None` if there is no session.
    pub fn configuration(&self) -> Option<&Configuration> {
        let session = self.phase.session()?;
        Some(&session.configuration)
    }

    /// Returns a token that is held and not being returned. The result is valid only before the end of the
    /// [lease](Self::lease).
    pub fn held_token(&self, name: &[u8]) -> Option<HeldToken<'_>> {
        match self.phase.session()?.tokens.by_name.get(name)? {
            TokenState::Held(held) if !held.is_to_return() => Some(HeldToken {
                access: held.hold.access,
                fence: held.hold.fence,
                data: &held.hold.data,
            }),
            TokenState::Held(_) | TokenState::Awaited(_) | TokenState::Returning(_) => None,
        }
    }
}
