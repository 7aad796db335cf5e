//! `ringctl lock` and `ringctl unlock`: for scripts that cannot wrap a command.

use std::io::Write;
use std::path::Path;

use nix::unistd::getppid;

use super::super::Error;
use super::super::keeper::{Binding, Keeper, Note, Order, find_keeper};
use super::super::lines::Lines;
use super::super::pipe::while_read;
use super::super::run::granted;
use super::options::LockOptions;
use super::{MARGINS, assignment, lock_request, not_acquired};

/// Acquires the lock, prints its fencing token, and leaves a keeper behind that holds it.
///
/// # Errors
/// An [`Error`], or that `output` takes nothing.
pub(super) fn lock(
    socket: &Path,
    options: &LockOptions,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    if options.check {
        return Ok(check(socket, pid(options.pid), output)?);
    }
    let acquire = &options.acquire;
    let lock = acquire.request("lock");
    if options.pipe {
        let (wait_ms, request) = (lock.wait_ms, lock_request(lock));
        let denied = |why| not_acquired(why, acquire);
        return while_read(socket, &request, wait_ms, MARGINS, denied, output);
    }
    let binding = Binding::Process {
        pid: pid(options.pid),
        kill: options.kill,
    };
    let assignment = assignment(socket, lock, binding);
    let mut keeper = Keeper::start(assignment).map_err(Error::System)?;
    let (grant, _) = granted(&mut keeper, socket, |why| not_acquired(why, acquire))?;
    // If it cannot be printed, this process ends, and the lock with it.
    writeln!(output, "{}", grant.fencing)?;
    output.flush()?;
    keeper.tell(&Order::StandAlone);
    match keeper.wait() {
        Some(Note::Held(_)) => Ok(()),
        Some(Note::Lost(why)) => Err(Error::Lost(why).into()),
        _ => {
            Err(Error::Lost("the process that held it (ringd-keeper) has ended".to_owned()).into())
        }
    }
}

/// Ends the lock that is bound to a process.
///
/// # Errors
/// There is none.
pub(super) fn unlock(socket: &Path, of: Option<i32>) -> Result<(), Error> {
    let mut keeper = keeper_of(socket, pid(of))?;
    keeper.send(&Order::Ended).map_err(Error::System)?;
    match keeper.wait() {
        Some(Note::Released) => Ok(()),
        _ => Err(Error::NotHeld),
    }
}

fn check(socket: &Path, pid: i32, output: &mut impl Write) -> Result<(), Error> {
    let mut keeper = keeper_of(socket, pid)?;
    keeper.send(&Order::Check).map_err(Error::System)?;
    match keeper.wait() {
        Some(Note::Held(token)) => writeln!(output, "{token}").map_err(Error::System),
        _ => Err(Error::NotHeld),
    }
}

fn keeper_of(socket: &Path, pid: i32) -> Result<Lines, Error> {
    let found = find_keeper(pid, socket).map_err(Error::System)?;
    found.ok_or(Error::NotHeld)
}

/// Returns the process given, or the one that has started this one.
fn pid(given: Option<i32>) -> i32 {
    given.unwrap_or_else(|| getppid().as_raw())
}
