//! `ringctl guard`: a command that runs only if its token is the newest.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use ring_client::fencing::{FencingToken, Record};

use super::Error;
use super::gate::{become_command, cannot_run};

/// The variable with the fencing token. Hooks have it too, but hold no lock.
pub(super) const TOKEN: &str = "RINGD_TOKEN";
/// The variable of programs that run under a lock: its fencing token.
pub(super) const LOCK: &str = "RINGD_LOCK";
/// The variable with the name of an event, which only hooks have.
const EVENT: &str = "RINGD_EVENT";
/// The longest token that anybody spells.
const LONGEST: usize = 128;

const GUARD: &str = "\
The command runs while FILE is locked as by flock, so nothing newer slips in \
between. FILE holds the record alone: keep it beside what it protects, where \
all holders find it.

Exit codes: those of the command, and
  1    no token, or FILE cannot be used
  76   the token is stale: FILE records a newer one
  126  the command cannot be run
  127  there is no such command

Example:
  ringctl run -c 'make report && ringctl guard /nfs/report.fence -- mv report /nfs/'";

/// What is to be run, and against which record.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = GUARD)]
pub struct GuardOptions {
    /// Check this token instead of $RINGD_TOKEN.
    #[arg(long)]
    pub token: Option<FencingToken>,

    /// Go on from the newest token that can still be read in a damaged FILE.
    ///
    /// If a newer one was lost, a holder that is older than that is let through: make sure that none is at
    /// work. An undamaged FILE stays as it is.
    #[arg(long)]
    pub repair: bool,

    /// The file that records the newest token; made if it is missing.
    ///
    /// It is refused if it is a symbolic link, if it is empty, or if it is damaged in any way.
    pub file: PathBuf,

    /// The command and its arguments.
    #[arg(value_name = "CMD", trailing_var_arg = true, required = true)]
    pub command: Vec<OsString>,
}

/// Becomes the command, which inherits the record's lock: the lock lasts as long as the command and all that it
/// has started, and no process stands between the command and its caller. Returns an exit code only if there
/// is no such command.
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

/// Returns the fencing token of the lock under which this program was started, if it was.
pub(super) fn lock_of_caller() -> Result<Option<FencingToken>, Error> {
    token_in(LOCK)
}

/// Returns the fencing token in this program's environment, as whoever granted it spells it. A hook has the token of the
/// ring's owner there, and no lock.
pub(super) fn token_of_caller() -> Option<String> {
    // No ringctl that holds a lock sets anything but a token.
    let token = |variable| env::var(variable).ok().filter(|text| text.len() <= LONGEST);
    token(LOCK).or_else(|| token(TOKEN).filter(|_| env::var_os(EVENT).is_none()))
}

fn token_in(variable: &str) -> Result<Option<FencingToken>, Error> {
    match env::var(variable) {
        Ok(text) => Ok(Some(text.parse()?)),
        Err(_) => Ok(None),
    }
}
