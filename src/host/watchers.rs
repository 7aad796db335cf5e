//! Clients that are told what happens.

use ring_proto::time::Instant;

use super::{ClientId, Recent, Server};
use crate::control::Reply;

/// The most events that one client is told in one round.
const EVENTS: usize = 64;

/// A client that watches.
#[derive(Debug, Clone, Copy)]
struct Watcher {
    client: ClientId,
    /// It is told the events from this number on,
    next: u64,
    /// routine included or not.
    routine: bool,
}

/// Those who watch.
#[derive(Debug, Default)]
pub struct Watchers(Vec<Watcher>);

impl Watchers {
    /// Whether a client watches.
    #[must_use]
    pub fn include(&self, client: ClientId) -> bool {
        self.0.iter().any(|watcher| watcher.client == client)
    }

    /// A client is told all that happens from now on, or from an event on that is still remembered. Returns
    /// whether it goes on where it was; if not it is to be told first how things are.
    pub fn add<E: Clone>(
        &mut self,
        client: ClientId,
        from: Option<u64>,
        routine: bool,
        events: &Recent<E>,
    ) -> bool {
        let known = from.filter(|&from| events.has(from, routine));
        self.0.push(Watcher {
            client,
            next: known.unwrap_or(events.latest() + 1),
            routine,
        });
        known.is_some()
    }

    /// A client is gone.
    pub fn forget(&mut self, client: ClientId) {
        self.0.retain(|watcher| watcher.client != client);
    }

    /// Tells each what it was not told yet, a bounded number of events.
    pub fn tell<E: Clone>(
        &mut self,
        now: Instant,
        clients: &mut Server,
        events: &Recent<E>,
        message: impl Fn(&E, u64) -> Reply,
    ) {
        for watcher in &mut self.0 {
            for _ in 0..EVENTS {
                let Some((number, event)) = events.next(watcher.next, watcher.routine) else {
                    break;
                };
                watcher.next = number + 1;
                clients.tell(now, watcher.client, &message(event, number));
            }
        }
    }
}
