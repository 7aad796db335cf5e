//! The loop's side of the page: what its requests ask, and what they are answered.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{self, Receiver};

use ring_host::{Error, SYSTEM};
use ring_proto::andrews::Command;
use ring_proto::time::Instant;
use ring_runtime::wait::Waiting;
use ring_runtime::worker::Bell;

use crate::http::{self, Asked, Clients, Counter, Listeners, Replies};
use crate::posts::Desk;

/// Requests that wait for the loop.
#[derive(Debug)]
pub(super) struct Web {
    asked: Receiver<Asked>,
    bell: Arc<Bell>,
    waiting: VecDeque<Asked>,
    listeners: Arc<Listeners>,
    /// What the machine was told last of whether there are any.
    has_listeners: bool,
    /// The server's, until it is started.
    server: Option<(TcpListener, Counter)>,
}

impl Web {
    /// Binds an address. Nobody is served yet. Browsers may ask for the node by its addresses and by these names.
    pub(super) fn bind(
        address: SocketAddr,
        names: Vec<String>,
        clients: Clients,
        desk: Arc<Desk>,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let (sender, asked) = mpsc::channel();
        let (bell, listeners) = (Arc::new(Bell::new()?), Arc::new(Listeners::default()));
        let counter = Counter {
            asked: sender,
            bell: Arc::clone(&bell),
            desk,
            names,
            clients,
            listeners: Arc::clone(&listeners),
            last: AtomicU64::new(0),
        };
        Ok(Self {
            asked,
            bell,
            waiting: VecDeque::new(),
            listeners,
            has_listeners: false,
            server: Some((listener, counter)),
        })
    }

    /// Those who listen.
    pub(super) fn listeners(&self) -> Arc<Listeners> {
        Arc::clone(&self.listeners)
    }

    /// Serves from now on.
    pub(super) fn start(&mut self, waiting: &Waiting) -> Result<(), Error> {
        waiting.add(&*self.bell, SYSTEM)?;
        let Some((listener, counter)) = self.server.take() else {
            return Ok(());
        };
        http::start(listener, counter)
            .map_err(Error::system("start the thread that serves the page"))
    }

    /// The bell has rung.
    pub(super) fn heard(&mut self) {
        self.bell.silence();
        self.waiting.extend(self.asked.try_iter());
    }

    /// When to go on at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then(Instant::default)
    }

    /// The next command for the machine. `status` makes the status, for who asks for it.
    pub(super) fn next(
        &mut self,
        replies: &mut Replies,
        mut status: impl FnMut() -> String,
    ) -> Option<Command> {
        while let Some(asked) = self.waiting.pop_front() {
            match asked {
                Asked::Request(request, reply) => {
                    replies.insert(request.id, reply);
                    return Some(Command::Request(request));
                }
                // Who asked may have gone.
                Asked::Ring(reply) => drop(reply.send(status())),
            }
        }
        let has_listeners = self.listeners.is_any();
        if has_listeners == self.has_listeners {
            return None;
        }
        self.has_listeners = has_listeners;
        Some(Command::Listeners(has_listeners))
    }

    /// The node has changed.
    pub(super) fn tell(&self, status: impl FnOnce() -> String) {
        if self.has_listeners {
            self.listeners.tell_ring(&status());
        }
    }
}
