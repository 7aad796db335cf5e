//! A client of the control socket that sends and receives lines (`docs/reference/control.md`).

use ring_segment::WAIT_LIMIT;
use std::fs::File;
use std::io::{BufRead, BufReader, IoSlice, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use serde_json::{Value, json};

pub(crate) struct Client {
    reader: BufReader<UnixStream>,
}

impl Client {
    pub(crate) fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket).context("no process listens")?;
        stream.set_read_timeout(Some(WAIT_LIMIT))?;
        Ok(Self {
            reader: BufReader::new(stream),
        })
    }

    pub(crate) fn send(&mut self, request: &Value) -> Result<()> {
        let line = format!("{request}\n");
        Ok(self.reader.get_mut().write_all(line.as_bytes())?)
    }

    pub(crate) fn send_with_file(&mut self, request: &Value, file: &File) -> Result<()> {
        let line = format!("{request}\n");
        let descriptors = [file.as_raw_fd()];
        let sent = sendmsg::<()>(
            self.reader.get_ref().as_raw_fd(),
            &[IoSlice::new(line.as_bytes())],
            &[ControlMessage::ScmRights(&descriptors)],
            MsgFlags::empty(),
            None,
        )?;
        ensure!(
            sent == line.len(),
            "the socket takes only {sent} bytes of {line}"
        );
        Ok(())
    }

    /// Returns the next line. Returns an error if the connection ends.
    pub(crate) fn receive(&mut self) -> Result<Value> {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line);
        read.context("the daemon sends no line")?;
        ensure!(!line.is_empty(), "the daemon closed the connection");
        Ok(serde_json::from_str(&line)?)
    }

    /// Returns the next line that is not a renewal. Checks the kind of the line.
    pub(crate) fn expect(&mut self, kind: &str) -> Result<Value> {
        loop {
            let mut answer = self.receive()?;
            if let Some(value) = answer.get_mut(kind) {
                return Ok(value.take());
            }
            ensure!(
                answer.get("renewed").is_some(),
                "{answer} instead of {kind}"
            );
        }
    }

    /// Requests the lock without a time limit.
    pub(crate) fn lock(&mut self, label: &str) -> Result<()> {
        self.send(&json!({"request": "lock", "label": label}))
    }

    pub(crate) fn unlock(&mut self) -> Result<()> {
        self.send(&json!({"request": "unlock"}))?;
        self.expect("unlocked").map(drop)
    }

    /// Releases the lock; the lock may already be lost.
    pub(crate) fn unlock_or_lose(&mut self) -> Result<()> {
        self.send(&json!({"request": "unlock"}))?;
        loop {
            let answer = self.receive()?;
            if answer.get("unlocked").is_some() {
                return Ok(());
            }
            let why = answer["lost"]["why"].as_str();
            let may_be = answer.get("renewed").is_some()
                || why.is_some_and(|why| ["lease", "stronger_token"].contains(&why));
            ensure!(may_be, "{answer}");
        }
    }
}
