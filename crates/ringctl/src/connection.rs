//! A connection to the daemon, for requests and replies. Tells the user why while the daemon is silent.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use ring_control::{OwnRequest, Reply, Request};
use ring_proto::time::Instant;
use serde::Serialize;

use super::prober::{Prober, Reasons};
use super::{Error, client};
use ring_client::daemon::connect;
use ring_client::lines::Lines;

/// The outcome of waiting for the daemon.
pub(super) enum Heard {
    /// A line, without its end.
    Line(Vec<u8>),
    /// Nothing before the deadline.
    Late,
    /// The connection has ended.
    End,
}

/// A conversation with the daemon, with a prober that looks into its silence.
pub(super) struct Connection<'a> {
    lines: Lines,
    prober: Prober<'a>,
}

impl<'a> Connection<'a> {
    /// Connects to the daemon at `socket`.
    pub(super) fn open(socket: &'a Path) -> Result<Self, Error> {
        Self::probed(socket, Prober::new(socket))
    }

    /// Connects to ask for the token: the prober also tells the user what the token waits for.
    pub(super) fn for_the_token(socket: &'a Path, told: Reasons) -> Result<Self, Error> {
        Self::probed(socket, Prober::explaining(socket, told))
    }

    fn probed(socket: &'a Path, prober: Prober<'a>) -> Result<Self, Error> {
        Ok(Self {
            lines: connect(socket)?,
            prober,
        })
    }

    /// Returns what is said and heard, and what looks into the silence.
    pub(super) fn into_parts(self) -> (Lines, Prober<'a>) {
        (self.lines, self.prober)
    }

    /// The token has come: nothing else keeps its user waiting.
    pub(super) fn has_the_token(&mut self) {
        self.prober.stop_explaining();
    }

    /// Sends a request. A failure need not be the end: a daemon without room for one more client says so and hangs
    /// up without reading.
    pub(super) fn say(&mut self, request: &impl Serialize) -> io::Result<()> {
        self.lines.send(request)
    }

    /// Waits for the next line until `by`, which is called again whenever something has come.
    pub(super) fn hear(&mut self, by: impl Fn() -> Option<Instant>) -> io::Result<Heard> {
        loop {
            if let Some(line) = self.lines.next_line() {
                return Ok(Heard::Line(line));
            }
            if self.lines.has_ended() {
                return Ok(Heard::End);
            }
            if !self.prober.wait(&self.lines, by())? {
                return Ok(Heard::Late);
            }
            self.lines.fill();
        }
    }

    /// Sends a request and waits for its answer until `by`. Unsolicited messages in between are no answer.
    ///
    /// # Errors
    /// No answer comes, or the lock of this connection is lost.
    pub(super) fn ask<O: OwnRequest>(
        &mut self,
        request: &Request<O>,
        by: Option<Instant>,
    ) -> Result<Reply, Error> {
        let _ = self.say(request);
        loop {
            let line = match self.hear(|| by).map_err(Error::System)? {
                Heard::Line(line) => line,
                Heard::Late => return Err(Error::Gone(client::silent_to(request))),
                Heard::End => return Err(Error::Gone(client::HUNG_UP.to_owned())),
            };
            match serde_json::from_slice(&line) {
                Ok(Reply::Lost(loss)) => return Err(Error::Lost(loss.text)),
                // A later version may say more.
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
