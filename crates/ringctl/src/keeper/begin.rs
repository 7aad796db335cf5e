//! The start of a keeper process.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Child;

use nix::unistd::chdir;

use super::super::{Error, client};
use super::binding::BoundProcess;
use super::event_loop::EventLoop;
use super::{Assignment, Binding, NAME, NotAcquired, Note, Order, detach};
use ring_client::held_lock::HeldLock;
use ring_client::lines::Lines;

/// Runs the keeper, which holds a lock for its parent process. The parent sends orders over the keeper's standard
/// input.
pub(crate) fn run_keeper() -> io::Result<()> {
    detach(NAME)?;
    let caller = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut caller = Lines::new(caller);
    let Some(Order::Begin(assignment)) = caller.wait_for_message() else {
        return Ok(());
    };
    let bound = match assignment.binding {
        Binding::Command | Binding::Units { .. } => None,
        Binding::Process {
            pid,
            kill,
            ref lock,
        } => match BoundProcess::bind(pid, kill, lock) {
            Ok(bound) => Some(bound),
            Err(why) => return caller.send(&Note::NotAcquired(NotAcquired::Unbound(why))),
        },
    };
    let asked = request_lock(&assignment);
    // Otherwise, the file system of the working directory could not be unmounted while this process runs.
    chdir("/")?;
    match asked {
        // The keeper does not wait for the granter. The granter may end after the keeper, and then init reaps it.
        Ok((lock, _granter)) => EventLoop::new(&assignment, caller, lock, bound)?.run(),
        Err(error) => {
            let why = NotAcquired::NoDaemon(error.to_string());
            caller.send(&Note::NotAcquired(why))
        }
    }
}

/// Requests the lock. The keeper needs no prober: its parent, for which the user waits, probes a silent daemon.
fn request_lock(assignment: &Assignment) -> Result<(HeldLock, Option<Child>), Error> {
    let answer_deadline = client::answer_deadline(assignment.wait_ms);
    let (lines, granter) = assignment.granter.connect()?;
    let lock = HeldLock::request(
        lines,
        &assignment.request,
        answer_deadline,
        assignment.margins,
    );
    Ok((lock, granter))
}
