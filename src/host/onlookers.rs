//! Clients of the control socket that look on: they ask for the status, and to be told what happens.

use ring_proto::time::{Instant, Now};

use super::{ClientId, Recent, Server, Watchers};
use crate::control::{OwnRequest, PROTOCOL, Reply, Request, Version};

/// How to answer a request.
#[derive(Debug)]
pub enum Reaction {
    /// Send this reply.
    Reply(Reply),
    /// The reply follows later.
    Later,
    /// Reply with the status.
    Status,
    /// Reply with the status, as it is after the latest event.
    Snapshot,
}

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
    #[must_use]
    pub fn new(refusal: &'static str) -> Self {
        Self {
            watchers: Watchers::default(),
            lasting: Vec::new(),
            refusal,
        }
    }

    /// Returns how to answer a request.
    pub fn answer<R: OwnRequest, E: Clone>(
        &mut self,
        client: ClientId,
        request: &Request<R>,
        events: &Recent<E>,
    ) -> Reaction {
        match *request {
            Request::Version => Reaction::Reply(Reply::Version(Version {
                protocol: PROTOCOL,
                ringd: env!("CARGO_PKG_VERSION").to_owned(),
                interface: None,
            })),
            Request::Status => Reaction::Status,
            Request::Watch { .. } if self.watchers.include(client) => {
                error("this connection watches already; open another one")
            }
            Request::Watch { from, turns } => {
                self.lasting.push(client);
                if self.watchers.add(client, from, turns, events) {
                    Reaction::Later
                } else {
                    Reaction::Snapshot
                }
            }
            _ => error(self.refusal),
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

fn error(why: &str) -> Reaction {
    Reaction::Reply(Reply::Error(why.to_owned()))
}
