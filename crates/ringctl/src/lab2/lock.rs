//! `ringctl lock` and `ringctl unlock`: for scripts that cannot wrap a command.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use nix::unistd::getppid;

use super::super::Error;
use super::super::connection::Connection;
use super::super::keeper::{Binding, Keeper, Note, Order, find_keeper};
use super::super::pipe::while_read;
use super::super::run::granted;
use super::asking::{assignment, lock_request, not_acquired};
use super::options::LockOptions;
use ring_client::lock::MARGINS;

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
        return Ok(check(socket, pid(options.pid)?, output)?);
    }
    let acquire = &options.acquire;
    let lock = acquire.request("lock");
    if options.pipe {
        let (wait_ms, request) = (lock.wait_ms, lock_request(lock));
        let denied = |why| not_acquired(why, acquire);
        let connection = Connection::for_the_token(socket, acquire.reasons())?;
        return while_read(connection, &request, wait_ms, MARGINS, denied, output);
    }
    let binding = Binding::Process {
        pid: pid(options.pid)?,
        kill: options.kill,
        daemon: socket.to_owned(),
    };
    let assignment = assignment(socket, lock, binding);
    let mut keeper = Keeper::start(assignment).map_err(Error::System)?;
    let (grant, _) = granted(&mut keeper, Some(acquire.prober(socket)), |why| {
        not_acquired(why, acquire)
    })?;
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
pub(super) fn unlock(socket: &Path, of: Option<i32>) -> Result<(), Error> {
    match ask_keeper(socket, pid(of)?, &Order::Ended)? {
        Some(Note::Released) => Ok(()),
        _ => Err(Error::NotHeld),
    }
}

fn check(socket: &Path, pid: i32, output: &mut impl Write) -> Result<(), Error> {
    match ask_keeper(socket, pid, &Order::Check)? {
        Some(Note::Held(token)) => writeln!(output, "{token}").map_err(Error::System),
        _ => Err(Error::NotHeld),
    }
}

/// Returns the answer of the keeper of a process's lock; `None`: it has ended.
fn ask_keeper(socket: &Path, pid: i32, order: &Order) -> Result<Option<Note>, Error> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::TimedOut => Error::Gone(error.to_string()),
        _ => Error::System(error),
    };
    let found = find_keeper(pid, socket).map_err(failed)?;
    let mut keeper = found.ok_or(Error::NotHeld)?;
    keeper.ask(order).map_err(failed)
}

/// Returns the process given, or the one that has started this one.
fn pid(given: Option<i32>) -> Result<i32, Error> {
    match given.unwrap_or_else(|| getppid().as_raw()) {
        // It is in an outer namespace, as that of whoever enters a container.
        0 => Err(Error::NoCaller),
        pid => Ok(pid),
    }
}
