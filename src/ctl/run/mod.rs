//! `ringctl run`: a command that runs while the token is held.
//!
//! Three processes: `ringctl`, which stands for the command towards its caller (terminal,
//! signals, exit code); the keeper, which holds the lock and ends the command when it is lost
//! (`super::keeper`, which also says who waits for whom); and the command.

mod signals;
mod supervisor;
mod terminal;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::keeper::{Assignment, Binding, Keeper, Note, Want, Why};
use super::options::{Acquire, OnceOptions, RunOptions};
use super::prober::Prober;
use super::{Error, duration_ms, fence};
use crate::control::{Grant, OnceRequest};
use signals::Signals;
use supervisor::Supervisor;

/// Runs the command while the lock is held, and returns its exit code.
///
/// # Errors
/// The lock is not to be had, or it is lost.
pub(super) fn run(socket: &Path, options: &RunOptions) -> Result<u8, Error> {
    let command = command(options);
    let lock = options.acquire.request(&name(&command));
    work(socket, options, &command, Want::Lock(lock))
}

/// Runs the command if it has not run in its period, and returns its exit code; 0 if it has.
///
/// # Errors
/// The lock is not to be had, or it is lost.
pub(super) fn once(socket: &Path, options: &OnceOptions, quiet: bool) -> Result<u8, Error> {
    let run = &options.run;
    let once = OnceRequest {
        name: options.name.to_string(),
        every_ms: duration_ms(options.every),
        retry: options.retry,
        lock: run.acquire.request(&options.name.to_string()),
    };
    match work(socket, run, &command(run), Want::Once(once)) {
        Err(Error::HasRun(text)) => {
            if options.verbose {
                // If standard error is closed, the exit code still tells.
                let _ = writeln!(io::stderr(), "ringctl: {text}");
            }
            Ok(0)
        }
        Err(Error::RunLost(text)) => {
            if !quiet {
                let _ = writeln!(
                    io::stderr(),
                    "ringctl: {text}; with --retry it is run again"
                );
            }
            Ok(0)
        }
        other => other,
    }
}

fn work(
    socket: &Path,
    options: &RunOptions,
    command: &[OsString],
    want: Want,
) -> Result<u8, Error> {
    let mut signals = Signals::new().map_err(Error::System)?;
    let is_job = matches!(want, Want::Once(_));
    let assignment = Assignment {
        socket: socket.to_owned(),
        want,
        grace_ms: duration_ms(options.grace),
        binding: Binding::Command,
    };
    let mut keeper = Keeper::start(assignment).map_err(Error::System)?;
    let (grant, cgroup) = granted(&mut keeper, socket, &options.acquire)?;
    // From here on signals are for the command.
    signals.take_all().map_err(Error::System)?;
    let supervisor = Supervisor::start(keeper, signals, cgroup, command, &environment(&grant));
    supervisor.map_err(Error::System)?.work(is_job)
}

/// Waits for the lock from the daemon at `socket`.
///
/// # Errors
/// The lock is not granted.
pub(super) fn granted(
    keeper: &mut Keeper,
    socket: &Path,
    options: &Acquire,
) -> Result<(Grant, Option<PathBuf>), Error> {
    let mut prober = Prober::new(socket);
    loop {
        let note = keeper.wait_with(&mut prober);
        match note.map_err(Error::System)? {
            Some(Note::Granted { grant, cgroup }) => return Ok((grant, cgroup)),
            Some(Note::NotAcquired(why)) => return Err(without_lock(why, options)),
            Some(_) => {}
            None => return Err(Error::KeeperGone),
        }
    }
}

/// Returns the error for a lock that is not granted.
pub(super) fn without_lock(why: Why, options: &Acquire) -> Error {
    match why {
        Why::Refused(text) => super::not_acquired(text, options),
        Why::Ran(text) => Error::HasRun(text),
        Why::RunLost(text) => Error::RunLost(text),
        Why::NoDaemon(text) => Error::Gone(text),
        Why::Error(text) => Error::Refused(text),
    }
}

fn command(options: &RunOptions) -> Vec<OsString> {
    match &options.shell {
        Some(line) => vec!["sh".into(), "-c".into(), line.into()],
        None => options.command.clone(),
    }
}

/// Returns the command's name without its directory.
fn name(command: &[OsString]) -> Cow<'_, str> {
    let program = command.first().map(Path::new);
    let name = program.map(|program| program.file_name().unwrap_or(program.as_os_str()));
    name.unwrap_or_default().to_string_lossy()
}

/// Returns the environment variables that tell the command about the lock.
pub(super) fn environment(grant: &Grant) -> [(&'static str, String); 5] {
    [
        (fence::LOCK, grant.fencing.clone()),
        (fence::TOKEN, grant.fencing.clone()),
        ("RINGD_PROGRESS", grant.token.progress.to_string()),
        ("RINGD_GRADE", grant.grade.clone()),
        ("RINGD_DATA", grant.data.clone()),
    ]
}
