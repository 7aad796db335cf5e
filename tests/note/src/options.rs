//! The constants of a node.

use std::time::Duration;

/// How a node behaves. All nodes of a network have the same.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The node's own number, unlike all others.
    pub id: u64,
    /// The port at which it serves its note.
    pub port: u16,
    /// The time between two announcements.
    pub period: Duration,
    /// Upper bound for one transfer, from either side.
    pub transfer: Duration,
    /// Maximum transfers served at a time.
    pub served: usize,
}
