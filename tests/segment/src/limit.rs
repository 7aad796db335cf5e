//! Time limits of waits. If an expected event does not happen in time, the test fails and shows the events that did
//! happen.

use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Longest wait for an expected event. Tests do not judge the length of these waits, because a machine and all its
/// processes may stall for ten seconds.
pub const WAIT_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// [`WAIT_LIMIT`] for `ringctl`'s `-w`.
pub const WAIT: &str = "60";

/// Waits until `fd` is readable or has reached its end. Returns `false` if `fd` is in neither state at the time `by`.
///
/// # Panics
/// Panics if `fd` is closed, or if `by` is more than 24 days in the future.
pub fn is_readable(fd: impl AsFd, by: Instant) -> bool {
    loop {
        let left = by.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).expect("the time is short");
        let mut readable = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
        match poll(&mut readable, left) {
            Err(nix::errno::Errno::EINTR) => {}
            ready => return ready.expect("the descriptor is open") > 0,
        }
    }
}

/// Calls `is_so` repeatedly until it returns `true`.
///
/// # Panics
/// Panics if `is_so` does not return `true` within [`WAIT_LIMIT`].
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let by = Instant::now() + WAIT_LIMIT;
    while !is_so() {
        assert!(
            Instant::now() < by,
            "{what}: did not happen within {WAIT_LIMIT:?}"
        );
        // Leaves the CPU to the process for which this loop waits.
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Text that arrives in parts.
#[derive(Debug)]
pub struct TextReader<R> {
    source: R,
    /// Text that arrived and that the test has not taken.
    seen: String,
    has_ended: bool,
}

impl<R: Read + AsFd> TextReader<R> {
    pub const fn new(source: R) -> Self {
        Self {
            source,
            seen: String::new(),
            has_ended: false,
        }
    }

    pub const fn source(&mut self) -> &mut R {
        &mut self.source
    }

    /// Waits for `mark`, and takes the text up to the end of `mark`. If the text ends without `mark`, takes all of the
    /// text.
    ///
    /// # Panics
    /// Panics if neither `mark` nor the end of the text arrives within [`WAIT_LIMIT`].
    pub fn take_to(&mut self, mark: &str) -> String {
        let by = Instant::now() + WAIT_LIMIT;
        loop {
            if let Some(at) = self.seen.find(mark) {
                let rest = self.seen.split_off(at + mark.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            if self.has_ended {
                return std::mem::take(&mut self.seen);
            }
            let comes = self.fill(by);
            assert!(
                comes,
                "{mark:?} does not arrive; the text is {:?}",
                self.seen
            );
        }
    }

    /// Waits for the end of the text, and takes the rest.
    ///
    /// # Panics
    /// Panics if the text does not end within [`WAIT_LIMIT`].
    pub fn take_rest(&mut self) -> String {
        let by = Instant::now() + WAIT_LIMIT;
        while !self.has_ended {
            assert!(
                self.fill(by),
                "the text does not end; it is {:?}",
                self.seen
            );
        }
        std::mem::take(&mut self.seen)
    }

    /// Returns the text that arrived and that the test has not taken.
    pub fn so_far(&mut self) -> &str {
        while !self.has_ended && self.fill(Instant::now()) {}
        &self.seen
    }

    fn fill(&mut self, by: Instant) -> bool {
        if !is_readable(&self.source, by) {
            return false;
        }
        let mut part = [0; 4096];
        match self.source.read(&mut part) {
            Ok(0) => self.has_ended = true,
            Ok(len) => self.seen.push_str(&String::from_utf8_lossy(&part[..len])),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A terminal returns an error after the last process has closed it.
            Err(_) => self.has_ended = true,
        }
        true
    }
}
