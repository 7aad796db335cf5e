//! A connection to the daemon, for requests and replies. Tells the user why while the daemon is silent.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::Duration;

use ring_control::{OwnRequest, Reply, Request};
use ring_proto::time::Instant;
use serde::Serialize;

use super::lines::Lines;
use super::prober::{Prober, Reasons};
use super::{Error, client};

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
    /// `None`: nobody here is kept waiting, or there is no daemon to probe.
    prober: Option<Prober<'a>>,
}

impl<'a> Connection<'a> {
    /// Connects to the daemon at `socket`.
    ///
    /// # Errors
    /// The daemon is not reached.
    pub(super) fn open(socket: &'a Path) -> Result<Self, Error> {
        Self::probed(socket, Prober::new(socket))
    }

    /// Connects to ask for the token: the prober also tells the user what the token waits for.
    ///
    /// # Errors
    /// The daemon is not reached.
    pub(super) fn for_the_token(socket: &'a Path, told: Reasons) -> Result<Self, Error> {
        Self::probed(socket, Prober::explaining(socket, told))
    }

    fn probed(socket: &'a Path, prober: Prober<'a>) -> Result<Self, Error> {
        Ok(Self {
            lines: client::endless(socket)?,
            prober: Some(prober),
        })
    }

    /// A conversation over any lines, whose silence nobody here looks into.
    pub(super) const fn over(lines: Lines) -> Self {
        Self {
            lines,
            prober: None,
        }
    }

    /// The token has come: nothing else keeps its user waiting.
    pub(super) fn has_the_token(&mut self) {
        if let Some(prober) = &mut self.prober {
            prober.stop_explaining();
        }
    }

    /// Sends a request. A failure need not be the end: a daemon without room for one more client says so and hangs
    /// up without reading.
    ///
    /// # Errors
    /// The daemon takes nothing.
    pub(super) fn say(&mut self, request: &impl Serialize) -> io::Result<()> {
        self.lines.send(request)
    }

    /// Sends a request with descriptors.
    ///
    /// # Errors
    /// The daemon takes nothing, or there are too many descriptors.
    pub(super) fn say_with(
        &mut self,
        request: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        self.lines.send_with(request, descriptors)
    }

    /// Waits for the next line until `by`, which is called again whenever something has come.
    ///
    /// # Errors
    /// The system cannot wait.
    pub(super) fn hear(&mut self, by: impl Fn() -> Option<Instant>) -> io::Result<Heard> {
        loop {
            if let Some(line) = self.lines.next_line() {
                return Ok(Heard::Line(line));
            }
            if self.lines.has_ended() {
                return Ok(Heard::End);
            }
            let has_come = match &mut self.prober {
                Some(prober) => {
                    let is_readable = prober.wait(&self.lines, by())?;
                    if is_readable {
                        self.lines.fill();
                    }
                    is_readable
                }
                None => self.lines.fill_by(by())?,
            };
            if !has_come {
                return Ok(Heard::Late);
            }
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

    /// Waits until `fd`, which is readable when this is, is readable.
    ///
    /// # Errors
    /// The system cannot wait.
    pub(super) fn wait_at(&mut self, fd: impl AsFd) -> io::Result<()> {
        if let Some(prober) = &mut self.prober {
            prober.wait(fd, None)?;
        }
        Ok(())
    }

    /// Reads what there is, or waits for something.
    pub(super) fn fill(&mut self) {
        self.lines.fill();
    }

    /// Reads what there is, or waits for something until `by`. Returns whether anything came.
    ///
    /// # Errors
    /// The system cannot wait.
    pub(super) fn fill_by(&mut self, by: Instant) -> io::Result<bool> {
        self.lines.fill_by(Some(by))
    }

    /// Takes the next reply of what was read. Skips what this version does not know.
    pub(super) fn next_reply(&mut self) -> Option<Reply> {
        self.lines.next()
    }

    /// Reads replies until one is the last, or nothing has come for `patience`.
    ///
    /// # Errors
    /// The system refuses what every process may do.
    pub(super) fn wait_for(
        &mut self,
        patience: Duration,
        is_last: impl Fn(&Reply) -> bool,
    ) -> io::Result<()> {
        self.lines.stream().set_read_timeout(Some(patience))?;
        while let Some(reply) = self.lines.wait() {
            if is_last(&reply) {
                break;
            }
        }
        Ok(())
    }

    /// Whether nothing more will come.
    pub(super) const fn has_ended(&self) -> bool {
        self.lines.has_ended()
    }
}

impl AsFd for Connection<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lines.as_fd()
    }
}
