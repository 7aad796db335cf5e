//! The program that holds the token, as people see it.

use crate::time::Instant;

/// A program that holds the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HolderProgram {
    /// The name that the program has given.
    pub program: String,
    /// The time at which the program got the token, by this node's clock.
    pub since: Instant,
}
