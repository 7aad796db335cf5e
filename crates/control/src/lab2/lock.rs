//! The grades of a Lab2 ring's locks, and the reasons for refusals and losses.

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

/// The grade of a lock tells how safe the lock is (`docs/explanation/guarantees.md`). The least safe grade is the
/// smallest.
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
    /// The owner knows no member that has confirmed the lock.
    Alone,
    /// All members that the owner heard lately have confirmed the lock.
    #[serde(rename = "all-heard", alias = "view")]
    #[strum(to_string = "all-heard", serialize = "view")]
    AllHeard,
    /// More than half of the ring's members confirmed the lock.
    Quorum,
}

impl Grade {
    /// All grades, from the least safe grade to the safest.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns a short sentence about the members that confirmed the lock.
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
    /// The request waited for its maximum time.
    Timeout,
    /// A client of this machine holds the lock, and the request permits no wait.
    Busy,
    /// The node got the token, but the wait ended before the token had the required grade.
    Grade,
    /// The node is paused, and the request permits no wait.
    Paused,
    /// The job already ran in its period, or runs now.
    AlreadyRan,
    /// The table of jobs is full. The table has space for a new job when the period of another job ends.
    JobTableFull,
    /// The frames of this interface are too short to contain the stamps of jobs.
    Mtu,
    /// The ring's table of named locks is full.
    LockTableFull,
    /// Too many clients wait already.
    QueueFull,
    /// The client already works under the lock that it requests.
    AlreadyHeld,
    /// The client requests a lower grade than the daemon requires for every lock.
    Rule,
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

/// The reason why a program lost its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum LossReason {
    /// A client sent a request to hand the token over.
    Yield,
    /// The maximum time to hold the lock is over.
    MaxHold,
    /// The daemon shuts down.
    Shutdown,
    /// Another node has a stronger token.
    StrongerToken,
    /// The node could send no heartbeat for so long that other members may have elected a new owner.
    Lease,
    /// The state file could not be written.
    NotStored,
    /// No other member takes the token from this node, so this node has given the token up.
    NobodyTakes,
    /// The constants of this node differ too much from the constants of the other members.
    Apart,
    /// The interface's link is down.
    Link,
    /// The lock no longer has the required grade.
    Grade,
    /// The node was paused.
    Paused,
    /// The owner of the token has removed the named lock, or has granted it to another program.
    Removed,
    /// The client ended without a release. The daemon sends this reason to no client.
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

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::Grade;

    #[test]
    fn the_old_name_of_all_heard_is_understood_but_not_printed() {
        for name in ["all-heard", "view"] {
            assert_eq!(name.parse(), Ok(Grade::AllHeard), "{name}");
            let grade: Grade = from_value(json!(name)).expect("a client may send this name");
            assert_eq!(grade, Grade::AllHeard);
        }
        assert_eq!(Grade::AllHeard.name(), "all-heard");
        let sent = to_value(Grade::AllHeard).expect("a name");
        assert_eq!(sent, json!("all-heard"));
    }
}
