//! `ringctl lock` and `ringctl unlock`, for scripts that cannot wrap a command.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use nix::unistd::getppid;

use super::super::Error;
use super::super::connection::Connection;
use super::super::keeper::{Binding, Keeper, LockId, Note, Order, connect_keeper};
use super::super::pipe::hold_while_read;
use super::super::run::wait_for_grant;
use super::options::LockOptions;
use super::requests::{keeper_assignment, not_acquired_error};
use ring_client::lock::MARGINS;
use ring_proto::lab2::LockName;

/// Acquires the lock, and prints its fencing token. A keeper continues to run and holds the lock.
pub(super) fn lock(
    socket: &Path,
    options: &LockOptions,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    if options.check {
        let lock = lock_id(socket, options.lock.name);
        return Ok(check(&lock, pid(options.pid)?, output)?);
    }
    let acquire = &options.acquire;
    let lock = acquire.request("lock");
    let (wait_ms, request) = (lock.wait_ms, options.lock.request_json(lock));
    let to_error = |why| options.lock.name_error(not_acquired_error(why, acquire));
    let lock_text = options.lock.lock_text();
    if options.pipe {
        let connection = Connection::open_for_lock(socket, lock_text, acquire.reasons())?;
        let held = hold_while_read(connection, &request, wait_ms, MARGINS, to_error, output);
        return held.map_err(|error| match error.downcast() {
            Ok(error) => options.lock.name_error(error).into(),
            Err(other) => other,
        });
    }
    let binding = Binding::Process {
        pid: pid(options.pid)?,
        kill: options.kill,
        lock: lock_id(socket, options.lock.name),
    };
    let assignment = keeper_assignment(socket, request, wait_ms, binding);
    let mut keeper = Keeper::start(assignment).map_err(Error::System)?;
    let prober = Some(acquire.prober(socket, lock_text));
    let (grant, _) = wait_for_grant(&mut keeper, prober, to_error)?;
    // If this fails, this process ends, and then the keeper releases the lock.
    writeln!(output, "{}", grant.fencing)?;
    output.flush()?;
    keeper.send(&Order::StandAlone);
    let why = match keeper.wait_for_note() {
        Some(Note::Held(_)) => return Ok(()),
        Some(Note::Lost(why)) => why,
        _ => "the process that held it (ringd-keeper) has ended".to_owned(),
    };
    Err(options.lock.name_error(Error::Lost(why)).into())
}

pub(super) fn unlock(socket: &Path, name: Option<LockName>, of: Option<i32>) -> Result<(), Error> {
    let lock = lock_id(socket, name);
    match ask_keeper(&lock, pid(of)?, &Order::Ended)? {
        Some(Note::Released) => Ok(()),
        _ => Err(Error::NotHeld(lock.name)),
    }
}

fn check(lock: &LockId, pid: i32, output: &mut impl Write) -> Result<(), Error> {
    match ask_keeper(lock, pid, &Order::Check)? {
        Some(Note::Held(token)) => writeln!(output, "{token}").map_err(Error::System),
        _ => Err(Error::NotHeld(lock.name.clone())),
    }
}

/// Sends an order to the keeper of a process's lock. Returns the keeper's answer; `None` if the keeper ended.
fn ask_keeper(lock: &LockId, pid: i32, order: &Order) -> Result<Option<Note>, Error> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::TimedOut => Error::Gone(error.to_string()),
        _ => Error::System(error),
    };
    let found = connect_keeper(pid, lock).map_err(failed)?;
    let mut keeper = found.ok_or_else(|| Error::NotHeld(lock.name.clone()))?;
    keeper.ask(order).map_err(failed)
}

pub(super) fn lock_id(socket: &Path, name: Option<LockName>) -> LockId {
    LockId {
        daemon: socket.to_owned(),
        name: name.map(|name| name.to_string()),
    }
}

fn pid(given: Option<i32>) -> Result<i32, Error> {
    match given.unwrap_or_else(|| getppid().as_raw()) {
        // The number is 0 if the calling process is in an outer PID namespace. For example, it may have entered a
        // container only for this command.
        0 => Err(Error::NoCaller),
        pid => Ok(pid),
    }
}
