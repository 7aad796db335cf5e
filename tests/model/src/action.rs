//! The events that may happen next in a ring.

use crate::node::Trouble;
use crate::notation;
use crate::sides;
use crate::state::{FlyingFrame, Ring};

/// An event. Nodes and frames are given by their indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields explain them")]
pub enum Action {
    /// Delivers a frame. The link may refuse the answers.
    Deliver { frame: usize, refused: bool },
    /// Ends a long stall of a node. The node then reads a frame that waited during the whole stall, or that has just
    /// arrived.
    Late { frame: usize, waited: bool },
    /// Delivers an offer to every node, with the broadcast address as its destination.
    Mislead { frame: usize },
    /// Loses a frame.
    Lose { frame: usize },
    /// Duplicates a frame.
    Double { frame: usize },
    /// Fires the next timeout of a node. The link may refuse the frames that the node then sends.
    TimeOut { node: usize, refused: bool },
    /// Kills a process.
    Crash { node: usize },
    /// Kills a process, and starts it again at once.
    Restart { node: usize },
    /// Lets all other frames under way overtake a frame.
    Delay { frame: usize },
    /// Starts a process.
    Begin { node: usize },
    /// Takes a link down.
    Cut { node: usize },
    /// Brings a link up again.
    Heal { node: usize },
    /// Makes an application want the token.
    Want { node: usize },
    /// Ends the work of an application that has the token.
    Done { node: usize },
    /// Makes the next program of the scenario take its named lock.
    TakeLock,
    /// Makes a program release its named lock.
    Unlock { node: usize, session: u64 },
    /// Begins a disturbance (`Trouble`) of a node.
    Trouble { node: usize, trouble: Trouble },
    /// Ends the disturbance of a node. A narrow link stays narrow, but the node learns the link's MTU.
    Mend { node: usize },
    /// Changes the split of the segment to another entry of `sides::all`.
    Regroup { into: usize },
}

impl Action {
    /// Describes the event in the state `ring`, in which it happens.
    pub fn describe(self, ring: &Ring) -> String {
        let frame = |at: usize| {
            let flying: &FlyingFrame = &ring.frames[at];
            let to = notation::name(notation::mac(flying.to));
            format!("{} (at {to})", notation::frame(&flying.bytes))
        };
        let name = |at: usize| notation::name(notation::mac(at));
        let unless = |refused: bool| {
            if refused {
                ", its link refuses all frames"
            } else {
                ""
            }
        };
        match self {
            Self::Deliver { frame: at, refused } => {
                format!("arrives: {}{}", frame(at), unless(refused))
            }
            Self::Late { frame: at, waited } => {
                let when = if waited {
                    "that has waited"
                } else {
                    "that has just arrived"
                };
                format!(
                    "after a long stall, a node reads a frame {when}: {}",
                    frame(at)
                )
            }
            Self::Mislead { frame: at } => format!("is delivered to all nodes: {}", frame(at)),
            Self::Lose { frame: at } => format!("is lost: {}", frame(at)),
            Self::Double { frame: at } => format!("is doubled: {}", frame(at)),
            Self::TimeOut { node, refused } => {
                format!("timeout of {}{}", name(node), unless(refused))
            }
            Self::Crash { node } => format!("{} crashes", name(node)),
            Self::Restart { node } => format!("{} crashes and starts again", name(node)),
            Self::Delay { frame: at } => format!("is late: {}", frame(at)),
            Self::Begin { node } => format!("{} starts", name(node)),
            Self::Cut { node } => format!("the link of {} goes down", name(node)),
            Self::Heal { node } => format!("the link of {} comes up", name(node)),
            Self::Want { node } => format!("{} wants the token", name(node)),
            Self::Done { node } => format!("{} has done its work", name(node)),
            Self::TakeLock => format!("a program takes lock {}", ring.locks.taken + 1),
            Self::Unlock { node, session } => {
                format!("a program of {} releases lock {session}", name(node))
            }
            Self::Trouble { node, trouble } => {
                let what = match trouble {
                    Trouble::Deaf => "hears nothing",
                    Trouble::Alone => "sends and receives no unicasts",
                    Trouble::Broadcasts => "receives no broadcasts",
                    Trouble::Full => "cannot store anything",
                    Trouble::Narrow => "cannot send long frames",
                };
                format!("{} {what} from now on", name(node))
            }
            Self::Mend { node } => match ring.nodes[node].trouble {
                Some(Trouble::Narrow) => format!("{} learns of its narrow link", name(node)),
                _ => format!("the disturbance of {} ends", name(node)),
            },
            Self::Regroup { into } => {
                let sides = &sides::all(ring.nodes.len())[into];
                format!("the segment becomes {}", sides::show(sides))
            }
        }
    }
}
