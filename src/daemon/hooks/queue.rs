//! Changes that wait to be told, never more than a few.

use std::collections::VecDeque;

use crate::daemon::change::Change;

/// The most that wait. Hooks that cannot keep up are better told how things are than how they
/// were.
const WAITING: usize = 16;

/// Changes in the order in which they happened.
#[derive(Debug)]
pub(super) struct Queue(VecDeque<Change>);

impl Queue {
    pub(super) fn new() -> Self {
        Self(VecDeque::with_capacity(WAITING))
    }

    /// Adds the latest. Where there is no room all that wait become one.
    pub(super) fn push(&mut self, change: Change) {
        if self.0.len() == WAITING {
            self.merge();
        }
        self.0.push_back(change);
    }

    /// Adds the latest, if there is one.
    pub(super) fn extend(&mut self, change: Option<Change>) {
        if let Some(change) = change {
            self.push(change);
        }
    }

    /// Makes one of all.
    pub(super) fn merge(&mut self) {
        let all = self.0.drain(..);
        let one = all.reduce(|earlier, later| later.after(earlier));
        self.0.extend(one);
    }

    /// Takes the earliest.
    pub(super) fn pop(&mut self) -> Option<Change> {
        self.0.pop_front()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::{Grade, Reason, State};

    use super::{Queue, WAITING};
    use crate::daemon::change::{Change, event};

    const STATES: [State; 3] = [State::Looser, State::Waiter, State::Owner];

    /// The change of a number, from one of the states to the next.
    fn change(number: u64) -> Change {
        let state = |number| Some(STATES[usize::try_from(number % 3).unwrap()]);
        Change {
            number,
            time_ms: 1000 + number,
            event: event::STATE,
            from: state(number),
            state: state(number + 1),
            reason: None,
            token: None,
            owner: None,
            grade: Grade::Alone,
            member: None,
            merged: 0,
        }
    }

    fn drained(queue: &mut Queue) -> Vec<Change> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn what_has_room_comes_out_as_it_went_in() {
        let mut queue = Queue::new();
        let changes: Vec<_> = (0..WAITING as u64).map(change).collect();
        for &change in &changes {
            queue.push(change);
        }
        assert_eq!(drained(&mut queue), changes);
        assert!(queue.is_empty());
    }

    #[test]
    fn what_has_no_room_is_told_as_one_from_the_oldest_state_to_the_newest() {
        let mut queue = Queue::new();
        let last = 1000;
        for number in 0..=last {
            queue.push(change(number));
        }
        let told = drained(&mut queue);
        assert!(told.len() <= WAITING);
        assert_eq!(told[0].from, change(0).from);
        for pair in told.windows(2) {
            assert_eq!(pair[1].from, pair[0].state);
            assert!(pair[1].number > pair[0].number);
        }
        assert_eq!(told.last(), Some(&change(last)));
        let all: u64 = told.iter().map(|told| told.merged + 1).sum();
        assert_eq!(all, last + 1, "each is told, or counted");
    }

    #[test]
    fn what_was_merged_before_counts_on_either_side() {
        let mut queue = Queue::new();
        for number in [0, 4] {
            let merged = number + 2;
            queue.push(Change {
                merged,
                ..change(number)
            });
        }
        queue.merge();
        let told = drained(&mut queue);
        assert_eq!(told[0].merged, 2 + 6 + 1);
    }

    #[test]
    fn a_change_of_grade_does_not_hide_a_change_of_state() {
        let mut queue = Queue::new();
        let reason = Some(Reason::Elected);
        queue.push(Change {
            reason,
            ..change(0)
        });
        let graded = Change {
            event: event::GRADE,
            from: Some(State::Waiter),
            state: Some(State::Waiter),
            grade: Grade::Quorum,
            ..change(1)
        };
        queue.push(graded);
        queue.merge();
        let expected = Change {
            event: event::STATE,
            from: Some(State::Looser),
            reason,
            merged: 1,
            ..graded
        };
        assert_eq!(drained(&mut queue), [expected]);
    }
}
