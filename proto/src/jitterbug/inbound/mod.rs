//! The inbound connections: at most 16, and one per source address (`docs/jitterbug/protocol/messages.md` X3, X4).

mod exchange;
pub(crate) mod list_reader;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::StreamId;
use crate::time::Instant;

pub(crate) use exchange::{Exchange, ReadProgress, ReceivedToken, TokenOffer};

/// The number of exchanges is limited, because each exchange may hold `max_data` bytes.
const EXCHANGES_MAX: usize = 16;

/// The exchanges with givers.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    open: BTreeMap<StreamId, Exchange>,
}

impl Inbound {
    /// Adds a connection. Returns the connections that the caller must reset. The new connection may be among them.
    pub(crate) fn accept(
        &mut self,
        id: StreamId,
        from: IpAddr,
        now: Instant,
    ) -> Vec<(StreamId, IpAddr)> {
        // A giver opens one connection at a time. A second connection means that the giver has given up the first
        // connection.
        let same = self.open.iter().find(|(_, it)| it.from() == from);
        let mut victim = same.map(|(&id, _)| id);
        if victim.is_none() && self.open.len() >= EXCHANGES_MAX {
            // A complete TP1 comes from a real giver, so only an exchange without a complete TP1 may be replaced.
            let opening = self.open.iter().filter(|(_, it)| it.is_opening());
            let oldest = opening.min_by_key(|&(&id, it)| (it.accept_time(), id));
            let Some((&oldest, _)) = oldest else {
                // All open exchanges are of real givers, so the new connection gives way.
                return vec![(id, from)];
            };
            victim = Some(oldest);
        }
        let mut reset = Vec::new();
        if let Some(victim) = victim
            && let Some(exchange) = self.open.remove(&victim)
        {
            reset.push((victim, exchange.from()));
        }
        self.open.insert(id, Exchange::new(from, now));
        reset
    }

    pub(crate) fn get_mut(&mut self, id: StreamId) -> Option<&mut Exchange> {
        self.open.get_mut(&id)
    }

    pub(crate) fn remove(&mut self, id: StreamId) -> Option<Exchange> {
        self.open.remove(&id)
    }

    /// Whether this node answered the TP1 of an open exchange.
    pub(crate) fn has_answered(&self) -> bool {
        self.open.values().any(Exchange::is_answered)
    }

    /// Whether an exchange delays the next pass.
    pub(crate) fn blocks_pass(&self) -> bool {
        self.open.values().any(Exchange::blocks_pass)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether an exchange waits for the end of a pass.
    pub(crate) fn has_held(&self) -> bool {
        self.open.values().any(Exchange::is_held)
    }

    pub(crate) fn givers(&self) -> impl Iterator<Item = IpAddr> {
        self.open.values().map(Exchange::from)
    }

    /// Whether each giver has at most one exchange, and whether the number of exchanges is within the limit.
    pub(crate) fn is_sound(&self) -> bool {
        let givers: std::collections::BTreeSet<_> = self.givers().collect();
        givers.len() == self.open.len() && self.open.len() <= EXCHANGES_MAX
    }

    /// Returns the exchanges that delay the next pass.
    pub(crate) fn blocking_exchanges(&self) -> Vec<StreamId> {
        self.streams_where(Exchange::blocks_pass)
    }

    /// Releases all held exchanges, and returns them.
    pub(crate) fn release(&mut self) -> Vec<StreamId> {
        let held = self.streams_where(Exchange::is_held);
        self.open.values_mut().for_each(Exchange::release);
        held
    }

    /// Returns the exchanges that were accepted at least `time` ago.
    pub(crate) fn overdue_exchanges(&self, now: Instant, time: Duration) -> Vec<StreamId> {
        self.streams_where(|exchange| exchange.is_late(now, time))
    }

    pub(crate) fn streams(&self) -> Vec<StreamId> {
        self.streams_where(|_| true)
    }

    /// Returns the time at which the node accepted the oldest exchange.
    pub(crate) fn oldest_accepted(&self) -> Option<Instant> {
        self.open.values().map(Exchange::accept_time).min()
    }

    fn streams_where(&self, are: impl Fn(&Exchange) -> bool) -> Vec<StreamId> {
        let those = self.open.iter().filter(|(_, it)| are(it));
        those.map(|(&id, _)| id).collect()
    }
}
