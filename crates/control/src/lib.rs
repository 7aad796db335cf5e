//! Requests and replies between a daemon and `ringctl`, and their framing.
//!
//! The client sends a [`Request`] as one line of JSON, at most [`REQUEST_LEN_MAX`] bytes. The daemon answers with a
//! [`Reply`] as one line of JSON. After the reply, the client may send the next request.
//!
//! The files next to `lib.rs` contain the parts that all systems share, such as the messages about locks and the names
//! of nodes. A message that exists in only one system is in the folder with the name of this system. The requests of a
//! system implement [`SystemRequest`]. The status and the events of a system are types that convert to and from
//! [`NodeStatus`] and [`EventMessage`]. This crate opens no sockets. Start reading with `message.rs`.

#![forbid(unsafe_code)]

mod config;
mod event;
mod framing;
pub mod ftn;
mod health;
pub mod hold_history;
pub mod jitterbug;
pub mod lab2;
mod lock;
mod message;
mod message_ids;
mod name;
mod raw_json;
mod right;
mod status;
mod text;
mod trust;

use std::path::PathBuf;

pub use config::{ConfigStatus, OptionSource, OptionStatus};
pub use event::{EventHead, EventMessage, Snapshot};
pub use framing::{FramingError, LineBuffer, REQUEST_LEN_MAX, to_line};
pub use health::{Finding, Health, Trouble, Verdict, troubles};
pub use lock::{BootClock, Grant, LABEL_LEN_MAX, LockRequest, Loss, Refusal, Renewal};
pub use message::{
    NoRequest, PROTOCOL_VERSION, Pending, Reply, Request, SystemRequest, TokenData, Version,
};
pub use message_ids::{MESSAGE_IDS, message_id};
pub use name::{NodeName, monitor_socket_path, older_history_path, recent_state_path};
pub use raw_json::RawJson;
pub use right::Right;
pub use status::{NodeStatus, Percentiles};
pub use text::escape_control_characters;
pub use trust::TrustStatus;

/// The directory that contains the control sockets of Lab2's nodes. The user of these daemons has the same name as this
/// directory.
pub const CONTROL_DIR: &str = "/run/ringd";

/// The group whose members may use the monitor sockets of all daemons.
pub const MONITOR_GROUP: &str = "ringd-monitor";

/// Returns the directory that contains the control sockets of a system's nodes. The user of these daemons has the same
/// name as this directory.
pub fn control_dir(system: &str) -> PathBuf {
    PathBuf::from(format!("{CONTROL_DIR}-{system}"))
}
