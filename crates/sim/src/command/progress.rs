//! A line on the terminal that says how far a long command has come.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line is written at most.
const TICK: Duration = Duration::from_millis(200);
/// Goes to the start of the line and erases it.
const ERASE: &str = "\r\x1b[K";

/// The last line of standard error, written over and over; nothing where that is no terminal.
pub(super) struct Progress {
    started: Instant,
    is_terminal: bool,
    /// When the line was written last.
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

    /// Replaces the line, unless it was written just now. What makes it is told how long it all has taken so
    /// far.
    pub(super) fn show(&mut self, line: impl FnOnce(Duration) -> String) {
        let now = Instant::now();
        let is_recent = |written| now.duration_since(written) < TICK;
        if self.is_terminal && !self.written.is_some_and(is_recent) {
            self.written = Some(now);
            write(&format!("{ERASE}{}", line(now - self.started)));
        }
    }

    /// Writes a line that stays.
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
    // Who does not see it misses nothing that is not said at the end.
    let _ = stderr.write_all(text.as_bytes());
    let _ = stderr.flush();
}

/// Seconds that `all` will take if `done` of them took `elapsed`.
pub(super) fn in_all(elapsed: Duration, done: u64, all: u64) -> u128 {
    elapsed.as_millis() * u128::from(all) / u128::from(done.max(1)) / 1_000
}

#[cfg(test)]
mod tests {
    use super::in_all;
    use std::time::Duration;

    #[test]
    fn what_is_left_is_taken_to_go_on_as_before() {
        assert_eq!(in_all(Duration::from_secs(3), 10, 200), 60);
        assert_eq!(in_all(Duration::from_secs(3), 200, 200), 3);
        assert_eq!(in_all(Duration::ZERO, 0, 200), 0);
    }
}
