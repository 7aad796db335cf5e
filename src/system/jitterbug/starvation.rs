//! Whether the node loses its ring again and again without having had the token.

use ring_proto::jitterbug::State;

/// So often in a row a healthy node does not lose its ring.
const TOO_OFTEN: u32 = 3;

/// Counts how often in a row the node has lost its ring without having had the token.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Starvation(u32);

/// What people are to be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// The node does not get the token.
    Starves,
    /// It has it again.
    IsFed,
}

impl Starvation {
    /// The node has changed its state.
    pub(super) fn enter(&mut self, from: State, to: State) -> Option<News> {
        let was_starving = self.is_there();
        match (from, to) {
            (_, State::Leader) => self.0 = 0,
            (State::Waiter, State::Orphan) => self.0 = self.0.saturating_add(1),
            _ => {}
        }
        match (was_starving, self.is_there()) {
            (false, true) => Some(News::Starves),
            (true, false) => Some(News::IsFed),
            _ => None,
        }
    }

    /// Returns whether the node starves.
    pub(super) const fn is_there(self) -> bool {
        self.0 >= TOO_OFTEN
    }
}

impl News {
    /// Returns the event's name, and what has happened and what to do as a sentence.
    pub(super) const fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::Starves => (
                "starving",
                "this node has lost its ring three times in a row and has not had the token: passes to it fail; let TCP through \
                 its firewall and those of the other nodes",
            ),
            Self::IsFed => ("not_starving", "this node has had the token again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::jitterbug::State::{Leader, Orphan, Waiter};

    use super::{News, Starvation};

    #[test]
    fn a_node_starves_that_loses_its_ring_three_times_without_the_token_between() {
        let mut starvation = Starvation::default();
        let mut enter = |from, to| starvation.enter(from, to);
        for _ in 0..2 {
            assert_eq!(enter(Orphan, Waiter), None);
            assert_eq!(enter(Waiter, Orphan), None);
        }
        assert_eq!(enter(Orphan, Leader), None);
        assert_eq!(enter(Leader, Waiter), None);
        for _ in 0..2 {
            assert_eq!(enter(Waiter, Orphan), None);
            assert_eq!(enter(Orphan, Waiter), None);
        }
        assert_eq!(enter(Waiter, Orphan), Some(News::Starves));
        assert_eq!(enter(Orphan, Waiter), None);
        assert_eq!(enter(Waiter, Orphan), None, "told once");
        assert_eq!(enter(Waiter, Leader), Some(News::IsFed));
    }
}
