//! Processes: what this one has from its start and may have, and power over those that it starts.

pub mod broken_pipe;
mod cgroup;
pub mod child;
pub mod descriptors;
pub mod freezer;
pub mod group;
mod ignored;
pub mod inherited;
mod init;
mod lifeline;
pub mod nice;
pub mod rights;
mod tree;

pub use cgroup::{Hierarchy, KillFile};
pub use ignored::IgnoredSignals;
pub use init::stand_in_as_process_1;
pub use lifeline::{KeptLine, Lifeline, Tied};
pub use tree::{Killed, Survivor, Tree};
