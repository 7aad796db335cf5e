//! The keys that are specific to events of a Lab2 ring.

use serde::{Deserialize, Serialize};

use super::TokenStatus;

/// The keys of a ring's event, without the keys of [`EventHead`](crate::EventHead).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingEvent {
    /// The state before the event. Only `state_changed` has this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The state after the event.
    pub state: String,
    /// The reason for the event. Only `state_changed` and the events about the end of a lock have a reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The token that the node holds. If the node holds no token, this is the strongest token that it knows.
    pub token: Option<TokenStatus>,
    /// The owner, as the node knows it.
    pub owner: Option<String>,
    /// The host name that the owner announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_name: Option<String>,
    /// The grade of a lock.
    pub grade: String,
    /// The member that the event concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// The host name that this member announced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member_name: Option<String>,
    /// The number of other members for which this event is also true. Only `member_silent` and `member_alive` have this
    /// number.
    #[serde(default, skip_serializing_if = "is_none")]
    pub others: usize,
    /// The label of the lock that the event concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The name of the lock that the event concerns. An event about the token has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The mode of the named lock: `exclusive` or `shared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The grade that the program of the named lock requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require: Option<String>,
    /// Nanoseconds until the pause ends by itself. Only events about a pause have this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_left_ns: Option<u64>,
    /// The operator's reason for the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_reason: Option<String>,
    /// The fencing token of the named lock. A refused program has no fencing token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fencing: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_none(count: &usize) -> bool {
    *count == 0
}
