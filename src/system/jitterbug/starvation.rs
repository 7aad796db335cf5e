//! Detects a node that repeatedly loses its ring and never had the token meanwhile.

use ring_proto::jitterbug::State;

use crate::system::jitterbug::events;

/// A node counts as starving if it has lost its ring this number of times in a row without having had the token. A
/// healthy node never starves.
const LOSSES_MAX: u32 = 3;

/// Counts how many times in a row the node has lost its ring without having had the token.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Starvation(u32);

/// A change that operators should know about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StarvationEvent {
    /// The node does not get the token.
    Starved,
    /// The node got the token again.
    Recovered,
}

impl Starvation {
    /// Handles a change of the node's state.
    pub(super) fn on_state_change(&mut self, from: State, to: State) -> Option<StarvationEvent> {
        let was_starving = self.is_starving();
        match (from, to) {
            (_, State::Leader) => self.0 = 0,
            (State::Waiter, State::Orphan) => self.0 = self.0.saturating_add(1),
            _ => {}
        }
        match (was_starving, self.is_starving()) {
            (false, true) => Some(StarvationEvent::Starved),
            (true, false) => Some(StarvationEvent::Recovered),
            _ => None,
        }
    }

    pub(super) const fn is_starving(self) -> bool {
        self.0 >= LOSSES_MAX
    }
}

impl StarvationEvent {
    /// Returns the event's name, and a text with the problem and a remedy.
    pub(super) const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Starved => (
                events::STARVING,
                "this node has lost its ring three times in a row without getting the token: handovers to \
                 this node fail; let TCP through the firewalls of all nodes",
            ),
            Self::Recovered => (events::NOT_STARVING, "this node has had the token again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::jitterbug::State::{Leader, Orphan, Waiter};

    use super::{Starvation, StarvationEvent};

    #[test]
    fn a_node_starves_when_it_loses_its_ring_three_times_without_the_token() {
        let mut starvation = Starvation::default();
        let mut on_state_change = |from, to| starvation.on_state_change(from, to);
        for _ in 0..2 {
            assert_eq!(on_state_change(Orphan, Waiter), None);
            assert_eq!(on_state_change(Waiter, Orphan), None);
        }
        assert_eq!(on_state_change(Orphan, Leader), None);
        assert_eq!(on_state_change(Leader, Waiter), None);
        for _ in 0..2 {
            assert_eq!(on_state_change(Waiter, Orphan), None);
            assert_eq!(on_state_change(Orphan, Waiter), None);
        }
        assert_eq!(
            on_state_change(Waiter, Orphan),
            Some(StarvationEvent::Starved)
        );
        assert_eq!(on_state_change(Orphan, Waiter), None);
        assert_eq!(on_state_change(Waiter, Orphan), None, "reported once");
        assert_eq!(
            on_state_change(Waiter, Leader),
            Some(StarvationEvent::Recovered)
        );
    }
}
