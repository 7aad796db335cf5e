//! The part of the page that runs in the loop. The loop's part of the page receives calls from the server's threads,
//! and returns replies.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{self, Receiver};

use ring_host::{Error, SYSTEM};
use ring_proto::andrews::Command;
use ring_proto::time::Instant;
use ring_runtime::wait::Reactor;
use ring_runtime::worker::WakeUp;

use crate::http::{self, Clients, Listeners, LoopCall, LoopHandle, PageRules, ReplySenders};
use crate::posts::PendingRequests;

/// The calls that wait for the loop.
#[derive(Debug)]
pub(super) struct PageCalls {
    calls: Receiver<LoopCall>,
    bell: Arc<WakeUp>,
    waiting: VecDeque<LoopCall>,
    listeners: Arc<Listeners>,
    /// Whether listeners existed when the state machine was last informed about them.
    has_listeners: bool,
    /// The parts of the server; `None` after the server has started.
    server: Option<(TcpListener, LoopHandle)>,
}

impl PageCalls {
    /// Binds the address of the page, but does not start the server.
    pub(super) fn bind(
        address: SocketAddr,
        rules: PageRules,
        clients: Clients,
        pending: Arc<PendingRequests>,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let (sender, calls) = mpsc::channel();
        let (bell, listeners) = (Arc::new(WakeUp::new()?), Arc::new(Listeners::default()));
        let loop_handle = LoopHandle {
            calls: sender,
            bell: Arc::clone(&bell),
            pending,
            rules,
            clients,
            listeners: Arc::clone(&listeners),
            last_id: AtomicU64::new(0),
        };
        Ok(Self {
            calls,
            bell,
            waiting: VecDeque::new(),
            listeners,
            has_listeners: false,
            server: Some((listener, loop_handle)),
        })
    }

    pub(super) fn listeners(&self) -> Arc<Listeners> {
        Arc::clone(&self.listeners)
    }

    pub(super) fn start(&mut self, waiting: &Reactor) -> Result<(), Error> {
        waiting.add(&*self.bell, SYSTEM)?;
        let Some((listener, loop_handle)) = self.server.take() else {
            return Ok(());
        };
        http::start(listener, loop_handle)
            .map_err(Error::system("start the thread that serves the page"))
    }

    /// Takes the calls after the bell has rung.
    pub(super) fn drain(&mut self) {
        self.bell.silence();
        self.waiting.extend(self.calls.try_iter());
    }

    /// Returns the time at which the node must handle the next call.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then(Instant::default)
    }

    /// Returns the next command for the state machine. If a call asks for the status, `status` creates the node's
    /// status.
    pub(super) fn next_command(
        &mut self,
        replies: &mut ReplySenders,
        mut status: impl FnMut() -> String,
    ) -> Option<Command> {
        while let Some(calls) = self.waiting.pop_front() {
            match calls {
                LoopCall::Request(request, reply) => {
                    replies.insert(request.id, reply);
                    return Some(Command::Request(request));
                }
                // The client may have disconnected.
                LoopCall::Status(reply) => drop(reply.send(status())),
            }
        }
        let has_listeners = self.listeners.has_any();
        if has_listeners == self.has_listeners {
            return None;
        }
        self.has_listeners = has_listeners;
        Some(Command::Listeners(has_listeners))
    }

    /// Sends the new status to all listeners.
    pub(super) fn publish_status(&self, status: impl FnOnce() -> String) {
        if self.has_listeners {
            self.listeners.publish_status(&status());
        }
    }
}
