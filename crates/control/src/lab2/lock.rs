//! The grades of a Lab2 ring's locks, and the reasons for refusals and losses.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// The grade of a lock: how safe it is (`docs/guarantees.md`), from the least to the most.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Grade {
    /// No member is known to have confirmed it.
    Alone,
    /// All members that were heard lately have confirmed it.
    #[serde(rename = "all-heard", alias = "view")]
    #[strum(to_string = "all-heard", serialize = "view")]
    AllHeard,
    /// More than half of the ring has confirmed it.
    Quorum,
}

impl Grade {
    /// All grades, from the least to the most.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the members that have confirmed the lock, as a short sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Alone => "No member is known to have confirmed it",
            Self::AllHeard => "All members that were heard lately have confirmed it",
            Self::Quorum => "More than half of the ring has confirmed it",
        }
    }

    /// Returns the name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The reason for a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RefusalReason {
    /// The wait of the request is over.
    Timeout,
    /// A client of this machine holds the lock, and the request does not wait.
    Busy,
    /// The token came, but did not have the required grade before the wait was over.
    Grade,
    /// The node is paused, and the request does not wait.
    Paused,
    /// The job has run in its period, or runs now.
    AlreadyRan,
    /// The table of jobs is full until the period of one is over.
    JobTableFull,
    /// The interface's frames are too short for the stamps of jobs.
    Mtu,
    /// Too many clients wait already.
    QueueFull,
    /// The client runs under the lock that it requests.
    AlreadyHeld,
    /// The daemon shuts down.
    Leaving,
}

impl RefusalReason {
    /// All reasons.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The reason for a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LossReason {
    /// A request told this node to hand the token over.
    Yield,
    /// The maximum time to hold the lock is over.
    MaxHold,
    /// The daemon shuts down.
    Shutdown,
    /// Another node has a stronger token.
    StrongerToken,
    /// No heartbeat could be sent for so long that other members may have elected another owner.
    Lease,
    /// The state file could not be written.
    NotStored,
    /// No other member takes the token from this node, so it has given the token up.
    NobodyTakes,
    /// The node's constants differ too much from the ring's.
    Apart,
    /// The interface's link is down.
    Link,
    /// The lock no longer has the required grade.
    Grade,
    /// The node was paused.
    Paused,
    /// The client ended without a release, so it gets no message.
    Gone,
}

impl LossReason {
    /// All reasons.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
