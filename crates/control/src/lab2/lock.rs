//! What is particular to a lock of a Lab2 ring: its grade, and why it is refused or ends.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// How safe a lock is (`docs/guarantees.md`), from the least to the most.
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
    /// Nobody is known to have confirmed it.
    Alone,
    /// All members that were heard lately have confirmed it.
    View,
    /// A majority of the ring has.
    Quorum,
}

impl Grade {
    /// All, from the least to the most.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns who has confirmed the lock, as a short phrase.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Alone => "Nobody is known to have confirmed it",
            Self::View => "All members that were heard lately have confirmed it",
            Self::Quorum => "A majority of the ring has",
        }
    }

    /// As programs are told it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a lock was not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RefusalReason {
    /// It was waited for as long as was asked.
    Timeout,
    /// A client of this machine has it, and it was not to be waited for.
    Busy,
    /// The token came, but was not as safe as required for as long as was waited.
    Grade,
    /// The node is paused, and it was not to be waited for.
    Paused,
    /// The job has run in its period, or runs.
    Ran,
    /// No more jobs can be remembered until the period of one is over.
    Names,
    /// This interface's frames are too short to tell the members of a job.
    Mtu,
    /// Too many clients wait already.
    Crowded,
    /// The client runs under the lock that it asks for.
    Nested,
    /// The daemon shuts down.
    Leaving,
}

impl RefusalReason {
    /// All there are.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As programs are told it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LossReason {
    /// Somebody has asked this node to hand the token over.
    Yield,
    /// It was held for as long as it was to be.
    MaxHold,
    /// The daemon shuts down.
    Shutdown,
    /// Another node has a stronger token.
    StrongerToken,
    /// No heartbeat could be sent for so long that others may have elected another owner.
    Lease,
    /// What must survive a restart could not be stored.
    NotStored,
    /// No other member takes the token from this node, which has let go of it.
    NobodyTakes,
    /// This node's constants are too far from the ring's for it to own.
    Apart,
    /// The interface's link is down.
    Link,
    /// It is no longer as safe as was required.
    Grade,
    /// The node was paused.
    Paused,
    /// The client is gone, and has not given it back. Nobody is left who could be told.
    Gone,
}

impl LossReason {
    /// All there are.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As programs are told it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
