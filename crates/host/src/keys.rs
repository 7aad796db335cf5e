//! The keys under which descriptors are registered with the loop. The key of the link is not among them.

/// The key for changes of the network.
pub const NETWORK: u64 = 1;
/// The key for the descriptor with which other threads of the system wake the loop.
pub const SYSTEM: u64 = 2;
pub(crate) const SIGNALS: u64 = 3;
/// The key for the control socket and its clients.
pub(crate) const CONTROL: u64 = 4;
/// The key for answers to jobs.
pub(crate) const JOBS: u64 = 5;
