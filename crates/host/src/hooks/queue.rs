//! Changes that wait for hooks, never more than a few.

use std::collections::VecDeque;

use ring_runtime::worker::Inbox;

use super::Change;

/// Maximum changes that wait. Slow hooks are better told how things are than how they were.
pub const WAITING: usize = 16;

/// Changes in the order in which they happened.
#[derive(Debug)]
pub struct Queue<C>(VecDeque<C>);

impl<C> Default for Queue<C> {
    fn default() -> Self {
        Self(VecDeque::with_capacity(WAITING))
    }
}

impl<C: Change> Inbox for Queue<C> {
    type Item = C;

    /// If there is no room, all changes that wait are merged into one.
    fn push(&mut self, change: C) {
        if self.0.len() == WAITING {
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

    /// Merges all into one.
    fn merge(&mut self) {
        let all = self.0.drain(..);
        let one = all.reduce(|earlier, later| later.after(earlier));
        self.0.extend(one);
    }
}
