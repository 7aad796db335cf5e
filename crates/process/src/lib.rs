//! Functions for a process on its machine: capabilities, descriptors, private files and locks, and the control of child
//! processes.
//!
//! This crate knows no protocol. The crate denies `unsafe`, but some files allow it, and give the reason at their head.
//! Start reading with `tree.rs` and `lifeline.rs`, which end a command.

#![deny(unsafe_code)]

mod backstop;
pub mod broken_pipe;
pub mod capabilities;
mod cgroup;
mod cgroup_child;
pub mod child;
mod client;
pub mod descriptors;
pub mod freezer;
pub mod group;
pub mod helper;
mod ignored_signals;
pub mod inherited_socket;
mod init;
mod job_control;
mod lifeline;
mod lock;
pub mod passed_descriptors;
pub mod private_files;
pub mod runtime_directory;
pub mod sandbox;
pub mod secret_file;
mod shared_record;
#[cfg(test)]
mod test_processes;
mod tree;
mod work_lines;

pub use backstop::Backstops;
pub use cgroup::{Hierarchy, KillFile, killable_group};
pub use cgroup_child::spawn_in_cgroup;
pub use client::{Client, ClientId};
pub use ignored_signals::IgnoredSignals;
pub use init::run_as_process_1;
pub use job_control::stop_group;
pub use lifeline::{KeptLine, Lifeline, SignalTarget};
pub use lock::{FileLock, FileLockError, Holder, LockError, RingLock};
pub use shared_record::{RECORD_LEN_MAX, SharedRecord};
pub use tree::{Killed, Survivor, Tree};
pub use work_lines::{WorkLines, pass_work_line};
