//! The reasons for refusals and losses of a Jitterbug ring's locks.

use strum::IntoStaticStr;

/// The reason why a request for a lock is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RefusalReason {
    /// The request waited for its maximum time.
    Timeout,
    /// A client of this machine holds the lock, and the request permits no wait.
    Busy,
    /// Too many clients wait already.
    QueueFull,
    /// The client already works under the lock that it requests.
    AlreadyHeld,
    /// The daemon shuts down.
    Leaving,
}

impl RefusalReason {
    /// Returns the name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The reason why a program lost its lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LossReason {
    /// A client sent a request to pass the token on.
    Yield,
    /// The maximum time to hold the lock is over.
    MaxHold,
    /// The daemon shuts down.
    Shutdown,
    /// A different leader has a stronger token.
    StrongerToken,
    /// The daemon was stalled for so long that another node may be the leader.
    Lease,
    /// The interface lost or changed its address.
    Link,
    /// The client ended without a release. The daemon sends this reason to no client.
    Gone,
}

impl LossReason {
    /// Returns the name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
