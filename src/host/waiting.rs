//! What the daemon's loop waits for.

use std::os::fd::AsFd;

use ring_proto::time::Instant;

use super::Error;
use crate::sys::{Alarm, Interest, Poller};

/// The key for messages, and for anything else that the link must be driven for.
pub const LINK: u64 = 0;
/// The key for changes of the network.
pub const NETWORK: u64 = 1;
/// The key for signals.
pub(super) const SIGNALS: u64 = 2;
/// The key for the control socket and its clients.
pub(super) const CONTROL: u64 = 3;
/// The key for answers to jobs.
pub(super) const JOBS: u64 = 4;
const ALARM: u64 = 5;

/// The descriptors that a wait has found ready.
#[expect(
    clippy::struct_excessive_bools,
    reason = "descriptors that know nothing of each other"
)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ready {
    pub link: bool,
    pub network: bool,
    pub signals: bool,
    pub control: bool,
    pub jobs: bool,
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
            match found.key {
                LINK => ready.link = true,
                NETWORK => ready.network = true,
                SIGNALS => ready.signals = true,
                CONTROL => ready.control = true,
                JOBS => ready.jobs = true,
                ALARM => self.alarm.went_off(),
                _ => {}
            }
        }
        Ok(ready)
    }
}
