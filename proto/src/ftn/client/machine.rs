//! The client's data, and how the driver's calls get to the rules.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use ring_codec::ftn::Access;

use super::{Command, Event, Net, Options};
use crate::ftn::Configuration;
use crate::time::{Instant, Now};
use crate::{Machine, Sent, Stored, Ticket, Transmit};

/// A client of the token service. See [the contract](crate#contract) of its calls.
#[derive(Debug, Clone)]
pub struct Client {
    options: Options,
}

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
    pub fence: Option<u64>,
    /// Its data, as granted or last updated and confirmed.
    pub data: &'a [u8],
}

impl Client {
    /// A client that has no socket yet.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        Self { options }
    }

    /// What it was started with.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// What it is doing.
    #[must_use]
    pub const fn standing(&self) -> Standing {
        Standing::NoSocket
    }

    /// Until when the session is live unless another renewal is confirmed: ¾ CT after the sending of the last
    /// confirmed one. From then on nothing is held, whether or not the machine has been told that time has passed.
    /// `None`: it is not live.
    #[must_use]
    pub const fn lease(&self) -> Option<Instant> {
        None
    }

    /// Since when the session is live.
    #[must_use]
    pub const fn live_since(&self) -> Option<Instant> {
        None
    }

    /// The configuration that the session goes by.
    #[must_use]
    pub const fn configuration(&self) -> Option<&Configuration> {
        None
    }

    /// A token that is held and not on its way back; to be used only before the [lease](Self::lease) is over.
    #[must_use]
    pub const fn holding(&self, _name: &[u8]) -> Option<Holding<'_>> {
        None
    }
}

impl Machine for Client {
    type Peer = SocketAddr;
    type Net = Net;
    type Command = Command;
    type Event = Event;
    type Durable = Infallible;
    type Job = Infallible;

    fn handle_message(&mut self, _: Now, _: SocketAddr, _: &[u8], _: Duration) {}
    fn handle_command(&mut self, _: Now, _: Command) {}
    fn handle_link(&mut self, _: Now, _: Net) {}
    fn handle_timeout(&mut self, _: Now) {}
    fn handle_sent(&mut self, _: Now, _: Ticket, _: Sent) {}
    fn handle_stored(&mut self, _: Now, _: Stored) {}
    fn poll_durable(&mut self) -> Option<Infallible> {
        None
    }
    fn poll_transmit(&mut self, _: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        None
    }
    fn poll_event(&mut self) -> Option<Event> {
        None
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}
