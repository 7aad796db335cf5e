//! Becomes a keeper.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Child;

use nix::unistd::chdir;

use super::super::{Error, client};
use super::binding::BoundProcess;
use super::work::Work;
use super::{Assignment, Binding, NAME, NotAcquired, Note, Order, detach};
use ring_client::held::HeldLock;
use ring_client::lines::Lines;

/// Holds a lock for the parent process, which speaks to this one over standard input.
///
/// # Errors
/// A system call failed that does not fail on a healthy system.
pub(crate) fn keep() -> io::Result<()> {
    detach(NAME)?;
    let caller = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut caller = Lines::new(caller);
    let Some(Order::Begin(assignment)) = caller.wait() else {
        return Ok(());
    };
    let bound = match assignment.binding {
        Binding::Command => None,
        Binding::Process {
            pid,
            kill,
            ref daemon,
        } => match BoundProcess::to(pid, kill, daemon) {
            Ok(bound) => Some(bound),
            Err(why) => return caller.send(&Note::NotAcquired(NotAcquired::Unbound(why))),
        },
    };
    let asked = ask(&assignment);
    // A keeper must not keep a file system busy.
    chdir("/")?;
    match asked {
        // A process that grants locks is waited for by whoever outlives this one.
        Ok((lock, _granter)) => Work::new(&assignment, caller, lock, bound)?.run(),
        Err(error) => {
            let why = NotAcquired::NoDaemon(error.to_string());
            caller.send(&Note::NotAcquired(why))
        }
    }
}

/// Asks for the lock. The parent process, whose user is kept waiting, looks into the silence of a daemon.
fn ask(assignment: &Assignment) -> Result<(HeldLock, Option<Child>), Error> {
    let answers_by = client::answers_by(assignment.wait_ms);
    let (lines, granter) = assignment.granter.reach()?;
    let lock = HeldLock::ask(lines, &assignment.request, answers_by, assignment.margins);
    Ok((lock, granter))
}
