//! The trace of a run: one line per event.

use std::collections::VecDeque;
use std::fmt;

/// The last lines of a run; the default trace keeps no lines.
#[derive(Debug, Default)]
pub struct Trace {
    most: usize,
    lines: VecDeque<String>,
}

impl Trace {
    /// Returns a trace that keeps the last `most` lines.
    pub const fn of(most: usize) -> Self {
        Self {
            most,
            lines: VecDeque::new(),
        }
    }

    /// Adds a line with a time in nanoseconds.
    pub fn note(&mut self, at: u64, what: impl FnOnce() -> String) {
        if self.most == 0 {
            return;
        }
        if self.lines.len() == self.most {
            self.lines.pop_front();
        }
        let line = format!("{:>13} {}", Seconds(at), what());
        self.lines.push_back(line);
    }

    /// Returns the lines, and stops recording.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(self).lines.into()
    }
}

/// A simulated time in nanoseconds, printed in seconds.
struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0 / 1_000;
        f.pad(&format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::Trace;

    #[test]
    fn the_last_lines_are_kept_with_their_times() {
        let mut trace = Trace::of(2);
        for (at, what) in [(1_000, "one"), (2_500_000_000, "two"), (3_000, "three")] {
            trace.note(at, || what.to_owned());
        }
        let lines = ["     2.500000 two", "     0.000003 three"];
        assert_eq!(trace.take(), lines.map(ToOwned::to_owned));
        let mut nobody_reads = Trace::default();
        nobody_reads.note(1, || panic!("no line is kept, so none is formatted"));
        assert!(nobody_reads.take().is_empty());
    }
}
