//! The log events that `ringctl history` reads. The events show which programs held locks. A daemon logs these events
//! to the journal or, without a journal, to a file.

/// Event: a program of this machine has a lock.
pub const LOCK_GRANTED: &str = "lock_granted";
/// Event: a program of this machine has released its lock.
pub const LOCK_RELEASED: &str = "lock_released";
/// Event: a program of this machine has lost its lock.
pub const LOCK_LOST: &str = "lock_lost";
/// Event: a program on another member has a lock.
pub const MEMBER_HOLDS: &str = "member_holds";
/// Event: a program on another member no longer has a lock.
pub const MEMBER_HELD: &str = "member_held";
/// Event: a daemon has started. The programs no longer hold the locks that they got from an earlier run of this daemon.
pub const STARTED: &str = "started";

/// The events of the history.
pub const HOLD_EVENTS: [&str; 6] = [
    LOCK_GRANTED,
    LOCK_RELEASED,
    LOCK_LOST,
    MEMBER_HOLDS,
    MEMBER_HELD,
    STARTED,
];
