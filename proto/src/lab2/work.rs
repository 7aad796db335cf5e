//! The program that holds the token, in a form for people.

use crate::time::Instant;

/// A program that holds the token.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HolderProgram {
    /// The name that the program gave itself.
    pub program: String,
    /// The time at which the program got the token, by this node's clock.
    pub since: Instant,
}
