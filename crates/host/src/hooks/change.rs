//! The changes that hooks get, in any system.

use std::fmt::Debug;

use ring_proto::time::Now;

/// The values of [`Head::event`] that every system has.
pub mod event {
    /// The daemon has started.
    pub const STARTED: &str = "started";
    /// The state has changed.
    pub const STATE: &str = "state_changed";
    /// The daemon is ending.
    pub const STOPPED: &str = "stopped";
}

/// The part of a change that every system has.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// The event's number.
    pub number: u64,
    /// The time of the event, in milliseconds since 1970.
    pub time_ms: u64,
    /// One of the names in [`event`], or a name of the system's own events.
    pub event: &'static str,
    /// The name of the state before; `None`: the daemon did not run.
    pub from: Option<&'static str>,
    /// The name of the state after; `None`: the daemon does not run.
    pub state: Option<&'static str>,
    /// Number of earlier changes that are merged into this one.
    pub merged: u64,
}

impl Head {
    fn environment(&self) -> [(&'static str, String); 6] {
        let state = |state: Option<&'static str>| state.unwrap_or("none").to_owned();
        [
            ("RINGD_EVENT", self.event.to_owned()),
            ("RINGD_EVENT_NUMBER", self.number.to_string()),
            ("RINGD_TIME_MS", self.time_ms.to_string()),
            ("RINGD_OLD_STATE", state(self.from)),
            ("RINGD_STATE", state(self.state)),
            ("RINGD_MERGED", self.merged.to_string()),
        ]
    }
}

/// A change, and the state after it. It is small: there may be one at each hop.
pub trait Change: Copy + Debug + Send + 'static {
    /// Returns the part that every system has.
    fn head(&self) -> Head;

    /// Merges this change with an earlier one.
    fn after(self, earlier: Self) -> Self;

    /// Returns the system's own part, as environment variables; empty where a value is unknown.
    fn system_environment(&self) -> impl IntoIterator<Item = (&'static str, String)>;

    /// Returns the change as environment variables.
    fn environment(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.head()
            .environment()
            .into_iter()
            .chain(self.system_environment())
    }
}

/// A history of events, by number.
pub trait Changes {
    /// The change that hooks get.
    type Change: Change;

    /// Returns the number of the latest event.
    fn latest(&self) -> u64;

    /// Returns the change of an event, if the event is retained and hooks get it.
    fn change(&self, number: u64) -> Option<Self::Change>;

    /// Returns all changes from a number on, merged by [`Change::after`].
    fn merged_change_since(&self, number: u64) -> Option<Self::Change>;

    /// Returns the change that reports the daemon's start.
    fn start_change(&self, now: Now) -> Self::Change;

    /// Returns the change that reports the daemon's end.
    fn stop_change(&self, now: Now) -> Self::Change;
}
