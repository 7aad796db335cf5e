//! What may happen next in a group.

use super::group::Group;
use super::node::Wish;

/// Something that may happen. Processes and datagrams are told by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields that say themselves what they are")]
pub enum Action {
    /// A datagram arrives.
    Deliver { frame: usize },
    /// A late datagram arrives.
    DeliverLate { frame: usize },
    /// A datagram is lost.
    Lose { frame: usize },
    /// A datagram comes a second time, late.
    Double { frame: usize },
    /// A datagram is late.
    Delay { frame: usize },
    /// Time passes, and a process's time-out is due.
    TimeOut { node: usize },
    /// Time passes, and a process that stood still goes on.
    Resume { node: usize },
    /// A process dies.
    Crash { node: usize },
    /// A server is shut down.
    Leave { node: usize },
    /// A process starts.
    Begin { node: usize },
    /// A process stands still.
    Stop { node: usize },
    /// A program wants something.
    Wish { node: usize, wish: Wish },
}

impl Action {
    /// The action in words, in the state that it happens in.
    pub fn tell(self, group: &Group) -> String {
        match self {
            Self::Deliver { frame } => format!("arrives: {}", group.frames[frame]),
            Self::DeliverLate { frame } => format!("arrives late: {}", group.late[frame]),
            Self::Lose { frame } => format!("is lost: {}", group.frames[frame]),
            Self::Double { frame } => format!("will come again: {}", group.frames[frame]),
            Self::Delay { frame } => format!("will be late: {}", group.frames[frame]),
            Self::TimeOut { node } => format!("time-out of n{node}"),
            Self::Resume { node } => format!("n{node} goes on"),
            Self::Crash { node } => format!("n{node} crashes"),
            Self::Leave { node } => format!("n{node} is shut down"),
            Self::Begin { node } => format!("n{node} starts"),
            Self::Stop { node } => format!("n{node} stands still"),
            Self::Wish { node, wish } => format!("the program above n{node} wants {wish:?}"),
        }
    }
}
