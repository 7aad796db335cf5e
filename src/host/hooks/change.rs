//! What any system tells hooks.

use std::fmt::Debug;

use ring_proto::time::Now;

/// A change, and how things were after it. Small: there may be one at each hop.
pub trait Change: Copy + Debug + Send + 'static {
    /// The event's number.
    fn number(&self) -> u64;

    /// Merges this change with an earlier one.
    #[must_use]
    fn after(self, earlier: Self) -> Self;

    /// Returns the change as environment variables; empty where something is not known.
    fn environment(&self) -> impl IntoIterator<Item = (&'static str, String)>;
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
