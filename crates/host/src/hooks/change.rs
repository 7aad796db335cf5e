//! What any system tells hooks.

use std::fmt::Debug;

use ring_proto::time::Now;

/// The names of [`Head::event`] that every system has.
pub mod event {
    /// The daemon has started.
    pub const STARTED: &str = "started";
    /// The state has changed.
    pub const STATE: &str = "state_changed";
    /// The daemon is ending.
    pub const STOPPED: &str = "stopped";
}

/// What hooks are told of a change in any system.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// The event's number.
    pub number: u64,
    /// The time of the event, in milliseconds since 1970.
    pub time_ms: u64,
    /// One of the names in [`event`], or of the system's own.
    pub event: &'static str,
    /// The name of the state before; `None`: the daemon did not run.
    pub from: Option<&'static str>,
    /// The name of the state since; `None`: the daemon does not run.
    pub state: Option<&'static str>,
    /// How many earlier changes are merged into this one.
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

/// A change, and how things were after it. Small: there may be one at each hop.
pub trait Change: Copy + Debug + Send + 'static {
    /// What any system tells of it.
    fn head(&self) -> Head;

    /// Merges this change with an earlier one.
    fn after(self, earlier: Self) -> Self;

    /// What only this system tells of it, as environment variables; empty where something is not known.
    fn own_environment(&self) -> impl IntoIterator<Item = (&'static str, String)>;

    /// Returns the change as environment variables.
    fn environment(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.head()
            .environment()
            .into_iter()
            .chain(self.own_environment())
    }
}

/// A history of events, by number.
pub trait Changes {
    /// The change that hooks get.
    type Change: Change;

    /// The number of the latest event.
    fn latest(&self) -> u64;

    /// Returns an event by its number, if it is retained and hooks get it.
    fn change(&self, number: u64) -> Option<Self::Change>;

    /// Returns all events for hooks from a number on, merged into one change by [`Change::after`].
    fn change_since(&self, number: u64) -> Option<Self::Change>;

    /// The change that tells that the daemon has started.
    fn started(&self, now: Now) -> Self::Change;

    /// The change that tells that the daemon ends.
    fn stopped(&self, now: Now) -> Self::Change;
}
