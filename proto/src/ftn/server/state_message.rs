//! STATE in parts: written by the leader, put together by the others (`docs/ftn.md`, section 2).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::str;

use ring_codec::List;
use ring_codec::ftn::{Client, Message, ServerState};

use super::Server;
use super::view::{configuration_of, seq_of};
use crate::ftn::Configuration;
use crate::time::Instant;

/// More sessions than this go in parts, of so many each.
pub(super) const SESSIONS: usize = 1_000;

/// A STATE as it lies in one datagram.
#[derive(Debug, Clone, Copy)]
pub(super) struct StatePart<'a> {
    pub(super) seq: i64,
    pub(super) leader: i32,
    pub(super) states: List<'a, ServerState>,
    pub(super) clients: List<'a, Client<'a>>,
}

/// A STATE of which all parts are there.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) seq: i64,
    pub(super) configuration: Configuration,
    pub(super) clients: BTreeMap<i32, SocketAddr>,
    /// When its first part came.
    pub(super) arrived: Instant,
}

/// The parts of the newest STATE that is not whole yet.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Assembly {
    seq: i64,
    parts: u32,
    got: BTreeMap<u32, BTreeMap<i32, SocketAddr>>,
    arrived: Instant,
}

impl StatePart<'_> {
    /// The configuration's number, if seq, c and sender agree on it.
    pub(super) fn configuration(&self, sender: usize, servers: usize) -> Option<u32> {
        let number = configuration_of(self.seq)?;
        let is_legal = i64::from(number) == i64::from(self.leader)
            && number as usize % servers == sender
            && self.states.len() == servers
            && self.seq > seq_of(number);
        is_legal.then_some(number)
    }

    /// Its part's number, how many there are, and the sessions; `None`: an entry of it cannot be.
    fn sessions(&self) -> Option<(u32, u32, BTreeMap<i32, SocketAddr>)> {
        let mut clients = self.clients.iter().peekable();
        let (part, parts) = match clients.peek() {
            Some(first) if first.id == 0 => {
                let marker = part_marker(first.address)?;
                clients.next();
                marker
            }
            _ => (0, 1),
        };
        let mut sessions = BTreeMap::new();
        for Client { id, address } in clients {
            let address = str::from_utf8(address).ok()?.parse().ok()?;
            if id <= 0 {
                return None;
            }
            sessions.insert(id, address);
        }
        Some((part, parts, sessions))
    }
}

/// Reads "PART PARTS".
fn part_marker(data: &[u8]) -> Option<(u32, u32)> {
    let (part, parts) = str::from_utf8(data).ok()?.split_once(' ')?;
    let (part, parts) = (part.parse().ok()?, parts.parse().ok()?);
    (part < parts).then_some((part, parts))
}

/// What a part has led to.
#[derive(Debug)]
pub(super) enum Assembled {
    Whole(Whole),
    /// Others are missing.
    Waits,
    /// An entry of it cannot be.
    Malformed,
}

impl Assembly {
    /// Takes a part of a STATE that is newer than any followed.
    pub(super) fn take(&mut self, arrived: Instant, state: &StatePart<'_>) -> Assembled {
        let Some((part, parts, sessions)) = state.sessions() else {
            return Assembled::Malformed;
        };
        if state.seq < self.seq {
            return Assembled::Waits;
        }
        if state.seq > self.seq || parts != self.parts {
            *self = Self {
                seq: state.seq,
                parts,
                got: BTreeMap::new(),
                arrived,
            };
        }
        self.arrived = self.arrived.min(arrived);
        self.got.entry(part).or_insert(sessions);
        if self.got.len() as u64 != u64::from(parts) {
            return Assembled::Waits;
        }
        let mut clients = BTreeMap::new();
        for part in std::mem::take(&mut self.got).into_values() {
            clients.extend(part);
        }
        let states: Vec<ServerState> = state.states.iter().collect();
        // The sender's part agrees with its seq.
        let number = configuration_of(state.seq).unwrap_or_default();
        Assembled::Whole(Whole {
            seq: state.seq,
            configuration: Configuration::new(number, states),
            clients,
            arrived: self.arrived,
        })
    }
}

impl Server {
    /// Sends the present STATE to other servers.
    pub(super) fn send_state(&mut self, to: &[usize]) {
        let Some(configuration) = &self.view.configuration else {
            return;
        };
        let (seq, number) = (self.view.seq, configuration.number());
        let states: Box<[ServerState]> = configuration.states().into();
        // It is a number of a configuration, which fits.
        let leader = i32::try_from(number).unwrap_or(i32::MAX);
        let addresses: Vec<(i32, String)> = self
            .sessions
            .iter()
            .map(|(id, address)| (id, address.to_string()))
            .collect();
        let parts = addresses.len().div_ceil(SESSIONS).max(1);
        for part in 0..parts {
            let sessions = addresses.iter().skip(part * SESSIONS).take(SESSIONS);
            let sessions = sessions.map(|(id, address)| Client {
                id: *id,
                address: address.as_bytes(),
            });
            let marker = format!("{part} {parts}");
            let marker = (parts > 1).then_some(Client {
                id: 0,
                address: marker.as_bytes(),
            });
            let clients: Vec<Client<'_>> = marker.into_iter().chain(sessions).collect();
            for &server in to {
                let message = Message::State {
                    seq,
                    leader,
                    sstates: states[..].into(),
                    clients: clients[..].into(),
                };
                let (Some(address), Ok(index)) =
                    (self.servers.address(server), i32::try_from(server))
                else {
                    continue;
                };
                self.out.send(address, index, message);
            }
        }
    }
}
