//! Clients that watch events.

use ring_control::Reply;
use ring_proto::time::Instant;

use super::{Reaction, Recent, Server};
use ring_process::ClientId;

/// Maximum events that one client gets in one turn of the loop.
const EVENTS: usize = 64;

/// A client that watches events.
#[derive(Debug, Clone, Copy)]
struct Watcher {
    client: ClientId,
    /// The number of the next event for it,
    next: u64,
    /// routine included or not.
    routine: bool,
}

/// All clients that watch.
#[derive(Debug, Default)]
pub struct Watchers(Vec<Watcher>);

impl Watchers {
    /// Whether a client watches.
    pub fn include(&self, client: ClientId) -> bool {
        self.0.iter().any(|watcher| watcher.client == client)
    }

    /// Adds a client, which gets all events from event `from` on if that is still retained, and otherwise a
    /// snapshot and all from now on. Its connection may be silent from then on. One that watches already is told so.
    pub fn add<E: Clone, C>(
        &mut self,
        client: ClientId,
        from: Option<u64>,
        routine: bool,
        events: &Recent<E>,
    ) -> Reaction<C> {
        if self.include(client) {
            return Reaction::error("this connection watches already; open another one");
        }
        let known = from.filter(|&from| events.has(from, routine));
        self.0.push(Watcher {
            client,
            next: known.unwrap_or(events.latest() + 1),
            routine,
        });
        match known {
            Some(_) => Reaction::Later,
            None => Reaction::Snapshot,
        }
    }

    /// Removes a client.
    pub fn forget(&mut self, client: ClientId) {
        self.0.retain(|watcher| watcher.client != client);
    }

    /// Sends each client the events that it has not had yet, a bounded number of them.
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
