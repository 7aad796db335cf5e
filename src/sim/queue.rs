//! What is to happen, in order of time and, at one time, of being scheduled.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

/// A frame's bytes, shared by everything that has it.
pub(super) type Bytes = Rc<[u8]>;

/// What happens.
#[derive(Debug)]
pub(super) enum What {
    /// A broadcast arrives at everybody but its sender and `except`.
    All {
        from: u32,
        bytes: Bytes,
        except: Option<Rc<[u32]>>,
    },
    /// A frame arrives at one node.
    One { to: u32, bytes: Bytes },
    /// A node's deadline may have come.
    Wake(u32),
    /// A slow node has finished its turn.
    Free(u32),
    /// An action of the plan.
    Act(u32),
    /// The station that never takes the token asks for it again.
    Ask,
    /// The work that a node wanted the token for is done: its job of this number.
    Done(u32, u32),
    /// A node's errand may go on: the one of this number.
    Errand(u32, u32),
}

#[derive(Debug)]
struct Entry {
    at: u64,
    id: u64,
    what: What,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The earliest is the greatest, because the heap gives out the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.id).cmp(&(self.at, self.id))
    }
}

/// The events to come.
#[derive(Debug, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Entry>,
    scheduled: u64,
}

impl Queue {
    pub(super) fn push(&mut self, at: u64, what: What) {
        let id = self.scheduled;
        self.scheduled += 1;
        self.heap.push(Entry { at, id, what });
    }

    /// The next event, if it is due by `end`.
    pub(super) fn pop_by(&mut self, end: u64) -> Option<(u64, What)> {
        if self.heap.peek()?.at > end {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.what))
    }
}

#[cfg(test)]
mod tests {
    use super::{Queue, What};

    #[test]
    fn events_come_in_order_of_time_and_then_of_being_scheduled() {
        let mut queue = Queue::default();
        for (at, node) in [(5, 0), (3, 1), (5, 2), (3, 3), (9, 4)] {
            queue.push(at, What::Wake(node));
        }
        let mut order = Vec::new();
        while let Some((at, What::Wake(node))) = queue.pop_by(5) {
            order.push((at, node));
        }
        assert_eq!(order, [(3, 1), (3, 3), (5, 0), (5, 2)]);
        assert!(queue.pop_by(8).is_none() && queue.pop_by(9).is_some());
    }
}
