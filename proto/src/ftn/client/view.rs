//! What a program can see of its client.

use ring_codec::ftn::Access;

use super::Client;
use super::holding::Token;
use super::phase::Phase;
use crate::ftn::Configuration;
use crate::time::Instant;

/// What a client is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It waits for a socket.
    NoSocket,
    /// It asks for a session.
    Login {
        /// How many servers have answered so far.
        answered: usize,
        /// Whether somebody was heard that has another list of servers.
        other_list: bool,
    },
    /// It has an id, and waits for the confirmation of its first renewal.
    Proving {
        /// The session's id.
        session: i32,
    },
    /// It has a session.
    Live {
        /// The session's id.
        session: i32,
    },
    /// It ends its session.
    LoggingOut,
    /// It has ended its session.
    Ended,
}

/// A token that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding<'a> {
    /// How it is held.
    pub access: Access,
    /// The fencing number of the grant, if one was asked for.
    pub fence: Option<u128>,
    /// Its data, as granted or last updated and confirmed.
    pub data: &'a [u8],
}

impl Client {
    /// What it is doing.
    pub fn standing(&self) -> Standing {
        match &self.phase {
            Phase::NoSocket { .. } => Standing::NoSocket,
            Phase::Login(login) => Standing::Login {
                answered: login.answered(),
                other_list: login.other_list(),
            },
            Phase::Session(session) => {
                let (id, is_live) = (session.id, session.is_live());
                if is_live {
                    Standing::Live { session: id }
                } else {
                    Standing::Proving { session: id }
                }
            }
            Phase::Logout(_) => Standing::LoggingOut,
            Phase::Ended => Standing::Ended,
        }
    }

    /// Until when the session is live unless another renewal is confirmed: ¾ CT after the sending of the last
    /// confirmed one. From then on nothing is held, whether or not the machine has been told that time has passed.
    /// `None`: it is not live.
    pub fn lease(&self) -> Option<Instant> {
        self.phase.session()?.renewal.lease()
    }

    /// Since when the session is live; `None`: it is not.
    pub fn live_since(&self) -> Option<Instant> {
        self.phase.session()?.renewal.live_since()
    }

    /// The configuration that the session goes by; `None`: there is no session.
    pub fn configuration(&self) -> Option<&Configuration> {
        let session = self.phase.session()?;
        Some(&session.configuration)
    }

    /// A token that is held and not on its way back; to be used only before the [lease](Self::lease) is over.
    pub fn holding(&self, name: &[u8]) -> Option<Holding<'_>> {
        match self.phase.session()?.tokens.known.get(name)? {
            Token::Held(held) if !held.is_to_leave() => Some(Holding {
                access: held.hold.access,
                fence: held.hold.fence,
                data: &held.hold.data,
            }),
            Token::Held(_) | Token::Awaited(_) | Token::Leaving(_) => None,
        }
    }
}
