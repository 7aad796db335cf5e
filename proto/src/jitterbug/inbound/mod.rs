//! The inbound connections: at most 16, one an address (`docs/jitterbug.md`, section 11).

mod exchange;
pub(crate) mod list_reader;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::StreamId;
use crate::time::Instant;

pub(crate) use exchange::{Exchange, Offer, Progress, Token};

/// The most that are open.
const MOST: usize = 16;

/// The exchanges with givers.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    open: BTreeMap<StreamId, Exchange>,
}

impl Inbound {
    /// Takes up a connection. Returns those that are to be reset for it, itself perhaps.
    pub(crate) fn accept(
        &mut self,
        id: StreamId,
        from: IpAddr,
        now: Instant,
    ) -> Vec<(StreamId, IpAddr)> {
        let same = self.open.iter().find(|(_, it)| it.from() == from);
        let mut victim = same.map(|(&id, _)| id);
        if victim.is_none() && self.open.len() >= MOST {
            let opening = self.open.iter().filter(|(_, it)| it.is_opening());
            let oldest = opening.min_by_key(|&(&id, it)| (it.accepted(), id));
            let Some((&oldest, _)) = oldest else {
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

    /// Whether a TP1 was answered whose exchange is open.
    pub(crate) fn has_answered(&self) -> bool {
        self.open.values().any(Exchange::is_answered)
    }

    /// Whether an exchange keeps a pass waiting.
    pub(crate) fn is_in_the_way(&self) -> bool {
        self.open.values().any(Exchange::is_in_the_way)
    }

    #[cfg(debug_assertions)]
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether an exchange was put off.
    #[cfg(debug_assertions)]
    pub(crate) fn is_holding(&self) -> bool {
        self.open.values().any(Exchange::is_held)
    }

    #[cfg(debug_assertions)]
    pub(crate) fn givers(&self) -> impl Iterator<Item = IpAddr> {
        self.open.values().map(Exchange::from)
    }

    /// Whether no giver has two exchanges, and no more are open than may be.
    #[cfg(debug_assertions)]
    pub(crate) fn is_sound(&self) -> bool {
        let givers: std::collections::BTreeSet<_> = self.givers().collect();
        givers.len() == self.open.len() && self.open.len() <= MOST
    }

    /// Those that keep a pass waiting.
    pub(crate) fn in_the_way(&self) -> Vec<StreamId> {
        self.those(Exchange::is_in_the_way)
    }

    /// Lets all that were held go on, and returns them.
    pub(crate) fn release(&mut self) -> Vec<StreamId> {
        let held = self.those(Exchange::is_held);
        self.open.values_mut().for_each(Exchange::release);
        held
    }

    /// Those that were accepted `time` ago or earlier.
    pub(crate) fn late(&self, now: Instant, time: Duration) -> Vec<StreamId> {
        self.those(|exchange| exchange.is_late(now, time))
    }

    pub(crate) fn all(&self) -> Vec<StreamId> {
        self.those(|_| true)
    }

    /// When the first was accepted.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.open.values().map(Exchange::accepted).min()
    }

    fn those(&self, are: impl Fn(&Exchange) -> bool) -> Vec<StreamId> {
        let those = self.open.iter().filter(|(_, it)| are(it));
        those.map(|(&id, _)| id).collect()
    }
}
