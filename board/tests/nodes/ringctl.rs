//! `ringctl`, which is a program of another package: this one is it where it is started by that name.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{self, ExitCode};

use anyhow::{Context, Result};
use ringd::ctl::{self, Options};

/// A link to this program.
pub const PATH: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/ringctl");

/// Makes the link. Programs of this kind that begin at the same time, each with a process number of its own, do not disturb
/// one another.
pub fn link() -> Result<()> {
    let own = env::current_exe()?;
    let new = format!("{PATH}-{}", process::id());
    symlink(&own, &new).context("cannot link ringctl")?;
    fs::rename(&new, PATH).context("cannot link ringctl")
}

/// Does what `ringctl` does, as in `src/bin/ringctl.rs`, if this is it.
pub fn run_if_asked() -> Option<ExitCode> {
    let name = env::args_os().next()?;
    if Path::new(&name).file_name()? != "ringctl" {
        return None;
    }
    let done = ctl::carry_out(&Options::of_process(), &mut io::stdout().lock());
    Some(ExitCode::from(done.unwrap_or_else(|error| {
        eprintln!("ringctl: {error:#}");
        let known: Option<&ctl::Error> = error.downcast_ref();
        known.map_or(1, ctl::Error::exit_code)
    })))
}
