//! A connection to the daemon on which something is asked, or heard, in turn. The user of one that says
//! nothing is told why.

use std::io;
use std::path::Path;

use ring_proto::time::Instant;

use super::lines::Lines;
use super::prober::Prober;
use super::{Error, client};
use crate::control::{Reply, Request};

/// What came of waiting for the daemon.
pub(super) enum Heard {
    /// A line, without its end.
    Line(Vec<u8>),
    /// Nothing in time.
    Late,
    /// Nothing ever.
    End,
}

/// A conversation with the daemon, and somebody who looks after it while it says nothing.
pub(super) struct Connection<'a> {
    lines: Lines,
    prober: Prober<'a>,
}

impl<'a> Connection<'a> {
    /// To the daemon at `socket`.
    ///
    /// # Errors
    /// The daemon is not reached.
    pub(super) fn open(socket: &'a Path) -> Result<Self, Error> {
        Ok(Self {
            lines: client::endless(socket)?,
            prober: Prober::new(socket),
        })
    }

    /// The same, of which the token is wanted: the user is told what keeps it waiting.
    ///
    /// # Errors
    /// The daemon is not reached.
    pub(super) fn for_the_token(socket: &'a Path) -> Result<Self, Error> {
        Ok(Self {
            prober: Prober::explaining(socket),
            ..Self::open(socket)?
        })
    }

    /// The token has come: nothing else keeps its user waiting any more.
    pub(super) fn has_the_token(&mut self) {
        self.prober.stop_explaining();
    }

    /// Sends a request. That it cannot be sent is no end yet: a daemon that has no room for one more client
    /// says so and hangs up without reading.
    ///
    /// # Errors
    /// The daemon takes nothing.
    pub(super) fn say(&mut self, request: &Request) -> io::Result<()> {
        self.lines.send(request)
    }

    /// The next line, waited for until `by`, which is asked again whenever something has come.
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
            if !self.prober.wait(&self.lines, by())? {
                return Ok(Heard::Late);
            }
            self.lines.fill();
        }
    }

    /// The answer to a request, if it comes until `by`; what the daemon says of itself in between is no
    /// answer.
    ///
    /// # Errors
    /// None comes, or the lock of this connection is lost.
    pub(super) fn ask(&mut self, request: &Request, by: Option<Instant>) -> Result<Reply, Error> {
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
