//! Time limits of waits: an expected event must happen in time, or the test fails and describes what it saw.

use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Longest wait for an expected event. No test judges this time: a machine and all its processes may stall for ten
/// seconds.
pub const WAIT_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// [`WAIT_LIMIT`] for `ringctl`'s `-w`.
pub const WAIT: &str = "60";

/// Waits until `fd` is readable or at its end. Returns false at time `by`.
///
/// # Panics
/// `fd` is closed, or `by` is more than weeks away.
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

/// Polls until `is_so` holds.
///
/// # Panics
/// It does not hold within [`WAIT_LIMIT`].
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let by = Instant::now() + WAIT_LIMIT;
    while !is_so() {
        assert!(Instant::now() < by, "{what}: not within {WAIT_LIMIT:?}");
        // Leaves the CPU to the process that makes it true.
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Text that arrives in parts.
#[derive(Debug)]
pub struct TextReader<R> {
    source: R,
    /// Text that arrived and was not taken yet.
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

    /// Waits for `mark`, and takes the text up to its end. If the text ends without it, takes all.
    ///
    /// # Panics
    /// Neither arrives within [`WAIT_LIMIT`].
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
            assert!(comes, "{mark:?} does not come, but {:?}", self.seen);
        }
    }

    /// Waits for the end of the text, and takes the rest.
    ///
    /// # Panics
    /// It does not end within [`WAIT_LIMIT`].
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

    /// Returns the text that has arrived.
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
            // A terminal that no process has open returns an error.
            Err(_) => self.has_ended = true,
        }
        true
    }
}
