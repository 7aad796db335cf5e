//! The queue of work for a worker.

use std::collections::VecDeque;

/// A queue of work.
pub trait Inbox: Default + Send + 'static {
    /// The type of a piece of work.
    type Item: Send;

    /// Adds an item at the end.
    fn push(&mut self, item: Self::Item);

    /// Takes the first item.
    fn pop(&mut self) -> Option<Self::Item>;

    /// Whether the queue is empty.
    fn is_empty(&self) -> bool;

    /// Drops all items.
    fn clear(&mut self);

    /// Merges items that the worker can do together. The caller adds no items after this call.
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
