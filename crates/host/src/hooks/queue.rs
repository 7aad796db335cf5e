//! A short queue of changes for hooks.

use std::collections::VecDeque;

use ring_runtime::worker::Inbox;

use super::Change;

/// Maximum number of waiting changes. If hooks are slow, the current state is more useful for them than past states.
pub const WAITING_CHANGES_MAX: usize = 16;

/// The waiting changes, in order.
#[derive(Debug)]
pub struct Queue<C>(VecDeque<C>);

impl<C> Default for Queue<C> {
    fn default() -> Self {
        Self(VecDeque::with_capacity(WAITING_CHANGES_MAX))
    }
}

impl<C: Change> Inbox for Queue<C> {
    type Item = C;

    /// Adds a change. If the queue is full, merges all waiting changes into one change.
    fn push(&mut self, change: C) {
        if self.0.len() == WAITING_CHANGES_MAX {
            self.merge();
        }
        self.0.push_back(change);
    }

    fn pop(&mut self) -> Option<C> {
        self.0.pop_front()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn merge(&mut self) {
        let all = self.0.drain(..);
        let one = all.reduce(|earlier, later| later.after(earlier));
        self.0.extend(one);
    }
}
