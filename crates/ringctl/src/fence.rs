//! `ringctl guard`: runs a command only if its fencing token is the newest.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use clap_complete::ArgValueCandidates;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use ring_client::fencing::{FencingToken, Record};
use ring_proto::lab2::LockName;

use super::Error;
use super::gate::{become_command, cannot_run};
use super::lab2::{lock_candidates, named_lock_token, parse_lock_name};

/// Environment variable with the fencing token. Hooks get this variable too, although they hold no lock.
pub(super) const TOKEN_VARIABLE: &str = "RINGD_TOKEN";
/// Environment variable of programs that run under a lock: the lock's fencing token.
pub(super) const LOCK_VARIABLE: &str = "RINGD_LOCK";
/// Environment variable with an event's name. Only hooks get this variable.
const EVENT_VARIABLE: &str = "RINGD_EVENT";
/// Maximum length of a token's text, in bytes.
const TOKEN_TEXT_MAX: usize = 128;

const GUARD_HELP: &str = "\
While the command runs, ringctl keeps FILE locked, as flock does. So a newer \
holder waits until the command ends. FILE contains only the record of tokens. \
All holders need the same FILE: put it next to the data that it protects.

The exit code is that of the command. Other exit codes:
  1    there is no token, or FILE cannot be used
  76   the token is stale: FILE records a newer token
  126  the command cannot be run
  127  there is no such command

Example:
  ringctl run -c 'make report && ringctl guard /nfs/report.fence -- mv report /nfs/'";

/// Options of `ringctl guard`.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = GUARD_HELP)]
pub(crate) struct GuardOptions {
    /// Check this token instead of $RINGD_TOKEN.
    #[arg(long, conflicts_with = "name")]
    pub token: Option<FencingToken>,

    /// Check the token of the named lock NAME.
    ///
    /// Run guard under ringctl run --name NAME. Between these two commands, you may also take other locks. Tokens of
    /// different locks cannot be compared, so each lock needs a separate FILE.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = parse_lock_name,
        add = ArgValueCandidates::new(lock_candidates)
    )]
    pub name: Option<LockName>,

    /// Repair a damaged FILE from its newest readable token.
    ///
    /// If the damage destroyed a newer token, an older holder can pass the check. Make sure that no older holder still
    /// works. An undamaged FILE is not changed.
    #[arg(long)]
    pub repair: bool,

    /// Record the newest token in this file.
    ///
    /// If the file is missing, ringctl creates it. If FILE is a symbolic link, is empty or is damaged, ringctl fails.
    pub file: PathBuf,

    /// Run this command with these arguments.
    #[arg(value_name = "CMD", trailing_var_arg = true, required = true)]
    pub command: Vec<OsString>,
}

/// Replaces this process by the command. The command inherits the lock on the record. So the record stays locked until
/// the command and all its processes have ended. Returns an exit code only if the command cannot be run.
pub(super) fn guard(options: &GuardOptions) -> Result<u8, Error> {
    let token = match (options.token, options.name) {
        (Some(token), _) => token,
        (None, Some(name)) => {
            let token = named_lock_token(name).ok_or(Error::NoNamedToken(name))?;
            token.parse()?
        }
        (None, None) => token_from(TOKEN_VARIABLE)?.ok_or(Error::NoToken)?,
    };
    let mut record: Record = if options.repair {
        Record::repair(&options.file)?
    } else {
        Record::lock(&options.file)?
    };
    if record.was_damaged() {
        let readable = record.newest().map(|token| token.to_string());
        // A failure to print does not undo the repair.
        let _ = writeln!(
            io::stderr(),
            "ringctl: {} was damaged and is repaired now; its newest readable token is {}",
            options.file.display(),
            readable.as_deref().unwrap_or("none")
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

pub(super) fn caller_lock() -> Result<Option<FencingToken>, Error> {
    token_from(LOCK_VARIABLE)
}

/// Returns the fencing token from the environment of this program, in the spelling of the granter. Returns `None` in a
/// hook: its environment contains the token of the ring's owner, but a hook has no lock.
pub(super) fn caller_token() -> Option<String> {
    // ringctl never sets a longer value. So a longer value comes from another program.
    let token = |variable| {
        env::var(variable)
            .ok()
            .filter(|text| text.len() <= TOKEN_TEXT_MAX)
    };
    token(LOCK_VARIABLE)
        .or_else(|| token(TOKEN_VARIABLE).filter(|_| env::var_os(EVENT_VARIABLE).is_none()))
}

fn token_from(variable: &str) -> Result<Option<FencingToken>, Error> {
    match env::var(variable) {
        Ok(text) => Ok(Some(text.parse()?)),
        Err(_) => Ok(None),
    }
}
