//! The parent's side of a keeper: starts it, sends orders and reads notes.

use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use ring_process::{Lifeline, SignalTarget};

use super::super::prober::Prober;
use super::{Assignment, NAME, Note, Order, warned_once};
use ring_client::lines::Lines;

/// The executable of this process. This path is right even after the file of the program was replaced.
pub(crate) const THIS_PROGRAM: &str = "/proc/self/exe";

pub(crate) struct Keeper {
    lines: Lines,
    /// The opposite end of this life line is the keeper's standard output.
    lifeline: Lifeline,
    child: Child,
    /// The granter's control socket; `None` if the granter is no daemon.
    daemon: Option<PathBuf>,
}

impl Keeper {
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

    /// Prints a warning from the keeper. Each warning is printed only once per boot, because every run has the same
    /// problem. The keeper itself does not record or print warnings, because it renews leases and must not wait for a
    /// disk.
    pub(crate) fn warn(&self, text: &str) {
        if warned_once::record_warning(self.daemon.as_deref(), text) {
            // If the warning cannot be printed, the lock is still held.
            let _ = writeln!(io::stderr(), "ringctl: {text}");
        }
    }

    /// Sends the keeper an order. Ignores errors: if the keeper has ended, the next read detects the end.
    pub(crate) fn send(&mut self, order: &Order) {
        let _ = self.lines.send(order);
    }

    pub(crate) fn make_lifeline_inheritable(&self) -> io::Result<()> {
        self.lifeline.make_inheritable()
    }

    /// Makes the kernel kill a process group when the keeper ends. Ignores errors: if the keeper has ended, the next
    /// read detects the end.
    pub(crate) fn tie(&self, group: Pid) {
        let _ = self
            .lifeline
            .tie(SignalTarget::Group(group), Signal::SIGKILL);
    }

    /// Waits for the keeper's next note; `None` if the keeper ended.
    pub(crate) fn wait_for_note(&mut self) -> Option<Note> {
        let note = self.lines.wait_for_message();
        if note.is_none() {
            let _ = self.child.wait();
        }
        note
    }

    pub(crate) fn wait_for_note_probing(
        &mut self,
        prober: &mut Prober,
    ) -> io::Result<Option<Note>> {
        loop {
            if let Some(note) = self.lines.next_message() {
                return Ok(Some(note));
            }
            if self.has_ended() {
                return Ok(None);
            }
            prober.wait(&self.lines, None)?;
            self.read_notes();
        }
    }

    /// Reads notes. Call this function when the keeper's descriptor is readable.
    pub(crate) fn read_notes(&mut self) {
        self.lines.fill();
        if self.has_ended() {
            // Without this wait, the keeper would stay a zombie while the command continues.
            let _ = self.child.wait();
        }
    }

    pub(crate) fn next_note(&mut self) -> Option<Note> {
        self.lines.next_message()
    }

    pub(crate) const fn has_ended(&self) -> bool {
        self.lines.has_ended()
    }
}

impl AsFd for Keeper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lines.as_fd()
    }
}
