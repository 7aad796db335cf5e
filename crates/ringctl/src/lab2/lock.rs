//! `ringctl lock` and `ringctl unlock`, for scripts that cannot wrap a command.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use nix::unistd::getppid;

use super::super::Error;
use super::super::connection::Connection;
use super::super::keeper::{Binding, Keeper, Note, Order, connect_keeper};
use super::super::pipe::hold_while_read;
use super::super::run::wait_for_grant;
use super::options::LockOptions;
use super::requests::{keeper_assignment, lock_request_json, not_acquired_error};
use ring_client::lock::MARGINS;

/// Acquires the lock, prints its fencing token, and leaves the lock to a keeper that continues to run.
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
        let (wait_ms, request) = (lock.wait_ms, lock_request_json(lock));
        let to_error = |why| not_acquired_error(why, acquire);
        let connection = Connection::open_for_token(socket, acquire.reasons())?;
        return hold_while_read(connection, &request, wait_ms, MARGINS, to_error, output);
    }
    let binding = Binding::Process {
        pid: pid(options.pid)?,
        kill: options.kill,
        daemon: socket.to_owned(),
    };
    let assignment = keeper_assignment(socket, lock, binding);
    let mut keeper = Keeper::start(assignment).map_err(Error::System)?;
    let (grant, _) = wait_for_grant(&mut keeper, Some(acquire.prober(socket)), |why| {
        not_acquired_error(why, acquire)
    })?;
    // If printing the token fails, this process ends, and so the keeper releases the lock.
    writeln!(output, "{}", grant.fencing)?;
    output.flush()?;
    keeper.send(&Order::StandAlone);
    match keeper.wait_for_note() {
        Some(Note::Held(_)) => Ok(()),
        Some(Note::Lost(why)) => Err(Error::Lost(why).into()),
        _ => {
            Err(Error::Lost("the process that held it (ringd-keeper) has ended".to_owned()).into())
        }
    }
}

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

/// Sends an order to the keeper of a process's lock. Returns the keeper's answer; `None` if the keeper ended.
fn ask_keeper(socket: &Path, pid: i32, order: &Order) -> Result<Option<Note>, Error> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::TimedOut => Error::Gone(error.to_string()),
        _ => Error::System(error),
    };
    let found = connect_keeper(pid, socket).map_err(failed)?;
    let mut keeper = found.ok_or(Error::NotHeld)?;
    keeper.ask(order).map_err(failed)
}

fn pid(given: Option<i32>) -> Result<i32, Error> {
    match given.unwrap_or_else(|| getppid().as_raw()) {
        // The calling process is in an outer PID namespace, for example if it has entered a container only for this
        // command.
        0 => Err(Error::NoCaller),
        pid => Ok(pid),
    }
}
