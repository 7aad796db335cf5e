//! `ringctl guard`: a command that runs only if its token is the newest.

use std::env;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use super::Error;
use super::gate::{become_command, cannot_run};
use super::options::GuardOptions;
use crate::fencing::{FencingToken, Record};

/// The variable that `ringctl run` sets.
pub(super) const TOKEN: &str = "RINGD_TOKEN";

/// Becomes the command, with the record's lock in its hands: the lock lasts as long as the
/// command and what it has started, and nobody stands between the command and its caller. The
/// exit code, if there is no such command.
///
/// # Errors
/// The token is missing or stale, or the record cannot be kept.
pub(super) fn guard(options: &GuardOptions) -> Result<u8, Error> {
    let token = match options.token {
        Some(token) => token,
        None => token_of_caller()?.ok_or(Error::NoToken)?,
    };
    let mut record = Record::lock(&options.file)?;
    record.admit(token)?;
    fcntl(&record, FcntlArg::F_SETFD(FdFlag::empty()))
        .map_err(|error| Error::System(error.into()))?;
    let Some((program, arguments)) = options.command.split_first() else {
        return Ok(0);
    };
    let Err(error) = become_command(program, arguments);
    Ok(cannot_run(program, &error))
}

/// The token under which this program was started, if it was.
///
/// # Errors
/// The variable holds something else.
pub(super) fn token_of_caller() -> Result<Option<FencingToken>, Error> {
    match env::var(TOKEN) {
        Ok(text) => Ok(Some(text.parse()?)),
        Err(_) => Ok(None),
    }
}
