//! What waits for a worker.

use std::collections::VecDeque;

/// What waits to be done, in order.
pub trait Inbox: Default + Send + 'static {
    /// One thing to be done.
    type Item: Send;

    /// Adds the latest.
    fn push(&mut self, item: Self::Item);

    /// Takes the earliest.
    fn pop(&mut self) -> Option<Self::Item>;

    /// Whether nothing waits.
    fn is_empty(&self) -> bool;

    /// Forgets all that waits.
    fn clear(&mut self);

    /// Nothing will be added any more: what can be done at once may become one.
    fn merge(&mut self) {}
}

impl<T: Send + 'static> Inbox for VecDeque<T> {
    type Item = T;

    fn push(&mut self, item: T) {
        self.push_back(item);
    }

    fn pop(&mut self) -> Option<T> {
        self.pop_front()
    }

    fn is_empty(&self) -> bool {
        self.is_empty()
    }

    fn clear(&mut self) {
        self.clear();
    }
}
