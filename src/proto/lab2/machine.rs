//! The machine.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Token};

use super::{Command, Constants, Durable, Event, State};
use crate::proto::time::{Instant, Now};
use crate::proto::{LinkState, Machine, Sent, Ticket, Transmit};

/// The Lab2 machine of one node.
#[derive(Debug)]
pub struct Lab2 {
    constants: Constants,
}

/// A member as people want to see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberView {
    /// Its address on the segment.
    pub mac: MacAddr,
    /// IPv6, IPv4 mapped, or `::`.
    pub ip: [u8; 16],
    /// For how many more turns it is passed over.
    pub penalty: u32,
    /// When its last frame came; `None`: never, it is only heard of.
    pub last_seen: Option<Instant>,
}

impl Lab2 {
    /// A machine whose link is down, with what an earlier run has stored.
    #[must_use]
    pub fn new(constants: Constants, _durable: Durable) -> Self {
        Self { constants }
    }

    /// The constants in force.
    #[must_use]
    pub fn constants(&self) -> &Constants {
        &self.constants
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> State {
        State::Looser
    }

    /// The token held, or else the strongest known.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        None
    }

    /// Who holds the token as far as is known.
    #[must_use]
    pub fn owner(&self) -> Option<MacAddr> {
        None
    }

    /// When the token was last heard of.
    #[must_use]
    pub fn heard_about_token(&self) -> Option<Instant> {
        None
    }

    /// The member table in order of MAC.
    #[must_use]
    pub fn members(&self) -> impl ExactSizeIterator<Item = MemberView> {
        std::iter::empty()
    }

    /// Size and hash of the member table.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest { size: 0, hash: 0 }
    }

    /// Whether a [`Command::ShutDown`] is carried out: nothing is left to send.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        false
    }
}

impl Machine for Lab2 {
    type Command = Command;
    type Event = Event;
    type Durable = Durable;

    fn handle_frame(&mut self, _now: Now, _frame: &[u8], _age: Duration) {}
    fn handle_command(&mut self, _now: Now, _command: Command) {}
    fn handle_link(&mut self, _now: Now, _link: LinkState) {}
    fn handle_timeout(&mut self, _now: Now) {}
    fn handle_sent(&mut self, _now: Now, _ticket: Ticket, _sent: Sent) {}
    fn poll_durable(&mut self) -> Option<Durable> {
        None
    }
    fn poll_transmit(&mut self, _buf: &mut [u8]) -> Option<Transmit> {
        None
    }
    fn poll_event(&mut self) -> Option<Event> {
        None
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
