//! Clients that watch events.

use ring_control::Reply;
use ring_proto::time::Instant;

use super::{Reaction, Recent, Server};
use ring_process::ClientId;

/// Maximum number of events that one client gets in one loop iteration.
const EVENTS_PER_ITERATION: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Watcher {
    client: ClientId,
    next: u64,
    /// Whether the client gets routine events.
    routine: bool,
}

/// All clients that watch events.
#[derive(Debug, Default)]
pub struct Watchers(Vec<Watcher>);

impl Watchers {
    /// Whether a client watches events.
    pub fn contains(&self, client: ClientId) -> bool {
        self.0.iter().any(|watcher| watcher.client == client)
    }

    /// Adds a client. If the history still contains the event `from`, the client gets this event and all later events.
    /// Otherwise, the client gets a snapshot, and all events after the snapshot. The caller must permit the client to
    /// be silent. A client that already watches events gets an error.
    pub fn add<E: Clone, C>(
        &mut self,
        client: ClientId,
        from: Option<u64>,
        routine: bool,
        events: &Recent<E>,
    ) -> Reaction<C> {
        if self.contains(client) {
            return Reaction::error(
                "this connection already watches events; open another connection",
            );
        }
        let known = from.filter(|&from| events.retains_from(from, routine));
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

    /// Sends each client its next events, up to a maximum.
    pub fn send_events<E: Clone>(
        &mut self,
        now: Instant,
        clients: &mut Server,
        events: &Recent<E>,
        message: impl Fn(&E, u64) -> Reply,
    ) {
        for watcher in &mut self.0 {
            for _ in 0..EVENTS_PER_ITERATION {
                let Some((number, event)) = events.next(watcher.next, watcher.routine) else {
                    break;
                };
                watcher.next = number + 1;
                clients.send(now, watcher.client, &message(event, number));
            }
        }
    }
}
