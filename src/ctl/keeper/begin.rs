//! Becomes a keeper.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{chdir, close, setsid};

use super::super::connection::Connection;
use super::super::held::HeldLock;
use super::super::{Error, client, lines::Lines};
use super::binding::BoundProcess;
use super::work::Work;
use super::{Assignment, Binding, NAME, NotAcquired, Note, Order};
use crate::sys::nice;

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
            Err(why) => return caller.send(&Note::NotAcquired(NotAcquired::Unbound(why))),
        },
    };
    let asked = ask(&assignment);
    // A keeper must not keep a file system busy.
    chdir("/")?;
    match asked {
        Ok(lock) => Work::new(&assignment, caller, lock, bound)?.run(),
        Err(error) => {
            let why = NotAcquired::NoDaemon(error.to_string());
            caller.send(&Note::NotAcquired(why))
        }
    }
}

/// Asks the daemon for the lock. The parent process, whose user is kept waiting, looks into its silence.
fn ask(assignment: &Assignment) -> Result<HeldLock<'static>, Error> {
    let answers_by = client::answers_by(assignment.wait_ms);
    let connection = Connection::over(client::endless(&assignment.socket)?);
    Ok(HeldLock::ask(
        connection,
        &assignment.request,
        answers_by,
        assignment.margins,
    ))
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
