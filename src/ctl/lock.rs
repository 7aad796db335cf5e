//! `ringctl lock` and `ringctl unlock`: for scripts that cannot wrap a command.

use std::io::Write;
use std::path::Path;

use nix::unistd::getppid;

use super::Error;
use super::keeper::{Assignment, Binding, Keeper, Note, Order, Want, find_keeper};
use super::options::LockOptions;
use super::pipe::while_read;
use super::run::granted;

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
    if options.pipe {
        return while_read(socket, options, output);
    }
    let assignment = Assignment {
        socket: socket.to_owned(),
        want: Want::Lock(options.request()),
        grace_ms: 0,
        binding: Binding::Process {
            pid: pid(options.pid)?,
            kill: options.kill,
        },
    };
    let mut keeper = Keeper::start(assignment).map_err(Error::System)?;
    let (grant, _) = granted(&mut keeper, socket, &options.acquire)?;
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
    let mut keeper = keeper_of(socket, pid(of)?)?;
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

fn keeper_of(socket: &Path, pid: i32) -> Result<super::lines::Lines, Error> {
    let found = find_keeper(pid, socket).map_err(Error::System)?;
    found.ok_or(Error::NotHeld)
}

/// Returns the process given, or the one that has started this one.
fn pid(given: Option<i32>) -> Result<i32, Error> {
    match given.unwrap_or_else(|| getppid().as_raw()) {
        // It is in an outer namespace, as that of whoever enters a container.
        0 => Err(Error::NoCaller),
        pid => Ok(pid),
    }
}
