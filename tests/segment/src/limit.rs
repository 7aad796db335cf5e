//! How long a test waits: what must happen happens soon, or the test fails and says what it saw.

use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// How long a test waits for what must happen before it fails. It judges nothing: a machine may stand still for
/// ten seconds, and all on it.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked for what nobody tells of.
const LOOK: Duration = Duration::from_millis(1);
/// The same as [`PATIENCE`] for `ringctl`'s `-w`.
pub const WAIT: &str = "60";

/// Waits until `fd` has something to read, or is at its end; false: not by then.
///
/// # Panics
/// `fd` is closed, or `by` is more than weeks away.
pub fn is_readable(fd: impl AsFd, by: Instant) -> bool {
    loop {
        let left = by.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).expect("it is short");
        let mut readable = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
        match poll(&mut readable, left) {
            Err(nix::errno::Errno::EINTR) => {}
            ready => return ready.expect("it is open") > 0,
        }
    }
}

/// Looks again and again whether something is so that nothing tells of.
///
/// # Panics
/// It is not within [`PATIENCE`].
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let by = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < by, "{what}: not within {PATIENCE:?}");
        // Whoever does it needs the processors.
        std::thread::sleep(LOOK);
    }
}

/// A text that comes bit by bit.
#[derive(Debug)]
pub struct Text<R> {
    source: R,
    /// What came and nobody has taken yet.
    seen: String,
    has_ended: bool,
}

impl<R: Read + AsFd> Text<R> {
    /// Nothing of it has come yet.
    pub const fn new(source: R) -> Self {
        Self {
            source,
            seen: String::new(),
            has_ended: false,
        }
    }

    /// Where it comes from.
    pub const fn source(&mut self) -> &mut R {
        &mut self.source
    }

    /// Takes all up to the end of `mark`, once that has come; without it all, if the text ends.
    ///
    /// # Panics
    /// Neither comes within [`PATIENCE`].
    pub fn take_to(&mut self, mark: &str) -> String {
        let by = Instant::now() + PATIENCE;
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

    /// Takes the rest, once its end has come.
    ///
    /// # Panics
    /// It does not within [`PATIENCE`].
    pub fn take_rest(&mut self) -> String {
        let by = Instant::now() + PATIENCE;
        while !self.has_ended {
            assert!(self.fill(by), "no end comes after {:?}", self.seen);
        }
        std::mem::take(&mut self.seen)
    }

    /// What has come so far.
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
            // So does a terminal that nobody has open.
            Err(_) => self.has_ended = true,
        }
        true
    }
}
