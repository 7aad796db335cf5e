//! A program that works under the token, as people see it.

use crate::time::Instant;

/// A program that holds the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// What the program calls itself.
    pub program: String,
    /// Since when it has held the token, by this node's clock.
    pub since: Instant,
}
