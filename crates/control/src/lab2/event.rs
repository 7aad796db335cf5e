//! The keys that the events of a Lab2 ring have of their own.

use serde::{Deserialize, Serialize};

use super::TokenStatus;

/// What an event of a ring says beside its number, time and name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingEvent {
    /// The state before, of `state_changed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The state since.
    pub state: String,
    /// Why, of `state_changed` and the end of a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The token held, or else the strongest known.
    pub token: Option<TokenStatus>,
    /// Who holds it as far as is known.
    pub owner: Option<String>,
    /// How safe a lock is now.
    pub grade: String,
    /// The member that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// To how many other members the same has happened, of `member_silent` and `member_alive`.
    #[serde(default, skip_serializing_if = "is_none")]
    pub others: usize,
    /// The client whose lock it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_none(count: &usize) -> bool {
    *count == 0
}
