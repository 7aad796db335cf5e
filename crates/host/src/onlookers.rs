//! Clients of the control socket that look on: they ask for the status, and to be told what happens.

use ring_control::{OwnRequest, Reply, Request};
use ring_proto::time::{Instant, Now};

use super::{Reaction, Recent, Server, Watchers};
use ring_process::ClientId;

/// The clients of the control socket of a system whose nodes are asked for nothing else.
#[derive(Debug)]
pub struct Onlookers {
    watchers: Watchers,
    /// Those whose connections may be silent from now on.
    lasting: Vec<ClientId>,
    /// What is said to who asks for more.
    refusal: &'static str,
}

impl Onlookers {
    /// Nobody yet. `refusal` is what is said to who asks for anything else.
    pub fn new(refusal: &'static str) -> Self {
        Self {
            watchers: Watchers::default(),
            lasting: Vec::new(),
            refusal,
        }
    }

    /// Returns how to answer a request.
    pub fn answer<R: OwnRequest, E: Clone, C>(
        &mut self,
        client: ClientId,
        request: &Request<R>,
        events: &Recent<E>,
    ) -> Reaction<C> {
        match *request {
            Request::Version => Reaction::version(None),
            Request::Status => Reaction::Status,
            Request::Watch { from, turns } => {
                self.lasting.push(client);
                self.watchers.add(client, from, turns, events)
            }
            _ => Reaction::error(self.refusal),
        }
    }

    /// Tells watchers what has happened.
    pub fn serve<E: Clone>(
        &mut self,
        now: Now,
        server: &mut Server,
        events: &Recent<E>,
        message: impl Fn(&E, u64) -> Reply,
    ) {
        let Now { monotonic, .. } = now;
        self.let_go(monotonic, server);
        self.watchers.tell(monotonic, server, events, message);
    }

    fn let_go(&mut self, now: Instant, server: &mut Server) {
        while let Some(client) = server.take_gone() {
            self.watchers.forget(client);
        }
        for client in self.lasting.drain(..) {
            server.set_lasting(now, client, true);
        }
    }
}
