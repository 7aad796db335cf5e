//! Client of a daemon, made of the parts of `ring_client` for programs with their own event loop.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use ring_client::daemon;
use ring_client::lines::Lines;
use ring_control::lab2::{Grade, LockRequest, NamedLockRequest, RingRequest};
use ring_control::{Reply, Request};
use ring_runtime::wait::{Interest, Poller};

use super::throughput::ByName;
use crate::contest::Lock;

/// A lock that a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// The token of the ring.
    Token,
    /// A named lock.
    Name,
}

#[derive(Debug)]
pub(super) struct Client {
    lines: Lines,
    /// Poller with which the client waits. `ringctl` waits in the same way. A blocking read would also wake up when the
    /// daemon reads the request.
    poller: Poller,
    request: Request<RingRequest>,
}

impl Client {
    /// Connects to a daemon. A client of a named lock takes the name with the number 0.
    pub(super) fn connect(socket: &Path, subject: Subject, grade: Grade) -> Result<Self> {
        let lines = daemon::connect(socket)?;
        let poller = Poller::new()?;
        poller.add(&lines, 0, Interest::Read)?;
        let lock = LockRequest {
            require: Some(grade),
            ..LockRequest::default()
        };
        let request = match subject {
            Subject::Token => Request::Lock(lock),
            Subject::Name => Request::System(RingRequest::NamedLock(NamedLockRequest {
                name: lock_name(0),
                shared: false,
                lock,
            })),
        };
        Ok(Self {
            lines,
            poller,
            request,
        })
    }

    /// Chooses the name of the next lock.
    pub(super) fn rename(&mut self, name: String) {
        if let Request::System(RingRequest::NamedLock(request)) = &mut self.request {
            request.name = name;
        }
    }

    /// Waits until the client holds the lock. Returns the fencing token.
    pub(super) fn take(&mut self) -> Result<String> {
        self.lines.send(&self.request)?;
        match self.await_reply()? {
            Reply::Granted(grant) => Ok(grant.fencing),
            reply => bail!("the daemon sends {reply:?}"),
        }
    }

    /// Requests a lock that the ring must refuse. Returns the reason.
    pub(super) fn expect_refusal(&mut self) -> Result<String> {
        self.lines.send(&self.request)?;
        match self.await_reply()? {
            Reply::Refused(refusal) => Ok(refusal.text),
            Reply::Error(text) => Ok(text),
            reply => bail!("the daemon sends {reply:?}"),
        }
    }

    /// Reads all messages that have arrived. Returns whether the lock is lost.
    pub(super) fn detect_loss(&mut self) -> Result<bool> {
        loop {
            match self.lines.next_message() {
                Some(Reply::Renewed(_)) => {}
                Some(_) => return Ok(true),
                None => {
                    self.poller.wait(Some(Duration::ZERO))?;
                    if self.poller.ready().len() == 0 {
                        return Ok(false);
                    }
                    self.lines.fill();
                    if self.lines.has_ended() {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Waits for the next message that is not about a renewal.
    fn await_reply(&mut self) -> Result<Reply> {
        loop {
            match self.lines.next_message() {
                Some(Reply::Renewed(_)) => {}
                Some(reply) => return Ok(reply),
                None => {
                    ensure!(!self.lines.has_ended(), "the daemon closed the connection");
                    self.poller.wait(None)?;
                    self.lines.fill();
                }
            }
        }
    }
}

impl Lock for Client {
    fn lock(&mut self) -> Result<()> {
        self.take()?;
        Ok(())
    }

    fn unlock(&mut self) -> Result<()> {
        self.lines
            .send(&Request::<RingRequest>::Unlock { exit: None })?;
        match self.await_reply()? {
            Reply::Unlocked {} => Ok(()),
            reply => bail!("the daemon sends {reply:?}"),
        }
    }
}

impl ByName for Client {
    fn choose(&mut self, number: u64) {
        self.rename(lock_name(number));
    }
}

/// Returns the name with this number. All names have the same length. The name is also a legal Base64 text, as etcd
/// requires.
pub(crate) fn lock_name(number: u64) -> String {
    format!("lock{number:04}")
}
