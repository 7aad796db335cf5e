//! The messages about a lock.

use serde::{Deserialize, Serialize};

use super::RawJson;

/// Maximum length of a label in bytes, which is that of a file's name.
pub const LABEL_LEN_MAX: usize = 255;

/// A request for a lock. `R` is the type of the requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockRequest<R> {
    /// The label that users see: at most [`LABEL_LEN_MAX`] bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Maximum wait in milliseconds; unlimited if it is absent. 0 succeeds only if no program uses the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Maximum time to hold the lock, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_hold_ms: Option<u64>,
    /// The grade that the lock must have while it is held.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub require: Option<R>,
    /// The fencing token of the lock under which the client runs. Without it, the client would wait for its own end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

const fn none<R>() -> Option<R> {
    None
}

impl<R> Default for LockRequest<R> {
    fn default() -> Self {
        Self {
            label: String::new(),
            wait_ms: None,
            max_hold_ms: None,
            require: None,
            under: None,
        }
    }
}

/// A granted lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The token as the system shows it; absent if it is only a fencing token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<RawJson>,
    /// The fencing token.
    pub fencing: String,
    /// The lock's grade, in the system's word; absent if the system has no grades.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// The token's data, in hexadecimal digits.
    #[serde(default)]
    pub data: String,
    /// The daemon grants the token to no other client before this time of CLOCK_BOOTTIME, in nanoseconds.
    pub until_ns: u64,
    /// The clock of this and all later times of the lock; absent if the daemon does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<BootClock>,
}

/// A CLOCK_BOOTTIME. Each kernel has one, and each time namespace adds an offset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootClock {
    /// The boot id of its kernel; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// The offset from the clock of the first time namespace, in nanoseconds.
    pub offset_ns: i64,
}

impl BootClock {
    /// Whether both clocks may belong to the same kernel. The two ends of a Unix socket always do, as far as is
    /// known.
    pub fn may_share_kernel(&self, other: &Self) -> bool {
        self.boot.is_none() || other.boot.is_none() || self.boot == other.boot
    }

    /// Returns the time of this clock at the moment when the `other` one, of the same kernel, shows `ns`.
    pub fn convert_from(&self, other: &Self, ns: u64) -> u64 {
        let shown = i128::from(ns) - i128::from(other.offset_ns) + i128::from(self.offset_ns);
        // A time before this clock's start has passed in any case.
        u64::try_from(shown.max(0)).unwrap_or(u64::MAX)
    }
}

/// The refusal of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason for programs, in the system's word.
    pub why: String,
    /// The reason for people, as a sentence.
    pub text: String,
    /// Whether the requested job was begun on another machine and lost, so that its progress is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// The renewal of a lock's lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// The new end, as in [`Grant::until_ns`].
    pub until_ns: u64,
}

/// The loss of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// The reason for programs, in the system's word.
    pub why: String,
    /// The reason for people, as a sentence.
    pub text: String,
    /// The time by which the work must have ended, on CLOCK_BOOTTIME in nanoseconds. It may have passed.
    pub until_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::BootClock;

    fn clock(boot: &str, offset_ns: i64) -> BootClock {
        let boot = Some(boot.to_owned());
        BootClock { boot, offset_ns }
    }

    #[test]
    fn a_time_is_converted_between_time_namespaces() {
        let (early, late) = (clock("a", -7), clock("a", 50));
        assert_eq!(early.convert_from(&early, 100), 100);
        assert_eq!(early.convert_from(&late, 100), 43);
        assert_eq!(late.convert_from(&early, 100), 157);
        assert_eq!(early.convert_from(&late, 50), 0, "before its start");
        assert_eq!(late.convert_from(&early, u64::MAX), u64::MAX);
    }

    #[test]
    fn known_clocks_of_different_kernels_differ() {
        let unknown = BootClock {
            boot: None,
            offset_ns: 0,
        };
        let [a, b] = ["a", "b"].map(|boot| clock(boot, 0));
        assert!(a.may_share_kernel(&a) && !a.may_share_kernel(&b));
        assert!(a.may_share_kernel(&unknown) && unknown.may_share_kernel(&a));
    }
}
