//! `ringctl run`: runs a command while holding the token.
//!
//! There are three processes. `ringctl` connects the caller and the command: it handles the terminal, the signals and
//! the exit code. The keeper holds the lock, and ends the command when the lock is lost. The third process is the
//! command. `super::keeper` describes the messages between `ringctl` and the keeper.

mod signals;
mod supervisor;
mod terminal;

use std::ffi::OsString;
use std::path::PathBuf;

use super::Error;
use super::keeper::{Assignment, Keeper, NotAcquired, Note};
use super::prober::Prober;
use ring_control::Grant;
use signals::Signals;
use supervisor::Supervisor;

/// Runs the command while holding the lock, and returns the command's exit code. The prober probes the daemon while the
/// request for the lock waits. `environment` returns the environment variables that describe the lock.
///
/// # Errors
/// If the lock is not granted, fails with the error that `not_acquired` returns. Also fails if the lock is lost.
pub(super) fn run(
    assignment: Assignment,
    prober: Option<Prober<'_>>,
    command: &[OsString],
    environment: impl FnOnce(&Grant) -> Vec<(&'static str, String)>,
    not_acquired: impl Fn(NotAcquired) -> Error,
) -> Result<u8, Error> {
    let mut signals = Signals::new().map_err(Error::System)?;
    let is_job = assignment.reports.is_some();
    let mut keeper = Keeper::start(assignment).map_err(Error::System)?;
    let (grant, cgroup) = wait_for_grant(&mut keeper, prober, not_acquired)?;
    // From here on, `ringctl` forwards signals to the command.
    signals.catch_all().map_err(Error::System)?;
    let supervisor = Supervisor::start(keeper, signals, cgroup, command, &environment(&grant));
    supervisor.map_err(Error::System)?.run(is_job)
}

/// Waits for the lock. While the request for the lock waits, the prober probes the daemon.
pub(super) fn wait_for_grant(
    keeper: &mut Keeper,
    mut prober: Option<Prober<'_>>,
    not_acquired: impl Fn(NotAcquired) -> Error,
) -> Result<(Grant, Option<PathBuf>), Error> {
    loop {
        let note = match &mut prober {
            Some(prober) => keeper
                .wait_for_note_probing(prober)
                .map_err(Error::System)?,
            None => keeper.wait_for_note(),
        };
        match note {
            Some(Note::Granted { grant, cgroup }) => return Ok((grant, cgroup)),
            Some(Note::NotAcquired(why)) => return Err(not_acquired(why)),
            Some(Note::Exposed(text)) => keeper.warn(&text),
            Some(_) => {}
            None => return Err(Error::KeeperGone),
        }
    }
}
