//! The checks of a received STATE (`docs/token-service/protocol/numbers.md` N8).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::str;

use ring_codec::List;
use ring_codec::ftn::{ListedSession, ServerState};

use crate::ftn::Configuration;
use crate::ftn::server::group::{configuration_of, seq_of};

/// A received STATE.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StateMessage<'a> {
    pub(crate) seq: i128,
    pub(crate) leader: i64,
    pub(crate) states: List<'a, ServerState>,
    pub(crate) clients: List<'a, ListedSession<'a>>,
}

impl StateMessage<'_> {
    /// Returns the configuration's number. Returns `None` if the fields contradict each other, or if this sender cannot
    /// have this number.
    pub(crate) fn number(&self, sender: usize, servers: usize) -> Option<u64> {
        let number = configuration_of(self.seq)?;
        let is_legal = i64::try_from(number) == Ok(self.leader)
            // A leader uses only numbers that name it.
            && number % servers as u64 == sender as u64
            && self.states.len() == servers
            // Rounds begin with 1. A seq with the round 0 only names a configuration.
            && self.seq > seq_of(number);
        is_legal.then_some(number)
    }

    pub(crate) fn configuration(&self, number: u64) -> Configuration {
        Configuration::new(number, self.states.iter().collect::<Vec<_>>())
    }

    /// Returns the sessions, or `None` if an entry is invalid.
    pub(crate) fn sessions(&self) -> Option<BTreeMap<i32, SocketAddr>> {
        let read = |ListedSession { id, address }: ListedSession<'_>| {
            let address = str::from_utf8(address).ok()?.parse().ok()?;
            // In CONFIG the id 0 means that there is no session.
            (id > 0).then_some((id, address))
        };
        self.clients.iter().map(read).collect()
    }
}
