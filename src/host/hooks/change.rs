//! What hooks are told, whatever the system.

use std::fmt::Debug;

use ring_proto::time::Now;

/// A change, and how things were after it. Small: there may be one at each hop.
pub trait Change: Copy + Debug + Send + 'static {
    /// The event's number.
    fn number(&self) -> u64;

    /// This change and an earlier one as a single one.
    #[must_use]
    fn after(self, earlier: Self) -> Self;

    /// The same as variables of the environment; empty where something is not known.
    fn environment(&self) -> impl IntoIterator<Item = (&'static str, String)>;
}

/// Remembers what has happened, by number.
pub trait Changes {
    /// What hooks are told of it.
    type Change: Change;

    /// The number of the latest event.
    fn latest(&self) -> u64;

    /// An event by its number, if it is remembered and hooks are told of it.
    fn change(&self, number: u64) -> Option<Self::Change>;

    /// All that hooks are told of from a number on, as one change: as by [`Change::after`].
    fn change_since(&self, number: u64) -> Option<Self::Change>;

    /// That the daemon has started.
    fn started(&self, now: Now) -> Self::Change;

    /// That the daemon ends.
    fn stopped(&self, now: Now) -> Self::Change;
}
