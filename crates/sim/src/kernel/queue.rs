//! The scheduled events, in order of time; equal times keep the order of scheduling.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::streams::Side;

/// A message's bytes, shared by all its copies.
pub type Bytes = Rc<[u8]>;

/// Returns a node's number in the form that events contain. The number has only 32 bits, so that events stay small.
pub fn id(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Returns the index of a node from its number in an event.
pub fn index(id: u32) -> usize {
    usize::try_from(id).unwrap_or(usize::MAX)
}

/// A message from an address `P` to an address `A`.
#[derive(Debug, Clone)]
pub struct Message<P, A> {
    /// The node that sent the message; `None` if no node sent it.
    pub node: Option<u32>,
    /// The sender's address when the message was sent.
    pub from: P,
    /// The destination.
    pub to: A,
    /// The content.
    pub bytes: Bytes,
}

impl<P, A> Message<P, A> {
    /// Returns the node that sent the message.
    pub fn sender(&self) -> Option<usize> {
        self.node.map(index)
    }
}

/// An event; `E` are the events of one system.
#[derive(Debug)]
#[allow(missing_docs, reason = "the names of the fields explain them")]
pub enum Event<E, P, A> {
    /// A broadcast arrives at every node except its sender and the nodes in `except`. These nodes do not get the
    /// broadcast, or get it through a separate event.
    All {
        message: Message<P, A>,
        except: Option<Rc<[u32]>>,
    },
    /// A message arrives at one node.
    One { message: Message<P, A>, at: u32 },
    /// The next step arrives at this end of a connection.
    Stream(usize, Side),
    /// The kernel at one end of a connection gives up the connection, because no acknowledgement came.
    GiveUp(usize, Side),
    /// The deadline of a node may have passed.
    Wake(u32),
    /// A slow node finished its loop iteration.
    Free(u32),
    /// The attacker sends a message.
    Attack,
    /// An action of the schedule is due.
    Act(u32),
    /// An event of the system.
    System(E),
    /// An event of the system for one process of a node.
    Life { node: u32, life: u32, event: E },
}

#[derive(Debug)]
struct ScheduledEvent<E, P, A> {
    at: u64,
    id: u64,
    event: Event<E, P, A>,
}

impl<E, P, A> PartialEq for ScheduledEvent<E, P, A> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E, P, A> Eq for ScheduledEvent<E, P, A> {}

impl<E, P, A> PartialOrd for ScheduledEvent<E, P, A> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E, P, A> Ord for ScheduledEvent<E, P, A> {
    /// Orders the earliest event as the greatest, because the heap pops the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.id).cmp(&(self.at, self.id))
    }
}

/// The scheduled events.
#[derive(Debug)]
pub struct Queue<E, P, A> {
    heap: BinaryHeap<ScheduledEvent<E, P, A>>,
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
        self.heap.push(ScheduledEvent { at, id, event });
    }

    /// Removes and returns the next event, if it is due by `end`.
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
