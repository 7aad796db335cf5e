//! `ringctl run`: a command that runs while the token is held.
//!
//! Three processes: `ringctl`, which stands for the command towards its caller (terminal,
//! signals, exit code); the keeper, which holds the lock and ends the command when it is lost
//! (`super::keeper`, which also says who waits for whom); and the command.

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

/// Runs the command while the lock is held, and returns its exit code. The prober looks after a daemon that is asked for
/// the lock. `environment` has what the command is told of the lock.
///
/// # Errors
/// The lock is not granted, for which `not_acquired` has the error, or it is lost.
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
    let (grant, cgroup) = granted(&mut keeper, prober, not_acquired)?;
    // From here on signals are for the command.
    signals.take_all().map_err(Error::System)?;
    let supervisor = Supervisor::start(keeper, signals, cgroup, command, &environment(&grant));
    supervisor.map_err(Error::System)?.work(is_job)
}

/// Waits for the lock. The prober looks after a daemon that is asked for it.
pub(super) fn granted(
    keeper: &mut Keeper,
    mut prober: Option<Prober<'_>>,
    not_acquired: impl Fn(NotAcquired) -> Error,
) -> Result<(Grant, Option<PathBuf>), Error> {
    loop {
        let note = match &mut prober {
            Some(prober) => keeper.wait_with(prober).map_err(Error::System)?,
            None => keeper.wait(),
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
