//! What a process has of its machine: rights, descriptors, files and locks of its own, and power over the processes that
//! it starts.
//!
//! Nothing here knows a word of any protocol. `unsafe` is denied; each file that needs it says so at its head.

#![deny(unsafe_code)]

mod backstop;
pub mod broken_pipe;
mod cgroup;
pub mod child;
pub mod descriptors;
pub mod freezer;
pub mod group;
pub mod handed;
mod ignored;
pub mod inherited;
mod init;
mod lifeline;
mod lock;
pub mod owned;
pub mod rights;
pub mod runtime_directory;
mod tree;
mod who;

pub use backstop::Backstops;
pub use cgroup::{Hierarchy, KillFile};
pub use ignored::IgnoredSignals;
pub use init::stand_in_as_process_1;
pub use lifeline::{KeptLine, Lifeline, Tied};
pub use lock::{FileLock, FileLockError, Holder, LockError, RingLock};
pub use tree::{Killed, Survivor, Tree};
pub use who::{Client, ClientId};
