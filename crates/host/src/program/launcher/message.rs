//! The messages between a daemon and its launcher. Each request has one reply.

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use ring_runtime::net::ancillary;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Found;

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Finds the programs. If `reloads` is `true`, reads the configuration file first.
    Find { reloads: bool },
    /// Starts a program. The message contains the descriptors of standard output and standard error. If `has_input` is
    /// `true`, it also contains the descriptor of standard input.
    Start { launch: Launch, has_input: bool },
    /// Sends SIGTERM to the processes of the program that was started last.
    Terminate,
    /// Kills the processes of the program that was started last.
    Kill,
    /// Asks whether a process of the program that was started last is left.
    IsEmpty,
    /// Waits for the end of the program that was started last.
    Wait,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    Found(Found),
    /// The program was started. The message contains a descriptor that becomes readable when the program ends.
    Started,
    Done,
    IsEmpty(bool),
    /// The wait status of the program.
    Ended(i32),
    /// The launcher failed to do the request: the reason.
    Failed(String),
}

/// A program to start. The launcher selects the command by the index, so a daemon cannot start any other program.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Launch {
    /// Index of the program.
    pub program: usize,
    /// Arguments that follow the arguments of the program's command.
    pub arguments: Vec<OsString>,
    /// Environment variables. All names begin with `RINGD_`.
    pub variables: Vec<(String, String)>,
}

/// A connection for messages in JSON. The length of each message comes before the message.
#[derive(Debug)]
pub(super) struct Channel(UnixStream);

impl Channel {
    pub(super) const fn new(stream: UnixStream) -> Self {
        Self(stream)
    }

    pub(super) fn send(
        &self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut bytes = vec![0; size_of::<u32>()];
        serde_json::to_writer(&mut bytes, message)?;
        let len = u32::try_from(bytes.len() - size_of::<u32>()).map_err(io::Error::other)?;
        bytes[..size_of::<u32>()].copy_from_slice(&len.to_le_bytes());
        let sent = ancillary::send(&self.0, &bytes, descriptors)?;
        (&self.0).write_all(&bytes[sent..])
    }

    pub(super) fn receive<T: DeserializeOwned>(&self) -> io::Result<(T, Vec<OwnedFd>)> {
        let mut descriptors = Vec::new();
        let mut len = [0; size_of::<u32>()];
        self.fill(&mut len, &mut descriptors)?;
        let len = usize::try_from(u32::from_le_bytes(len)).map_err(io::Error::other)?;
        let mut bytes = vec![0; len];
        self.fill(&mut bytes, &mut descriptors)?;
        Ok((serde_json::from_slice(&bytes)?, descriptors))
    }

    fn fill(&self, mut space: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> io::Result<()> {
        while !space.is_empty() {
            match ancillary::receive(&self.0, space, descriptors) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(len) => space = &mut space[len..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
