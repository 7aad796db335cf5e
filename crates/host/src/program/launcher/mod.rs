//! The launcher: a process that starts the daemon's programs.
//!
//! After its start-up, a daemon cannot start programs, and has few permissions. Its programs need more permissions, and
//! must not inherit its sockets. So the daemon forks the launcher before it opens sockets and gives up permissions. The
//! launcher starts only the programs that the daemon's options name. An attacker who takes over the daemon can run
//! these programs, but no other programs.

mod message;
mod server;

use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use ring_process::helper;
use ring_runtime::nice;
use serde::{Deserialize, Serialize};

pub use message::Launch;
use message::{Channel, Reply, Request};

/// The nice value of programs. A program must not have the higher priority of the daemon.
const PROGRAM_NICE: i32 = 0;

/// The programs that a launcher may start. The process of the launcher calls these functions.
pub trait Programs {
    /// Finds the programs. If `reloads` is `true`, reads the daemon's configuration file first.
    fn find(&mut self, reloads: bool) -> Found;

    /// Returns the command of the program with this index; `None` if there is no such program.
    fn command(&mut self, program: usize, arguments: &[OsString]) -> Option<Command>;
}

/// The result of a search for programs.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// Names of the programs. The index of a name is the index of the program.
    pub names: Vec<String>,
    /// Names of files that the launcher does not start, with the reason for each file.
    pub problems: Vec<(String, String)>,
}

/// The daemon's side of a launcher. A launcher runs one program at a time.
#[derive(Debug)]
pub struct Launcher(Channel);

impl Launcher {
    /// Starts a launcher. The daemon must have a single thread. The launcher ends with the daemon.
    ///
    /// # Errors
    /// Fails if the process has too many files open, or if the system has too many processes.
    pub fn start(mut programs: impl Programs) -> io::Result<Self> {
        let stream = helper::start(c"ringd-launcher", |daemon| {
            // The launcher may have inherited a high priority, because a unit can start the daemon with such a
            // priority. Lowering the priority needs no permission.
            let _ = nice::lower_priority(PROGRAM_NICE);
            server::serve(&Channel::new(daemon), &mut programs);
        })?;
        Ok(Self(Channel::new(stream)))
    }

    /// Finds the programs, as [`Programs::find`] does.
    ///
    /// # Errors
    /// Fails if the launcher has ended.
    pub fn find(&mut self, reloads: bool) -> io::Result<Found> {
        match self.call(&Request::Find { reloads }, &[])? {
            (Reply::Found(found), _) => Ok(found),
            _ => Err(unexpected()),
        }
    }

    /// Starts a program with two or three streams: output, errors and perhaps input. Returns a descriptor that becomes
    /// readable when the program ends.
    pub(super) fn launch(
        &mut self,
        launch: Launch,
        streams: &[BorrowedFd<'_>],
    ) -> io::Result<OwnedFd> {
        let has_input = streams.len() > 2;
        let reply = self.call(&Request::Start { launch, has_input }, streams)?;
        match reply {
            (Reply::Started, mut descriptors) => descriptors.pop().ok_or_else(unexpected),
            _ => Err(unexpected()),
        }
    }

    /// Sends SIGTERM to all processes of the program that was started last.
    pub(super) fn terminate(&mut self) {
        // If the launcher has ended, the kernel has killed the program.
        let _ = self.call(&Request::Terminate, &[]);
    }

    /// Kills all processes of the program that was started last.
    pub(super) fn kill(&mut self) {
        let _ = self.call(&Request::Kill, &[]);
    }

    /// Whether all processes of the program that was started last have ended.
    pub(super) fn check_empty(&mut self) -> bool {
        let reply = self.call(&Request::IsEmpty, &[]);
        reply.map_or(true, |(reply, _)| matches!(reply, Reply::IsEmpty(true)))
    }

    /// Waits until the program that was started last has ended.
    pub(super) fn wait(&mut self) -> io::Result<ExitStatus> {
        match self.call(&Request::Wait, &[])? {
            (Reply::Ended(status), _) => Ok(ExitStatus::from_raw(status)),
            _ => Err(unexpected()),
        }
    }

    fn call(
        &mut self,
        request: &Request,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<(Reply, Vec<OwnedFd>)> {
        let sent = self.0.send(request, descriptors);
        let reply = sent.and_then(|()| self.0.receive());
        let ended = |error: io::Error| {
            let text =
                format!("the process that starts programs has ended ({error}); restart the daemon");
            io::Error::other(text)
        };
        match reply.map_err(ended)? {
            (Reply::Failed(why), _) => Err(io::Error::other(why)),
            reply => Ok(reply),
        }
    }
}

fn unexpected() -> io::Error {
    io::Error::other("the process that starts programs sent an unexpected reply")
}
