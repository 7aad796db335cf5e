//! A program that wants the token (`docs/control.md`).

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Result, bail};

use super::contest::Lock;

/// A connection to a daemon.
#[derive(Debug)]
pub struct Client {
    reader: BufReader<UnixStream>,
    line: String,
}

impl Client {
    pub fn connect(socket: &Path) -> Result<Self> {
        Ok(Self {
            reader: BufReader::new(UnixStream::connect(socket)?),
            line: String::new(),
        })
    }

    pub fn ask(&mut self) -> Result<()> {
        Ok(self
            .reader
            .get_mut()
            .write_all(b"{\"request\":\"lock\"}\n")?)
    }

    pub fn granted(&mut self) -> Result<()> {
        self.hears("{\"granted\"")
    }

    pub fn release(&mut self) -> Result<()> {
        Ok(self
            .reader
            .get_mut()
            .write_all(b"{\"request\":\"unlock\"}\n")?)
    }

    pub fn unlocked(&mut self) -> Result<()> {
        self.hears("{\"unlocked\"")
    }

    fn hears(&mut self, what: &str) -> Result<()> {
        loop {
            self.line.clear();
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

impl Lock for Client {
    fn lock(&mut self) -> Result<()> {
        self.ask()?;
        self.granted()
    }

    fn unlock(&mut self) -> Result<()> {
        self.release()?;
        self.unlocked()
    }
}
