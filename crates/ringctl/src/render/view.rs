//! The view of a node. Every system implements this trait.

use std::io::{self, Write};

use ring_control::NodeStatus;

/// The status of a node, in the form in which `ringctl` shows it. The form depends on the system of the node.
pub(crate) trait View {
    /// Returns the status. The status includes the names that `ringctl` adds.
    fn node(&self) -> &NodeStatus;

    fn write_page(&self, output: &mut dyn Write) -> io::Result<()>;

    /// Returns the most important facts in one line.
    fn summary(&self) -> String;

    /// Returns the name of the machine with this MAC address, if the name is known.
    fn name_of(&self, _mac: [u8; 6]) -> Option<String> {
        None
    }

    /// Returns the reason why this node does not grant a lock at once. Returns `None` if nodes of its system grant no
    /// locks.
    fn obstacle(&self, _requires_quorum: bool) -> Option<Obstacle> {
        None
    }
}

/// The reason why a lock is not granted at once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    pub text: String,
    /// A text with the time for which the reason has existed. It follows the text of the reason.
    pub since: String,
    /// Whether the reason lasts until a person acts.
    pub is_lasting: bool,
}

impl Obstacle {
    pub(crate) fn passing(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            since: String::new(),
            is_lasting: false,
        }
    }

    pub(crate) fn lasting(text: impl Into<String>) -> Self {
        Self {
            is_lasting: true,
            ..Self::passing(text)
        }
    }
}
