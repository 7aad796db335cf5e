//! Judges any program that claims to be a member, as a black box: by its frames and by the status of its neighbors.
//!
//! [`judge`] runs two `ringd`s and the judged program on a switch. Programs take locks with a quorum, while the switch
//! and the processes fail. The report has one line for each check. `docs/reference/lab2/conformance.md` describes the
//! checks.

mod candidate;
mod checks;
mod report;
mod run;
#[cfg(test)]
mod tests;
pub mod voter;
mod votes;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ring_segment::{Binaries, Timing};

pub use report::{Outcome, Report};
pub use run::judge;

/// The part of the protocol that a program implements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Level {
    /// Confirms tenures, and is always paused.
    Voter,
    /// Also owns the token and stands for election.
    Small,
    /// Implements the whole protocol.
    Full,
}

/// The options of a judgment.
#[derive(Debug, Clone)]
pub struct ConformOptions {
    pub binaries: Binaries,
    pub level: Level,
    pub timing: Timing,
    pub seed: u64,
    /// Length of the faults.
    pub lasts: Duration,
    /// Command line of the judged program, with placeholders.
    pub command: Vec<String>,
    /// Shell line that takes a lock with a quorum at the judged program, and runs `{job}` under this lock.
    pub lock: Option<String>,
    /// Folder for the program's log and its state.
    pub folder: PathBuf,
}

/// If this process was started as a helper of a judgment, runs this helper. Returns the exit code. A program that calls
/// [`judge`] calls this function first, because the judgment runs the same program again for the work under a lock.
pub fn help_if_asked() -> Option<ExitCode> {
    work::work_if_asked().or_else(voter::run_if_asked)
}
