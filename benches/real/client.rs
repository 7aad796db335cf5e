//! Client of a daemon's control socket (`docs/reference/control.md`).

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Result, bail};
use ring_runtime::wait::{Interest, Poller};

#[derive(Debug)]
pub(crate) struct Client {
    reader: BufReader<UnixStream>,
    /// Poller with which the client waits. `ringctl` waits in the same way. A blocking read would also wake up when the
    /// daemon reads the request. This would cost time.
    poller: Poller,
    line: String,
}

impl Client {
    pub(crate) fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)?;
        let poller = Poller::new()?;
        poller.add(&stream, 0, Interest::Read)?;
        Ok(Self {
            reader: BufReader::new(stream),
            poller,
            line: String::new(),
        })
    }

    pub(crate) fn ask(&mut self) -> Result<()> {
        Ok(self
            .reader
            .get_mut()
            .write_all(b"{\"request\":\"lock\"}\n")?)
    }

    pub(crate) fn await_grant(&mut self) -> Result<()> {
        self.expect_line("{\"granted\"")
    }

    pub(crate) fn release(&mut self) -> Result<()> {
        Ok(self
            .reader
            .get_mut()
            .write_all(b"{\"request\":\"unlock\"}\n")?)
    }

    pub(crate) fn await_unlock(&mut self) -> Result<()> {
        self.expect_line("{\"unlocked\"")
    }

    fn expect_line(&mut self, what: &str) -> Result<()> {
        loop {
            self.line.clear();
            if self.reader.buffer().is_empty() {
                self.poller.wait(None)?;
            }
            self.reader.read_line(&mut self.line)?;
            if self.line.starts_with(what) {
                return Ok(());
            }
            if !self.line.starts_with("{\"renewed\"") {
                bail!("{:?} instead of {what}", self.line);
            }
        }
    }
}
