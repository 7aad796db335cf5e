//! Becomes a keeper.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{chdir, close, setsid};
use ring_proto::time::Instant;

use super::super::{Error, client, lines::Lines};
use super::binding::BoundProcess;
use super::work::Work;
use super::{Assignment, Binding, NAME, Note, Order, Why};
use crate::sys::nice;

/// A daemon that was asked for the lock.
pub(super) struct Daemon {
    pub(super) lines: Lines,
    /// The deadline for its answer, if there is one.
    pub(super) answers_by: Option<Instant>,
}

impl Daemon {
    fn ask(assignment: &Assignment) -> Result<Self, Error> {
        let answers_by = client::answers_by(assignment.want.lock());
        let mut lines = client::endless(&assignment.socket)?;
        // A daemon that has no room for one more client says so and hangs up without reading.
        let _ = lines.send(&assignment.want.request());
        Ok(Self { lines, answers_by })
    }
}

/// Holds a lock for the parent process, which speaks to this one over standard input.
///
/// # Errors
/// A system call failed that does not fail on a healthy system.
pub fn keep() -> io::Result<()> {
    detach()?;
    let caller = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut caller = Lines::new(caller);
    let Some(Order::Begin(assignment)) = caller.wait() else {
        return Ok(());
    };
    let bound = match assignment.binding {
        Binding::Command => None,
        Binding::Process { pid, kill } => match BoundProcess::to(pid, kill, &assignment.socket) {
            Ok(bound) => Some(bound),
            Err(why) => return caller.send(&Note::NotAcquired(Why::Refused(why))),
        },
    };
    let connected = Daemon::ask(&assignment);
    // A keeper must not keep a file system busy.
    chdir("/")?;
    match connected {
        Ok(daemon) => Work::new(&assignment, caller, daemon, bound)?.run(),
        Err(error) => caller.send(&Note::NotAcquired(Why::NoDaemon(error.to_string()))),
    }
}

/// Leaves the terminal, and closes all that the caller had open.
fn detach() -> io::Result<()> {
    prctl::set_name(NAME)?;
    // The service manager signals all processes of a service at its end. This one ends when its work is done.
    let mut deaf = SigSet::all();
    deaf.remove(Signal::SIGCHLD);
    deaf.thread_block()?;
    setsid()?;
    // As the daemon does, and its new session too. Where it may not it takes its chance.
    let _ = nice::at_most(nice::URGENT);
    let _ = nice::of_session(nice::URGENT);
    let open: Vec<i32> = fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    // The directory that was just listed is among them, and is closed already.
    for fd in open.into_iter().filter(|&fd| fd > 2) {
        let _ = close(fd);
    }
    Ok(())
}
