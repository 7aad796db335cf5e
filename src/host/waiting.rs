//! What a loop waits for.

use std::os::fd::AsFd;

use ring_proto::time::Instant;
use ring_runtime::wait::{Alarm, Interest, Poller};

use super::Error;

/// The key for messages, and for anything else that the link must be driven for.
pub const LINK: u64 = 0;
/// The key for changes of the network.
pub const NETWORK: u64 = 1;
/// The key for a descriptor of the system's own, by which its other threads get into the loop.
pub const SYSTEM: u64 = 2;
/// The key for signals.
pub(super) const SIGNALS: u64 = 3;
/// The key for the control socket and its clients.
pub(super) const CONTROL: u64 = 4;
/// The key for answers to jobs.
pub(super) const JOBS: u64 = 5;
const ALARM: u64 = 6;
/// The first key for descriptors of who runs an [`Errand`](super::Errand).
pub(super) const CALLER: u64 = 8;

/// The keys of the descriptors that a wait has found ready, each below 64.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ready(u64);

impl Ready {
    pub const fn has(self, key: u64) -> bool {
        key < 64 && self.0 & (1 << key) != 0
    }
}

/// Waits for any registered descriptor, or a deadline.
#[derive(Debug)]
pub struct Waiting {
    poller: Poller,
    /// Ends a wait at the deadline.
    alarm: Alarm,
}

impl Waiting {
    /// Waits for nothing yet.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn new() -> Result<Self, Error> {
        let poller = Poller::new().map_err(Error::system("make a poller"))?;
        let alarm = Alarm::new().map_err(Error::system("make a timer"))?;
        let waiting = Self { poller, alarm };
        waiting.add(&waiting.alarm, ALARM)?;
        Ok(waiting)
    }

    /// Registers a descriptor: waits end when it is readable.
    ///
    /// # Errors
    /// The system refuses.
    pub fn add(&self, fd: impl AsFd, key: u64) -> Result<(), Error> {
        debug_assert!(key < 64, "a key that no wait can tell");
        let added = self.poller.add(fd, key, Interest::Read);
        added.map_err(Error::system("wait for a descriptor"))
    }

    /// Removes a descriptor.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self, fd: impl AsFd) -> Result<(), Error> {
        let removed = self.poller.remove(fd);
        removed.map_err(Error::system("leave a descriptor alone"))
    }

    /// Waits until a descriptor is ready, or until `deadline`.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn wait(&mut self, deadline: Option<Instant>) -> Result<Ready, Error> {
        let set = self.alarm.by(deadline);
        set.map_err(Error::system("set the timer"))?;
        self.poller.wait(None).map_err(Error::system("wait"))?;
        let mut ready = Ready::default();
        for found in self.poller.ready() {
            if found.key == ALARM {
                self.alarm.went_off();
            }
            ready.0 |=
                u32::try_from(found.key).map_or(0, |key| 1_u64.checked_shl(key).unwrap_or(0));
        }
        Ok(ready)
    }
}
