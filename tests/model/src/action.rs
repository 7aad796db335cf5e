//! What may happen next in a ring.

use crate::node::Trouble;
use crate::notation;
use crate::sides;
use crate::state::{Flying, Ring};

/// Something that may happen. Nodes and frames are told by their places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields that say themselves what they are")]
pub enum Action {
    /// A frame arrives; the link may refuse what is said then.
    Deliver { frame: usize, refused: bool },
    /// A node that was stopped for long reads a frame, which has waited all that time or came just now.
    Late { frame: usize, waited: bool },
    /// An offer arrives under the broadcast address at every node.
    Mislead { frame: usize },
    /// A frame is lost.
    Lose { frame: usize },
    /// A frame is doubled.
    Double { frame: usize },
    /// A node's next time-out is due; the link may refuse what is said then.
    TimeOut { node: usize, refused: bool },
    /// A process dies.
    Crash { node: usize },
    /// A process starts.
    Begin { node: usize },
    /// A link goes down.
    Cut { node: usize },
    /// A link comes up again.
    Heal { node: usize },
    /// An application wants the token.
    Want { node: usize },
    /// An application that has the token has done its work.
    Done { node: usize },
    /// Something goes wrong around a node.
    Trouble { node: usize, trouble: Trouble },
    /// It is over, or the node is told of it.
    Mend { node: usize },
    /// The segment falls apart in another way of the list of `sides::all`, or becomes one.
    Regroup { into: usize },
}

impl Action {
    /// The action in words, in the state that it happens in.
    pub fn tell(self, ring: &Ring) -> String {
        let frame = |at: usize| {
            let flying: &Flying = &ring.frames[at];
            let to = notation::name(notation::mac(flying.to));
            format!("{} (at {to})", notation::frame(&flying.bytes))
        };
        let name = |at: usize| notation::name(notation::mac(at));
        let unless = |refused: bool| {
            if refused {
                ", its link takes nothing"
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
                    "that came just now"
                };
                format!("stopped for long, then reads a frame {when}: {}", frame(at))
            }
            Self::Mislead { frame: at } => format!("is handed to all: {}", frame(at)),
            Self::Lose { frame: at } => format!("is lost: {}", frame(at)),
            Self::Double { frame: at } => format!("is doubled: {}", frame(at)),
            Self::TimeOut { node, refused } => {
                format!("time-out of {}{}", name(node), unless(refused))
            }
            Self::Crash { node } => format!("{} crashes", name(node)),
            Self::Begin { node } => format!("{} starts", name(node)),
            Self::Cut { node } => format!("the link of {} goes down", name(node)),
            Self::Heal { node } => format!("the link of {} comes up", name(node)),
            Self::Want { node } => format!("{} wants the token", name(node)),
            Self::Done { node } => format!("{} has done its work", name(node)),
            Self::Trouble { node, trouble } => {
                let what = match trouble {
                    Trouble::Deaf => "hears nothing",
                    Trouble::Alone => "reaches nobody alone, and nobody reaches it alone",
                    Trouble::Broadcasts => "is reached by nothing that goes to all",
                    Trouble::Full => "cannot store anything",
                    Trouble::Narrow => "cannot send long frames",
                };
                format!("{} {what} from now on", name(node))
            }
            Self::Mend { node } => match ring.nodes[node].trouble {
                Some(Trouble::Narrow) => format!("{} is told of its link", name(node)),
                _ => format!("{} is in order again", name(node)),
            },
            Self::Regroup { into } => {
                let sides = &sides::all(ring.nodes.len())[into];
                format!("the segment becomes {}", sides::show(sides))
            }
        }
    }
}
