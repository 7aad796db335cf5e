//! A program that works under the token, as people see it.

use crate::time::Instant;

/// A program that holds the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolderProgram {
    /// The program's name for itself.
    pub program: String,
    /// When it got the token, by this node's clock.
    pub since: Instant,
}
