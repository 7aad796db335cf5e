//! The descriptors and the deadline for which a loop waits.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use ring_proto::time::Instant;
use thiserror::Error;

use super::{Alarm, Interest, Poller};

/// The key of the link's descriptors. Keys from 1 to 62 are free.
pub const LINK: u64 = 0;
const ALARM_KEY: u64 = 63;

/// Error of a system call that never fails on a healthy system.
#[derive(Debug, Error)]
#[error("cannot {action}: {source}")]
pub struct SystemCallError {
    action: &'static str,
    source: io::Error,
}

impl SystemCallError {
    /// Returns a function for `map_err`. It adds the text `action`, which names the failed action.
    pub fn to(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self { action, source }
    }
}

/// The keys of all descriptors that a wait found ready. Each key is below 64.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReadyKeys(u64);

impl ReadyKeys {
    /// The set that contains only the link.
    pub(crate) const LINK: Self = Self::only(LINK);

    /// Returns the set that contains only this key.
    pub(crate) const fn only(key: u64) -> Self {
        Self(1 << key)
    }

    const fn without(self, key: u64) -> Self {
        Self(self.0 & !(1 << key))
    }

    /// Whether a descriptor is ready that belongs neither to the link nor to the timer.
    pub(crate) const fn has_event(self) -> bool {
        !self.without(LINK).without(ALARM_KEY).is_empty()
    }

    /// Whether no descriptor is ready.
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the descriptor with this key is ready.
    pub const fn has(self, key: u64) -> bool {
        key < 64 && self.0 & (1 << key) != 0
    }
}

/// A reactor waits for any registered descriptor or for a deadline.
#[derive(Debug)]
pub struct Reactor {
    poller: Poller,
    /// Timer that ends a wait at the deadline.
    alarm: Alarm,
}

impl Reactor {
    /// Makes a reactor without descriptors.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn new() -> Result<Self, SystemCallError> {
        let poller = Poller::new().map_err(SystemCallError::to("make a poller"))?;
        let alarm = Alarm::new().map_err(SystemCallError::to("make a timer"))?;
        let waiting = Self { poller, alarm };
        waiting.add(&waiting.alarm, ALARM_KEY)?;
        Ok(waiting)
    }

    /// Registers a descriptor. After this call, a wait ends when the descriptor is readable.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn add(&self, fd: impl AsFd, key: u64) -> Result<(), SystemCallError> {
        debug_assert!(
            key <= ALARM_KEY,
            "this key is too large for a wait to report"
        );
        let added = self.poller.add(fd, key, Interest::Read);
        added.map_err(SystemCallError::to("wait for a descriptor"))
    }

    /// Removes a descriptor.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn remove(&self, fd: impl AsFd) -> Result<(), SystemCallError> {
        let removed = self.poller.remove(fd);
        removed.map_err(SystemCallError::to("stop waiting for a descriptor"))
    }

    /// Waits until a descriptor is ready, or until `deadline`.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn wait(&mut self, deadline: Option<Instant>) -> Result<ReadyKeys, SystemCallError> {
        let set = self.alarm.set_deadline(deadline);
        set.map_err(SystemCallError::to("set the timer"))?;
        self.wait_for(None)
    }

    /// Returns the descriptors that are ready now, without the timer. The caller compares the deadline with the clock.
    ///
    /// # Errors
    /// Fails if a system call fails.
    pub fn look(&mut self) -> Result<ReadyKeys, SystemCallError> {
        let ready = self.wait_for(Some(Duration::ZERO))?;
        if ready.has(ALARM_KEY) {
            // After this call, the timer is no longer ready.
            let unset = self.alarm.set_deadline(None);
            unset.map_err(SystemCallError::to("set the timer"))?;
        }
        Ok(ready.without(ALARM_KEY))
    }

    fn wait_for(&mut self, timeout: Option<Duration>) -> Result<ReadyKeys, SystemCallError> {
        self.poller
            .wait(timeout)
            .map_err(SystemCallError::to("wait"))?;
        let mut ready = ReadyKeys::default();
        for found in self.poller.ready() {
            if found.key == ALARM_KEY {
                self.alarm.on_went_off();
            }
            ready.0 |=
                u32::try_from(found.key).map_or(0, |key| 1_u64.checked_shl(key).unwrap_or(0));
        }
        Ok(ready)
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::time::Instant;

    use super::{LINK, Reactor};
    use crate::clock;
    use std::time::Duration;

    /// A timer that stays ready would end each later wait at once.
    #[test]
    fn a_look_does_not_report_the_timer_and_the_next_wait_has_its_deadline() {
        let mut waiting = Reactor::new().expect("a reactor");
        let ready = waiting.wait(Some(Instant::from_nanos(1))).expect("a wait");
        assert!(!ready.is_empty());
        for _ in 0..2 {
            assert!(waiting.look().expect("a look").is_empty());
        }
        let deadline = clock::now().monotonic + Duration::from_millis(1);
        let ready = waiting.wait(Some(deadline)).expect("a wait");
        assert!(!ready.is_empty() && !ready.has(LINK));
        assert!(clock::now().monotonic >= deadline);
    }
}
