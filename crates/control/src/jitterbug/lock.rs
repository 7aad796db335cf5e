//! Why a lock of a Jitterbug ring is refused or ends.

use strum::IntoStaticStr;

/// Why a lock was not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RefusalReason {
    /// It was waited for as long as was asked.
    Timeout,
    /// A client of this machine has it, and it was not to be waited for.
    Busy,
    /// Too many clients wait already.
    Crowded,
    /// The client runs under the lock that it asks for.
    Nested,
    /// The daemon shuts down.
    Leaving,
}

impl RefusalReason {
    /// As programs are told it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Why a lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LossReason {
    /// Somebody has asked this node to hand the token over.
    Yield,
    /// It was held for as long as it was to be.
    MaxHold,
    /// The daemon shuts down.
    Shutdown,
    /// Another leader has a stronger token.
    StrongerToken,
    /// The daemon stood still for so long that another node may lead.
    Lease,
    /// The interface has no address, or another one.
    Link,
    /// The client is gone, and has not given it back. Nobody is left who could be told.
    Gone,
}

impl LossReason {
    /// As programs are told it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
