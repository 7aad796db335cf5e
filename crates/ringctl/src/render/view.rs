//! What is shown of a node, whatever its system.

use std::io::{self, Write};

use ring_control::{NodeStatus, Verdict};

/// A node's status, as far as its system is known here.
pub(crate) trait View {
    /// Returns the verdict of the node on itself.
    fn verdict(&self) -> Verdict;

    /// The status, with what `ringctl` adds to it.
    fn json(&self) -> NodeStatus;

    /// Writes the page for people.
    ///
    /// # Errors
    /// `output` takes nothing.
    fn show(&self, output: &mut dyn Write) -> io::Result<()>;

    /// Returns what is to be known of it in one line.
    fn line(&self) -> String;

    /// Returns a text in which each MAC address has the name of its machine behind it, if one is known.
    fn named(&self, text: String) -> String {
        text
    }

    /// Returns why a lock of this node is not granted at once; `None`: it grants none.
    fn obstacle(&self, requires_quorum: bool) -> Option<Obstacle>;
}

/// Why a lock is not granted at once.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    /// The reason.
    pub text: String,
    /// For how long that has been so, as a text that follows it.
    pub since: String,
    /// Whether it does not pass by itself.
    pub is_lasting: bool,
}

impl Obstacle {
    /// Makes a reason that passes by itself.
    pub(crate) fn passing(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            since: String::new(),
            is_lasting: false,
        }
    }

    /// Makes a reason that does not pass by itself.
    pub(crate) fn lasting(text: impl Into<String>) -> Self {
        Self {
            is_lasting: true,
            ..Self::passing(text)
        }
    }
}
