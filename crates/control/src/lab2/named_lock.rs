//! Requests and replies about named locks.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::{Grade, LockRequest};

/// A request for a named lock.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedLockRequest {
    /// The lock's name: 1 to 64 printable ASCII characters without blanks.
    pub name: String,
    /// Whether the mode is shared. Several programs may hold the lock at the same time if all of them request it as
    /// shared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// The other properties of the request.
    #[serde(flatten)]
    pub lock: LockRequest,
}

/// The mode of a named lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum LockMode {
    /// The lock has at most one holder.
    Exclusive,
    /// All holders share the lock.
    Shared,
}

impl LockMode {
    /// Returns the name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A program that holds a named lock or waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedLockStatus {
    /// The lock's name.
    pub name: String,
    /// The MAC address of the program's machine.
    pub member: String,
    /// The name of the program's machine, as in [`MemberStatus`](super::MemberStatus).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_name: Option<String>,
    /// Whether the program runs on this machine.
    pub is_here: bool,
    /// The mode.
    pub mode: LockMode,
    /// The grade that the program requires.
    pub grade: Grade,
    /// Whether the program holds the lock. If `false`, the program waits for the lock.
    pub held: bool,
    /// The place in the queue of this name, from 1. The place is `null` if the program holds the lock.
    pub place: Option<usize>,
    /// Nanoseconds since the program requested the lock.
    pub since_ns: u64,
    /// The fencing token. The token is `null` if the program waits.
    pub fencing: Option<String>,
    /// The number of the request, as 16 hexadecimal digits. No two requests of a machine have the same number.
    pub session: String,
    /// The program's label, at most 24 bytes.
    pub program: String,
}
