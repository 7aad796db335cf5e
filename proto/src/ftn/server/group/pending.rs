//! Ids that were given to clients which have not used them yet (`docs/ftn.md`, section 5).

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use crate::time::Instant;

/// How long an id is kept for its second message.
pub(crate) const PENDING_FOR: Duration = Duration::from_secs(5);
/// How many ids are kept so at most.
pub(crate) const PENDING_MAX: usize = 4_096;

#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct Pending {
    by_address: BTreeMap<SocketAddr, (i32, Instant)>,
    /// By the time that they were given.
    given: VecDeque<(Instant, SocketAddr)>,
}

impl Pending {
    /// Forgets those whose time is over.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some(&(at, address)) = self.given.front() {
            if now.since(at) < PENDING_FOR {
                break;
            }
            self.given.pop_front();
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

    /// The id that was given to an address.
    pub(crate) fn at(&self, address: SocketAddr) -> Option<i32> {
        self.by_address.get(&address).map(|(id, _)| *id)
    }

    pub(crate) fn has(&self, id: i32) -> bool {
        self.by_address.values().any(|(pending, _)| *pending == id)
    }

    pub(crate) fn insert(&mut self, id: i32, address: SocketAddr, now: Instant) {
        self.by_address.insert(address, (id, now));
        self.given.push_back((now, address));
    }

    /// Forgets when ids were given that are in use by now, once they are most: a client may log in and out at any rate.
    fn forget_taken(&mut self) {
        let Self { by_address, given } = self;
        if given.len() > 2 * by_address.len() + PENDING_MAX {
            given.retain(|(at, address)| by_address.get(address).is_some_and(|it| it.1 == *at));
        }
    }

    /// Takes out the id of an address, which has used it.
    pub(crate) fn take(&mut self, id: i32, address: SocketAddr) -> bool {
        let is_pending = self.at(address) == Some(id);
        if is_pending {
            self.by_address.remove(&address);
            self.forget_taken();
        }
        is_pending
    }
}
