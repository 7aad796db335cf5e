//! The changes that the daemon reports to hooks, in any system.

use std::fmt::Debug;

use ring_proto::time::Now;

/// The values of [`Head::event`] that occur in every system.
pub mod event {
    /// The daemon has started.
    pub const STARTED: &str = "started";
    /// The state of the node changed.
    pub const STATE: &str = "state_changed";
    /// The daemon is ending.
    pub const STOPPED: &str = "stopped";
}

/// The part of a change that is the same in every system.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// Number of the event.
    pub number: u64,
    /// Time of the event, in milliseconds since 1970.
    pub time_ms: u64,
    /// Name of the event: one of the names in [`event`], or a name that occurs only in one system.
    pub event: &'static str,
    /// Name of the state before the change. `None` if the daemon was not running before.
    pub from: Option<&'static str>,
    /// Name of the state after the change. `None` if the daemon is ending.
    pub state: Option<&'static str>,
    /// Number of earlier changes that were merged into this change.
    pub merged: u64,
}

impl Head {
    fn variables(&self) -> [(&'static str, String); 6] {
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

/// A change, and the state after the change. A change should be small, because there may be one per hop.
pub trait Change: Copy + Debug + Send + 'static {
    /// Returns the part of the change that is the same in every system.
    fn head(&self) -> Head;

    /// Merges this change with an earlier change. The result describes both changes.
    fn after(self, earlier: Self) -> Self;

    /// Returns the part of the change that only this system has, as environment variables. If a value is unknown, its
    /// variable is empty.
    fn system_variables(&self) -> impl IntoIterator<Item = (&'static str, String)>;

    /// Returns the change as environment variables.
    fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.head()
            .variables()
            .into_iter()
            .chain(self.system_variables())
    }
}

/// A history of events. Each event has a number.
pub trait Changes {
    /// The type of the changes that hooks get.
    type Change: Change;

    /// Returns the number of the latest event.
    fn latest(&self) -> u64;

    /// Returns the change of an event; `None` if the history no longer contains the event, or if hooks do not get
    /// events of this kind.
    fn change(&self, number: u64) -> Option<Self::Change>;

    /// Merges the changes of the event with this number and of all later events, by [`Change::after`]. Returns the
    /// result.
    fn merged_change_since(&self, number: u64) -> Option<Self::Change>;

    /// Returns the change that reports the daemon's start.
    fn start_change(&self, now: Now) -> Self::Change;

    /// Returns the change that reports the daemon's end.
    fn stop_change(&self, now: Now) -> Self::Change;
}
