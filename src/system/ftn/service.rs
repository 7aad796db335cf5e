//! What clients of the control socket ask a server: its status, and to be told what happens.

use ring_proto::time::Now;

use super::history::{Entry, History};
use crate::control::{NoRequest, PROTOCOL, Reply, Request, Version};
use crate::host::{ClientId, Server, Watchers};

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

/// The clients of the control socket.
#[derive(Debug, Default)]
pub struct Service {
    watchers: Watchers,
    /// Those whose connections may be silent from now on.
    lasting: Vec<ClientId>,
}

impl Service {
    /// Returns how to answer a request.
    pub fn answer(
        &mut self,
        client: ClientId,
        request: &Request<NoRequest>,
        history: &History,
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
                if self.watchers.add(client, from, turns, history.recent()) {
                    Reaction::Later
                } else {
                    Reaction::Snapshot
                }
            }
            _ => error(
                "a server of the token service is asked for its status and its events alone; for tokens ask by \
                 ringctl token",
            ),
        }
    }

    /// Tells watchers what has happened.
    pub fn serve(&mut self, now: Now, server: &mut Server, history: &History) {
        while let Some(client) = server.take_gone() {
            self.watchers.forget(client);
        }
        for client in self.lasting.drain(..) {
            server.set_lasting(now.monotonic, client, true);
        }
        let message = |entry: &Entry, number| Reply::Event(entry.message(number));
        let recent = history.recent();
        self.watchers.tell(now.monotonic, server, recent, message);
    }
}

fn error(why: &str) -> Reaction {
    Reaction::Reply(Reply::Error(why.to_owned()))
}
