//! Measures `ringctl token run NAME -- true`. It starts four processes of `ringctl`, requests the token, runs the
//! command and returns the token.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::median::median;
use super::server::{self, ServerProcesses};

/// Time before each run. For a short time after a move of a process into a control group, the next move is faster. The
/// runs of a script follow each other more slowly.
const PAUSE: Duration = Duration::from_millis(150);

/// Returns the median time of a command, for each of these builds of `ringctl`. The builds run in turn.
pub(crate) fn run(
    servers: &ServerProcesses,
    programs: &[&Path],
    runs: usize,
) -> Result<Vec<Duration>> {
    server::use_all_processors()?;
    let mut times = vec![Vec::with_capacity(runs); programs.len()];
    for _ in 0..runs {
        for (program, times) in programs.iter().zip(&mut times) {
            thread::sleep(PAUSE);
            let began = Instant::now();
            let status = Command::new(program)
                .args(["token", "--servers"])
                .arg(servers.list())
                .args(["run", "command", "--", "/bin/true"])
                .status()?;
            times.push(began.elapsed());
            ensure!(status.success(), "{} failed: {status}", program.display());
        }
    }
    Ok(times.into_iter().map(median).collect())
}
