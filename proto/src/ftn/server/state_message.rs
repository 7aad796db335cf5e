//! STATE: written by the leader, read by the others (`docs/ftn.md`, section 2).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::str;

use ring_codec::List;
use ring_codec::ftn::{Client, Message, ServerState};

use super::Server;
use super::view::{configuration_of, seq_of};
use crate::ftn::Configuration;

/// A STATE as it was received.
#[derive(Debug, Clone, Copy)]
pub(super) struct StateMessage<'a> {
    pub(super) seq: i128,
    pub(super) leader: i64,
    pub(super) states: List<'a, ServerState>,
    pub(super) clients: List<'a, Client<'a>>,
}

impl StateMessage<'_> {
    /// The configuration's number, if seq, c and sender agree on it.
    pub(super) fn number(&self, sender: usize, servers: usize) -> Option<u64> {
        let number = configuration_of(self.seq)?;
        let is_legal = i64::try_from(number) == Ok(self.leader)
            && number % servers as u64 == sender as u64
            && self.states.len() == servers
            && self.seq > seq_of(number);
        is_legal.then_some(number)
    }

    /// The configuration `number`, as it is said.
    pub(super) fn configuration(&self, number: u64) -> Configuration {
        Configuration::new(number, self.states.iter().collect::<Vec<_>>())
    }

    /// The sessions; `None`: an entry of it cannot be.
    pub(super) fn sessions(&self) -> Option<BTreeMap<i32, SocketAddr>> {
        let read = |Client { id, address }: Client<'_>| {
            let address = str::from_utf8(address).ok()?.parse().ok()?;
            (id > 0).then_some((id, address))
        };
        self.clients.iter().map(read).collect()
    }
}

impl Server {
    /// Sends the present STATE to other servers.
    pub(super) fn send_state(&mut self, to: &[usize]) {
        let Some(configuration) = &self.view.configuration else {
            return;
        };
        let states: Box<[ServerState]> = configuration.states().into();
        // It is a number of a configuration, which fits.
        let leader = i64::try_from(configuration.number()).unwrap_or(i64::MAX);
        let seq = self.view.seq;
        let addresses: Vec<(i32, String)> = self
            .sessions
            .iter()
            .map(|(id, address)| (id, address.to_string()))
            .collect();
        let clients: Vec<Client<'_>> = addresses
            .iter()
            .map(|(id, address)| Client {
                id: *id,
                address: address.as_bytes(),
            })
            .collect();
        for &server in to {
            let message = Message::State {
                seq,
                leader,
                sstates: states[..].into(),
                clients: clients[..].into(),
            };
            self.send_server(server, message);
        }
    }
}
