//! A server or a client as one state machine, for the simulator and the model checker.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use super::{client, server};
use crate::time::{Instant, Now};
use crate::{Machine, SendOutcome, StoreOutcome, Ticket, Transmit};

/// A server or a client.
#[derive(Debug, Clone, Hash)]
pub enum Endpoint {
    /// A server.
    Server(Box<server::Server>),
    /// A client.
    Client(Box<client::Client>),
}

/// State of the network of a server or a client.
#[derive(Debug, Clone, Copy)]
pub enum Net {
    /// Network of a server.
    Server(server::NetworkState),
    /// Network of a client.
    Client(client::SocketState),
}

/// Command to a server or a client.
#[derive(Debug, Clone)]
pub enum Command {
    /// Command to a server.
    Server(server::Command),
    /// Command to a client.
    Client(client::Command),
}

/// Event of a server or a client.
#[derive(Debug, Clone)]
pub enum Event {
    /// Event of a server.
    Server(server::Event),
    /// Event of a client.
    Client(client::Event),
}

impl Endpoint {
    /// Returns the server, or `None` if the endpoint is a client.
    pub const fn server(&self) -> Option<&server::Server> {
        match self {
            Self::Server(server) => Some(server),
            Self::Client(_) => None,
        }
    }

    /// Returns the client, or `None` if the endpoint is a server.
    pub const fn client(&self) -> Option<&client::Client> {
        match self {
            Self::Client(client) => Some(client),
            Self::Server(_) => None,
        }
    }
}

impl Machine for Endpoint {
    type Peer = SocketAddr;
    type Net = Net;
    type Command = Command;
    type Event = Event;
    // A client stores no value, so an endpoint uses the type of a server.
    type Durable = server::Durable;
    type Job = Infallible;

    fn can_batch_output(&self) -> bool {
        match self {
            Self::Server(server) => server.can_batch_output(),
            Self::Client(client) => client.can_batch_output(),
        }
    }

    fn handle_message(&mut self, now: Now, from: SocketAddr, message: &[u8], age: Duration) {
        match self {
            Self::Server(server) => server.handle_message(now, from, message, age),
            Self::Client(client) => client.handle_message(now, from, message, age),
        }
    }

    fn handle_command(&mut self, now: Now, command: Command) {
        match (self, command) {
            (Self::Server(server), Command::Server(command)) => server.handle_command(now, command),
            (Self::Client(client), Command::Client(command)) => client.handle_command(now, command),
            // A command for the other kind of machine is a mistake of the caller, and changes nothing.
            _ => {}
        }
    }

    fn handle_link(&mut self, now: Now, net: Net) {
        match (self, net) {
            (Self::Server(server), Net::Server(net)) => server.handle_link(now, net),
            (Self::Client(client), Net::Client(net)) => client.handle_link(now, net),
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Now) {
        match self {
            Self::Server(server) => server.handle_timeout(now),
            Self::Client(client) => client.handle_timeout(now),
        }
    }

    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: SendOutcome) {
        match self {
            Self::Server(server) => server.handle_sent(now, ticket, sent),
            Self::Client(client) => client.handle_sent(now, ticket, sent),
        }
    }

    fn handle_stored(&mut self, now: Now, stored: StoreOutcome) {
        match self {
            Self::Server(server) => server.handle_stored(now, stored),
            Self::Client(client) => client.handle_stored(now, stored),
        }
    }

    fn poll_durable(&mut self) -> Option<server::Durable> {
        match self {
            Self::Server(server) => server.poll_durable(),
            // A client stores nothing.
            Self::Client(_) => None,
        }
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<SocketAddr>> {
        match self {
            Self::Server(server) => server.poll_transmit(buf),
            Self::Client(client) => client.poll_transmit(buf),
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Server(server) => server.poll_event().map(Event::Server),
            Self::Client(client) => client.poll_event().map(Event::Client),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self {
            Self::Server(server) => server.poll_timeout(),
            Self::Client(client) => client.poll_timeout(),
        }
    }
}
