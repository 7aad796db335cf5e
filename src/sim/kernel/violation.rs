//! What was broken, when and where.

use std::fmt;
use std::time::Duration;

/// Something that must not happen, and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation<R> {
    /// When, from the beginning of the world.
    pub at: Duration,
    /// At which node, if at one.
    pub node: Option<usize>,
    /// What was broken.
    pub rule: R,
    /// The circumstances.
    pub what: String,
}

impl<R: fmt::Display> fmt::Display for Violation<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            node,
            rule,
            what,
        } = self;
        let (seconds, nanos) = (at.as_secs(), at.subsec_nanos());
        write!(f, "{seconds}.{nanos:09} s")?;
        if let Some(node) = node {
            write!(f, " n{node}")?;
        }
        write!(f, ": {rule}: {what}")
    }
}
