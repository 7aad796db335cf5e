//! What is to happen, in order of time and, at one time, of being scheduled.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::streams::Side;

/// A message's bytes, shared by everything that has it.
pub type Bytes = Rc<[u8]>;

/// A node's number as events carry it. There are never more nodes than 65,536.
pub fn id(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The node of that number.
pub fn index(id: u32) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}

/// A message on its way, from an address `P` to an address `A`.
#[derive(Debug, Clone)]
pub struct Message<P, A> {
    /// The node that has sent it; `None`: it comes from something that is no node.
    pub node: Option<u32>,
    /// Where it says that it comes from: the sender's address of then.
    pub from: P,
    /// Where it goes.
    pub to: A,
    /// What it says.
    pub bytes: Bytes,
}

impl<P, A> Message<P, A> {
    /// The node that has sent it.
    pub fn sender(&self) -> Option<usize> {
        self.node.map(index)
    }
}

/// What happens; `E` is what happens in one system only.
#[derive(Debug)]
#[allow(missing_docs, reason = "fields that say themselves what they are")]
pub enum Event<E, P, A> {
    /// A broadcast arrives at everybody but its sender and `except`, whom it does not reach, or not by this event.
    All {
        message: Message<P, A>,
        except: Option<Rc<[u32]>>,
    },
    /// A message arrives at one node.
    One { message: Message<P, A>, at: u32 },
    /// The next thing that is on its way to an end of a connection arrives.
    Stream(usize, Side),
    /// The kernel at an end of a connection gives it up: nobody has acknowledged what was sent there.
    GiveUp(usize, Side),
    /// A node's deadline may have come.
    Wake(u32),
    /// A slow node has finished its turn.
    Free(u32),
    /// An action of the schedule.
    Act(u32),
    /// Something of the system's own.
    Own(E),
    /// Something of the system's own for a node's process in one of its lives.
    Life { node: u32, life: u32, event: E },
}

#[derive(Debug)]
struct Entry<E, P, A> {
    at: u64,
    id: u64,
    event: Event<E, P, A>,
}

impl<E, P, A> PartialEq for Entry<E, P, A> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E, P, A> Eq for Entry<E, P, A> {}

impl<E, P, A> PartialOrd for Entry<E, P, A> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E, P, A> Ord for Entry<E, P, A> {
    /// The earliest is the greatest, because the heap gives out the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.id).cmp(&(self.at, self.id))
    }
}

/// The events to come.
#[derive(Debug)]
pub struct Queue<E, P, A> {
    heap: BinaryHeap<Entry<E, P, A>>,
    scheduled: u64,
}

impl<E, P, A> Default for Queue<E, P, A> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            scheduled: 0,
        }
    }
}

impl<E, P, A> Queue<E, P, A> {
    /// Schedules an event.
    pub fn push(&mut self, at: u64, event: Event<E, P, A>) {
        let id = self.scheduled;
        self.scheduled += 1;
        self.heap.push(Entry { at, id, event });
    }

    /// The next event, if it is due by `end`.
    pub fn pop_by(&mut self, end: u64) -> Option<(u64, Event<E, P, A>)> {
        if self.heap.peek()?.at > end {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Queue};

    #[test]
    fn events_come_in_order_of_time_and_then_of_being_scheduled() {
        let mut queue = Queue::<(), (), ()>::default();
        for (at, node) in [(5, 0), (3, 1), (5, 2), (3, 3), (9, 4)] {
            queue.push(at, Event::Wake(node));
        }
        let mut order = Vec::new();
        while let Some((at, Event::Wake(node))) = queue.pop_by(5) {
            order.push((at, node));
        }
        assert_eq!(order, [(3, 1), (3, 3), (5, 0), (5, 2)]);
        assert!(queue.pop_by(8).is_none() && queue.pop_by(9).is_some());
    }
}
