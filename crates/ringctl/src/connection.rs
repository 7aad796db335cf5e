//! A connection to the daemon. The connection warns the user while the daemon does not answer.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use ring_control::{Reply, Request, SystemRequest};
use ring_proto::time::Instant;
use serde::Serialize;

use super::prober::{Prober, Reasons};
use super::{Error, client};
use ring_client::daemon::connect;
use ring_client::lines::Lines;

pub(super) enum Received {
    /// A line without the newline at its end.
    Line(Vec<u8>),
    TimedOut,
    Closed,
}

/// A connection with a prober. The prober finds out why the daemon is silent.
pub(super) struct Connection<'a> {
    lines: Lines,
    prober: Prober<'a>,
}

impl<'a> Connection<'a> {
    pub(super) fn open(socket: &'a Path) -> Result<Self, Error> {
        Self::open_with(socket, Prober::new(socket))
    }

    /// Connects to the daemon to request a lock. `lock` is the text for the lock, such as `the token`. During the wait,
    /// the prober also prints why the lock is not granted.
    pub(super) fn open_for_lock(
        socket: &'a Path,
        lock: String,
        reasons: Reasons,
    ) -> Result<Self, Error> {
        Self::open_with(socket, Prober::new_explaining(socket, lock, reasons))
    }

    fn open_with(socket: &'a Path, prober: Prober<'a>) -> Result<Self, Error> {
        Ok(Self {
            lines: connect(socket)?,
            prober,
        })
    }

    pub(super) fn into_parts(self) -> (Lines, Prober<'a>) {
        (self.lines, self.prober)
    }

    pub(super) fn on_token_granted(&mut self) {
        self.prober.stop_explaining();
    }

    /// Sends a request. Even if this fails, an answer may come. A daemon that cannot serve another client sends an
    /// error, and closes the connection without reading the request.
    pub(super) fn send(&mut self, request: &impl Serialize) -> io::Result<()> {
        self.lines.send(request)
    }

    /// Waits for the next line, at most until the time that `by` returns. Calls `by` again after each read, because the
    /// time may change.
    pub(super) fn receive(&mut self, by: impl Fn() -> Option<Instant>) -> io::Result<Received> {
        loop {
            if let Some(line) = self.lines.next_line() {
                return Ok(Received::Line(line));
            }
            if self.lines.has_ended() {
                return Ok(Received::Closed);
            }
            if !self.prober.wait(&self.lines, by())? {
                return Ok(Received::TimedOut);
            }
            self.lines.fill();
        }
    }

    /// Sends a request and waits for its answer until `by`. Skips messages that are not answers.
    pub(super) fn ask<O: SystemRequest>(
        &mut self,
        request: &Request<O>,
        by: Option<Instant>,
    ) -> Result<Reply, Error> {
        let _ = self.send(request);
        loop {
            let line = match self.receive(|| by).map_err(Error::System)? {
                Received::Line(line) => line,
                Received::TimedOut => return Err(Error::Gone(client::no_answer_text_for(request))),
                Received::Closed => return Err(Error::Gone(client::HUNG_UP_TEXT.to_owned())),
            };
            match serde_json::from_slice(&line) {
                Ok(Reply::Lost(loss)) => return Err(Error::Lost(loss.text)),
                // Skip unknown replies, because a later version of the daemon may send more kinds of replies.
                Ok(Reply::Renewed(_)) | Err(_) => {}
                Ok(reply) => return Ok(reply),
            }
        }
    }
}

impl AsFd for Connection<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lines.as_fd()
    }
}
