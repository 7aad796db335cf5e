//! Requests and replies between a daemon and `ringctl`, and their framing.
//!
//! The client sends a [`Request`] as one line of JSON, at most [`MAX_REQUEST`] bytes, and gets a
//! [`Reply`] as one line of JSON; then it may send the next.
//!
//! Here is what all systems have in common: the envelope, locks, names. What is a system's own lies in a folder of
//! its name: its requests as an [`OwnRequest`], its status and its events as types that [`NodeStatus`] and
//! [`EventMessage`] are made of and read as.

#![forbid(unsafe_code)]

mod event;
mod framing;
pub mod ftn;
mod health;
pub mod jitterbug;
pub mod lab2;
mod lock;
mod message;
mod name;
mod own;
mod status;
mod text;

use std::path::PathBuf;

pub use event::{EventHead, EventMessage, Snapshot};
pub use framing::{FramingError, LineBuffer, MAX_REQUEST, to_line};
pub use health::{Finding, Health, Verdict};
pub use lock::{BootClock, Grant, LockRequest, Loss, MAX_LABEL, Refusal, Renewal};
pub use message::{NoRequest, OwnRequest, PROTOCOL, Pending, Reply, Request, TokenData, Version};
pub use name::NodeName;
pub use own::OwnJson;
pub use status::{NodeStatus, Percentiles};
pub use text::harmless;

/// The directory of the control sockets of Lab2's nodes. Its name is that of their service's user.
pub const CONTROL_DIR: &str = "/run/ringd";

/// Returns the directory of the control sockets of a system's nodes. Its name is that of their service's user.
pub fn control_dir(system: &str) -> PathBuf {
    PathBuf::from(format!("{CONTROL_DIR}-{system}"))
}
