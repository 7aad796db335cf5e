//! A line on the terminal that shows the progress of a long command.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// The minimum time between two updates of the line.
const TICK: Duration = Duration::from_millis(200);
/// The sequence that goes to the start of the line and erases it.
const ERASE: &str = "\r\x1b[K";

/// The progress line on standard error. The line is shown only if standard error is a terminal.
pub(super) struct Progress {
    started: Instant,
    is_terminal: bool,
    written: Option<Instant>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::now(),
            is_terminal: io::stderr().is_terminal(),
            written: None,
        }
    }

    /// Replaces the line, unless the line was replaced shortly before. `line` gets the elapsed time.
    pub(super) fn show(&mut self, line: impl FnOnce(Duration) -> String) {
        let now = Instant::now();
        let is_recent = |written| now.duration_since(written) < TICK;
        if self.is_terminal && !self.written.is_some_and(is_recent) {
            self.written = Some(now);
            write(&format!("{ERASE}{}", line(now - self.started)));
        }
    }

    /// Writes a line that no later line replaces.
    pub(super) fn keep(&mut self, line: &str) {
        if self.is_terminal {
            self.written = None;
            write(&format!("{ERASE}{line}\n"));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.written.is_some() {
            write(ERASE);
        }
    }
}

fn write(text: &str) {
    let mut stderr = io::stderr();
    // If the write fails, only a progress line is lost, and the final output repeats its facts.
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// Estimates the total time in seconds, if `done` of `all` items took `elapsed`.
pub(super) fn in_all(elapsed: Duration, done: u64, all: u64) -> u128 {
    elapsed.as_millis() * u128::from(all) / u128::from(done.max(1)) / 1_000
}

#[cfg(test)]
mod tests {
    use super::in_all;
    use std::time::Duration;

    #[test]
    fn the_rest_is_estimated_from_the_elapsed_time() {
        assert_eq!(in_all(Duration::from_secs(3), 10, 200), 60);
        assert_eq!(in_all(Duration::from_secs(3), 200, 200), 3);
        assert_eq!(in_all(Duration::ZERO, 0, 200), 0);
    }
}
