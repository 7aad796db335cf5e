//! Asking all clients what they hold (`docs/ftn.md`, section 4).

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use crate::backoff::Backoff;
use crate::ftn::server::knowledge::{Gained, Part, Parts};
use crate::ftn::server::options::{GAINED_BYTES, PART_BYTES};
use crate::ftn::{RETRY, RETRY_MAX};
use crate::time::Instant;

/// What ends with a survey.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Survey {
    configuration: u64,
    /// The server is BOOTING: it also awaits what the others hand over.
    is_booting: bool,
    awaited: BTreeMap<i32, Awaited>,
    /// How many parts of the answers of `awaited` have come.
    parts: usize,
    /// When to ask whom again.
    due: BTreeSet<(Instant, i32)>,
    /// What has come of the TRANSFER of each server that is to send one.
    transfers: BTreeMap<usize, Parts>,
    /// What is known of the tokens that the server did not know.
    gained: BTreeMap<u32, Gained>,
}

/// A session whose answer is awaited.
#[derive(Debug, Clone, Hash)]
struct Awaited {
    address: SocketAddr,
    /// `None`: it is to be asked for the first time.
    backoff: Option<Backoff>,
    parts: Parts,
}

/// What a part of a session's answer has led to.
pub(crate) struct Answered {
    pub(crate) part: Part,
    /// The session has answered all.
    pub(crate) is_whole: bool,
    /// How many parts have come.
    pub(crate) parts: usize,
}

impl Survey {
    /// A survey for a configuration. `senders`: the servers that hand over tokens.
    pub(crate) fn new(
        configuration: u64,
        is_booting: bool,
        senders: impl Iterator<Item = usize>,
    ) -> Self {
        Self {
            configuration,
            is_booting,
            awaited: BTreeMap::new(),
            parts: 0,
            due: BTreeSet::new(),
            transfers: senders.map(|server| (server, Parts::default())).collect(),
            gained: BTreeMap::new(),
        }
    }

    /// The configuration that it is for.
    pub(crate) const fn configuration(&self) -> u64 {
        self.configuration
    }

    /// Whether the server was BOOTING when it began.
    pub(crate) const fn is_booting(&self) -> bool {
        self.is_booting
    }

    /// The sessions whose answers are awaited.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = i32> {
        self.awaited.keys().copied()
    }

    /// Whether the answer of a session is awaited.
    pub(crate) fn awaits(&self, id: i32) -> bool {
        self.awaited.contains_key(&id)
    }

    /// Whether all that is awaited has come.
    pub(crate) fn is_whole(&self) -> bool {
        self.awaited.is_empty() && self.transfers.values().all(Parts::is_whole)
    }

    /// Whether other servers hand over tokens.
    #[cfg(debug_assertions)]
    pub(crate) fn has_senders(&self) -> bool {
        !self.transfers.is_empty()
    }

    /// A part of the tokens that another server hands over. Without one that is awaited all parts have come before.
    pub(crate) fn take_transfer(&mut self, server: usize, part: u32, of: u32) -> Part {
        let parts = self.transfers.get_mut(&server);
        parts.map_or(Part::Duplicate, |parts| parts.take(part, of))
    }

    /// Whether it is about a token.
    pub(crate) fn has(&self, id: u32) -> bool {
        self.gained.contains_key(&id)
    }

    /// The tokens that it is about.
    #[cfg(debug_assertions)]
    pub(crate) fn tokens(&self) -> impl Iterator<Item = u32> {
        self.gained.keys().copied()
    }

    /// Whether it is about a token of which only clients have said anything.
    pub(crate) fn is_known_by_clients_only(&self, id: u32) -> bool {
        let gained = self.gained.get(&id);
        gained.is_some_and(|gained| !gained.has_data_of_servers())
    }

    /// It is about this token as well.
    pub(crate) fn gain(&mut self, id: u32, gained: Gained) {
        self.gained.insert(id, gained);
    }

    pub(crate) fn gained_mut(&mut self, id: u32) -> Option<&mut Gained> {
        self.gained.get_mut(&id)
    }

    /// What has become known of each token.
    pub(crate) fn into_gained(self) -> BTreeMap<u32, Gained> {
        self.gained
    }

    /// A session is to be asked.
    pub(crate) fn add(&mut self, now: Instant, id: i32, address: SocketAddr) {
        let awaited = Awaited {
            address,
            backoff: None,
            parts: Parts::default(),
        };
        self.awaited.insert(id, awaited);
        self.due.insert((now, id));
    }

    /// A session has answered, or is no more.
    pub(crate) fn remove(&mut self, id: i32) {
        let Some(awaited) = self.awaited.remove(&id) else {
            return;
        };
        self.parts -= awaited.parts.len();
        if let Some(backoff) = awaited.backoff {
            self.due.remove(&(backoff.due(), id));
        }
    }

    /// A part of a session's answer, which is no longer awaited once all have come; `None`: none is awaited.
    pub(crate) fn take(&mut self, id: i32, part: u32, of: u32) -> Option<Answered> {
        let awaited = self.awaited.get_mut(&id)?;
        let part = awaited.parts.take(part, of);
        self.parts += usize::from(part == Part::New);
        let (is_whole, parts) = (awaited.parts.is_whole(), awaited.parts.len());
        if is_whole {
            self.remove(id);
        }
        Some(Answered {
            part,
            is_whole,
            parts,
        })
    }

    /// What it takes until its end, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.gained.len() * GAINED_BYTES + self.parts * PART_BYTES
    }

    /// When somebody is to be asked.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// The next that is to be asked by `now`.
    pub(crate) fn next(&mut self, now: Instant) -> Option<(i32, SocketAddr)> {
        loop {
            let (due, id) = self.due.first().copied().filter(|(due, _)| *due <= now)?;
            self.due.remove(&(due, id));
            let Some(awaited) = self.awaited.get_mut(&id) else {
                continue;
            };
            let backoff = match awaited.backoff {
                None => Backoff::new(now, RETRY),
                Some(mut backoff) => {
                    backoff.repeated(now, RETRY_MAX);
                    backoff
                }
            };
            awaited.backoff = Some(backoff);
            self.due.insert((backoff.due(), id));
            return Some((id, awaited.address));
        }
    }
}
