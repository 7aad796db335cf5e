//! The events that may happen next in a group.

use super::group::Group;
use super::node::ProgramAction;

/// An event. Processes and datagrams are given by their indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields explain them")]
pub enum Action {
    /// Delivers a datagram.
    Deliver { frame: usize },
    /// Delivers a late datagram.
    DeliverLate { frame: usize },
    /// Loses a datagram.
    Lose { frame: usize },
    /// Duplicates a datagram. The copy arrives late.
    Double { frame: usize },
    /// Delays a datagram.
    Delay { frame: usize },
    /// Fires a timeout, after time has passed.
    TimeOut { node: usize },
    /// Continues a stalled process, after time has passed.
    Resume { node: usize },
    /// Kills a process.
    Crash { node: usize },
    /// Shuts a server down.
    Leave { node: usize },
    /// Starts a process.
    Begin { node: usize },
    /// Stalls a process.
    Stop { node: usize },
    /// Lets a program act.
    ProgramAction { node: usize, wish: ProgramAction },
}

impl Action {
    /// Describes the event in the state `group`, in which it happens.
    pub fn describe(self, group: &Group) -> String {
        match self {
            Self::Deliver { frame } => format!("arrives: {}", group.frames[frame]),
            Self::DeliverLate { frame } => format!("arrives late: {}", group.late[frame]),
            Self::Lose { frame } => format!("is lost: {}", group.frames[frame]),
            Self::Double { frame } => format!("is duplicated: {}", group.frames[frame]),
            Self::Delay { frame } => format!("is delayed: {}", group.frames[frame]),
            Self::TimeOut { node } => format!("time-out of n{node}"),
            Self::Resume { node } => format!("n{node} goes on"),
            Self::Crash { node } => format!("n{node} crashes"),
            Self::Leave { node } => format!("n{node} is shut down"),
            Self::Begin { node } => format!("n{node} starts"),
            Self::Stop { node } => format!("n{node} stands still"),
            Self::ProgramAction { node, wish } => {
                format!("the program of n{node} does {wish:?}")
            }
        }
    }
}
