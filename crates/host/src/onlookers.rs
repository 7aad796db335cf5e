//! Clients that only observe a node: they ask for the status, or they watch events.

use ring_control::{Reply, Request, SystemRequest};
use ring_proto::time::{Instant, Now};

use super::{Reaction, Recent, Server, Watchers};
use ring_process::ClientId;

/// The clients of a node that answers only requests for the status and for events.
#[derive(Debug)]
pub struct Onlookers {
    watchers: Watchers,
    /// Clients whose connections may be silent. The server does not know this yet.
    silent_clients: Vec<ClientId>,
    /// Reply to all other requests.
    refusal: &'static str,
}

impl Onlookers {
    /// Makes an empty set. `refusal` is the reply to any other request.
    pub fn new(refusal: &'static str) -> Self {
        Self {
            watchers: Watchers::default(),
            silent_clients: Vec::new(),
            refusal,
        }
    }

    /// Returns the answer to a request.
    pub fn answer<R: SystemRequest, E: Clone, C>(
        &mut self,
        client: ClientId,
        request: &Request<R>,
        events: &Recent<E>,
    ) -> Reaction<C> {
        match *request {
            Request::Version => Reaction::version(None),
            Request::Status => Reaction::Status,
            Request::Watch { from, turns } => {
                self.silent_clients.push(client);
                self.watchers.add(client, from, turns, events)
            }
            _ => Reaction::error(self.refusal),
        }
    }

    /// Sends new events to watchers.
    pub fn serve<E: Clone>(
        &mut self,
        now: Now,
        server: &mut Server,
        events: &Recent<E>,
        message: impl Fn(&E, u64) -> Reply,
    ) {
        let Now { monotonic, .. } = now;
        self.update_clients(monotonic, server);
        self.watchers
            .send_events(monotonic, server, events, message);
    }

    fn update_clients(&mut self, now: Instant, server: &mut Server) {
        while let Some(client) = server.take_gone() {
            self.watchers.forget(client);
        }
        for client in self.silent_clients.drain(..) {
            server.set_lasting(now, client, true);
        }
    }
}
