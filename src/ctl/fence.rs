//! `ringctl guard`: a command that runs only if its token is the newest.

use std::env;
use std::io::{self, Write};

use nix::fcntl::{FcntlArg, FdFlag, fcntl};

use super::Error;
use super::gate::{become_command, cannot_run};
use super::options::GuardOptions;
use crate::fencing::{FencingToken, Record};

/// The variable for what is to be fenced. Hooks have it, too, and hold no lock.
pub(super) const TOKEN: &str = "RINGD_TOKEN";
/// The variable for what runs under a lock: the fencing token of that.
pub(super) const LOCK: &str = "RINGD_LOCK";
/// The variable for what has happened, which hooks have and nothing else.
const EVENT: &str = "RINGD_EVENT";

/// Becomes the command, with the record's lock in its hands: the lock lasts as long as the
/// command and what it has started, and nobody stands between the command and its caller. The
/// exit code, if there is no such command.
///
/// # Errors
/// The token is missing or stale, or the record cannot be kept.
pub(super) fn guard(options: &GuardOptions) -> Result<u8, Error> {
    let token = match options.token {
        Some(token) => token,
        None => token_in(TOKEN)?.ok_or(Error::NoToken)?,
    };
    let mut record: Record = if options.repair {
        Record::repair(&options.file)?
    } else {
        Record::lock(&options.file)?
    };
    if record.was_damaged() {
        let left = record.newest().map(|token| token.to_string());
        // Nobody may be there to read it.
        let _ = writeln!(
            io::stderr(),
            "ringctl: {} was damaged, and is whole again; the newest token that could still be read in it: {}",
            options.file.display(),
            left.as_deref().unwrap_or("none")
        );
    }
    record.admit(token)?;
    fcntl(&record, FcntlArg::F_SETFD(FdFlag::empty()))
        .map_err(|error| Error::System(error.into()))?;
    let Some((program, arguments)) = options.command.split_first() else {
        return Ok(0);
    };
    let Err(error) = become_command(program, arguments);
    Ok(cannot_run(program, &error))
}

/// The fencing token of the lock under which this program was started, if it was.
///
/// # Errors
/// The variable holds something else.
pub(super) fn lock_of_caller() -> Result<Option<FencingToken>, Error> {
    token_in(LOCK)
}

/// The fencing token under which this program was started, as far as its environment says. A hook has
/// the token of whoever owns the ring, and no lock.
pub(super) fn token_of_caller() -> Option<FencingToken> {
    // What is no token was not set by any ringctl that holds one.
    let token = |variable| token_in(variable).ok().flatten();
    token(LOCK).or_else(|| token(TOKEN).filter(|_| env::var_os(EVENT).is_none()))
}

fn token_in(variable: &str) -> Result<Option<FencingToken>, Error> {
    match env::var(variable) {
        Ok(text) => Ok(Some(text.parse()?)),
        Err(_) => Ok(None),
    }
}
