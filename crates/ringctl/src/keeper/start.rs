//! A keeper as its parent sees it.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use ring_process::{Lifeline, Tied};

use super::super::prober::Prober;
use super::{Assignment, NAME, Note, Order, reminder};
use ring_client::lines::Lines;

/// The executable of this process, even if another file has taken its place since.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";

/// A running keeper.
pub(crate) struct Keeper {
    lines: Lines,
    /// The keeper has the other end as its output.
    lifeline: Lifeline,
    child: Child,
    /// The control socket of the daemon that grants the lock, if one does.
    daemon: Option<PathBuf>,
}

impl Keeper {
    /// Starts a keeper.
    pub(crate) fn start(assignment: Assignment) -> io::Result<Self> {
        let (ours, its) = UnixStream::pair()?;
        let (lifeline, end) = Lifeline::new()?;
        let child = Command::new(THIS_PROGRAM)
            .arg0(NAME.to_string_lossy().as_ref())
            .arg("keep")
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::from(end))
            .stderr(Stdio::null())
            .spawn()?;
        let mut lines = Lines::new(ours);
        let daemon = assignment.granter.socket().map(Path::to_owned);
        lines.send(&Order::Begin(Box::new(assignment)))?;
        Ok(Self {
            lines,
            lifeline,
            child,
            daemon,
        })
    }

    /// Tells the user what would not be ended, unless that was told since the machine started: the next run finds the
    /// same. The keeper does not do this itself: it renews leases, and must not wait for a disk.
    pub(crate) fn warn(&self, text: &str) {
        if reminder::is_new(self.daemon.as_deref(), text) {
            // Where nobody can be told the lock is held all the same.
            let _ = writeln!(io::stderr(), "ringctl: {text}");
        }
    }

    /// Sends it an order. Reading from it shows whether it is gone.
    pub(crate) fn tell(&mut self, order: &Order) {
        let _ = self.lines.send(order);
    }

    /// Lets the command inherit the life line.
    pub(crate) fn bequeath(&self) -> io::Result<()> {
        self.lifeline.bequeath()
    }

    /// Has the kernel kill a process group when the keeper is gone. Reading from it shows whether it is gone
    /// already.
    pub(crate) fn tie(&self, group: Pid) {
        let _ = self.lifeline.tie(Tied::Group(group), Signal::SIGKILL);
    }

    /// Waits for its next note; `None`: it is gone.
    pub(crate) fn wait(&mut self) -> Option<Note> {
        let note = self.lines.wait();
        if note.is_none() {
            let _ = self.child.wait();
        }
        note
    }

    /// Waits for its next note, and probes the daemon that it has asked.
    pub(crate) fn wait_with(&mut self, prober: &mut Prober) -> io::Result<Option<Note>> {
        loop {
            if let Some(note) = self.lines.next_message() {
                return Ok(Some(note));
            }
            if self.is_gone() {
                return Ok(None);
            }
            prober.wait(&self.lines, None)?;
            self.listen();
        }
    }

    /// Reads its notes; call it when there is something to read.
    pub(crate) fn listen(&mut self) {
        self.lines.fill();
        if self.is_gone() {
            // The command may run for long.
            let _ = self.child.wait();
        }
    }

    /// Returns the next note received.
    pub(crate) fn next(&mut self) -> Option<Note> {
        self.lines.next_message()
    }

    /// Whether it is gone.
    pub(crate) const fn is_gone(&self) -> bool {
        self.lines.has_ended()
    }
}

impl AsFd for Keeper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lines.as_fd()
    }
}
