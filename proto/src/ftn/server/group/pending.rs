//! Ids that clients have received but not used yet (`docs/token-service/protocol/sessions.md` S8).

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use crate::time::Instant;

/// Time for which an id waits for the client's second message.
pub(crate) const PENDING_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest number of ids that wait.
// Pending ids are bounded in time and number, because LOGINs can be forged.
pub(crate) const PENDING_MAX: usize = 4_096;

#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct PendingIds {
    by_address: BTreeMap<SocketAddr, (i32, Instant)>,
    /// Addresses in the order in which they got ids.
    issued: VecDeque<(Instant, SocketAddr)>,
}

impl PendingIds {
    /// Deletes expired ids.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(&(at, address)) = self.issued.front() {
            if now.since(at) < PENDING_TIMEOUT {
                break;
            }
            self.issued.pop_front();
            // The address may have received another id since then.
            if self
                .by_address
                .get(&address)
                .is_some_and(|(_, since)| *since == at)
            {
                self.by_address.remove(&address);
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.by_address.len()
    }

    pub(crate) fn id_of(&self, address: SocketAddr) -> Option<i32> {
        self.by_address.get(&address).map(|(id, _)| *id)
    }

    pub(crate) fn has_id(&self, id: i32) -> bool {
        self.by_address.values().any(|(pending, _)| *pending == id)
    }

    pub(crate) fn insert(&mut self, id: i32, address: SocketAddr, now: Instant) {
        self.by_address.insert(address, (id, now));
        self.issued.push_back((now, address));
    }

    // A client may log in and out very often, so entries of used ids must not add up.
    fn compact(&mut self) {
        let Self { by_address, issued } = self;
        if issued.len() > 2 * by_address.len() + PENDING_MAX {
            issued.retain(|(at, address)| by_address.get(address).is_some_and(|it| it.1 == *at));
        }
    }

    /// When an address uses its id, removes the id, and returns whether the id was pending.
    pub(crate) fn take(&mut self, id: i32, address: SocketAddr) -> bool {
        let is_pending = self.id_of(address) == Some(id);
        if is_pending {
            self.by_address.remove(&address);
            self.compact();
        }
        is_pending
    }
}
