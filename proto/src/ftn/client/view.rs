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
        /// Number of servers that answered.
        answered: usize,
        /// Whether any sender has a different list of servers than this client.
        other_list: bool,
    },
    /// The client has an id, but no confirmed renewal.
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
    /// The client ended its session.
    Ended,
}

/// A token that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldToken<'a> {
    /// The access, exclusive or shared.
    pub access: Access,
    /// Fencing number of the grant, if the program requested one.
    pub fence: Option<u128>,
    /// Data of the last confirmed update, or of the grant if no update was confirmed.
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

    /// Returns the end of the lease: ¾ CT after the sending time of the last confirmed renewal. After this time, the
    /// client holds no token, even before its next input. Returns `None` if the session is not live.
    pub fn lease(&self) -> Option<Instant> {
        self.phase.session()?.renewal.lease()
    }

    /// Returns the time at which the session became live, or `None` if the session is not live.
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
            // After `Release` the program no longer has the token, even if the RETURN waits for an update.
            TokenState::Held(held) if !held.is_to_return() => Some(HeldToken {
                access: held.hold.access,
                fence: held.hold.fence,
                data: &held.hold.data,
            }),
            TokenState::Held(_) | TokenState::Awaited(_) | TokenState::Returning(_) => None,
        }
    }
}
