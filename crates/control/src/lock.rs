//! A lock: how it is asked for, and what is said of it.

use serde::{Deserialize, Serialize};

use super::OwnJson;

/// The longest label of a client, in bytes: a file may be called so.
pub const MAX_LABEL: usize = 255;

/// How a lock is wanted. `R` is what a system may require of one besides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockRequest<R> {
    /// What for, as others see it: at most [`MAX_LABEL`] bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// How long it is waited for, in milliseconds; without it for ever. 0: only if nobody works
    /// with the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// For how long it is held at the most, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_hold_ms: Option<u64>,
    /// How safe it is to be, as long as it is held.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub require: Option<R>,
    /// The fencing token of the lock under which the client runs itself. It would wait for that without
    /// end.
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

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The token as the system shows it; absent: its fencing token is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<OwnJson>,
    /// The fencing token.
    pub fencing: String,
    /// How safe the lock is, in the system's own word; absent: it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// The token's data, in hexadecimal digits.
    #[serde(default)]
    pub data: String,
    /// Nobody else is granted the token before this time of CLOCK_BOOTTIME, in nanoseconds.
    pub until_ns: u64,
    /// The clock of this and all later times of the lock; absent: the daemon could not find it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<BootClock>,
}

/// A CLOCK_BOOTTIME. Each kernel has one, and each time namespace sees it with an offset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootClock {
    /// The boot of the kernel that it belongs to; absent: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// How far it is ahead of the one that has no offset, in nanoseconds.
    pub offset_ns: i64,
}

impl BootClock {
    /// Whether both clocks may belong to one kernel. Two ends of a Unix socket always do, as far as is known.
    pub fn may_share_kernel(&self, other: &Self) -> bool {
        self.boot.is_none() || other.boot.is_none() || self.boot == other.boot
    }

    /// Returns the time that this clock shows when the `other` one, of the same kernel, shows `ns`.
    pub fn when(&self, other: &Self, ns: u64) -> u64 {
        let shown = i128::from(ns) - i128::from(other.offset_ns) + i128::from(self.offset_ns);
        // A time before this clock's beginning is past in any case.
        u64::try_from(shown.max(0)).unwrap_or(u64::MAX)
    }
}

/// Why there is no lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// For programs: the system's own word.
    pub why: String,
    /// For people, as a sentence.
    pub text: String,
    /// What was asked for was begun elsewhere and lost: nobody knows how far it came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// A lock is safe for longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// As in [`Grant::until_ns`].
    pub until_ns: u64,
}

/// The end of a lock that was not asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// For programs: the system's own word.
    pub why: String,
    /// For people, as a sentence.
    pub text: String,
    /// By when the work must have ended, as a time of CLOCK_BOOTTIME in nanoseconds; it may be
    /// past.
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
    fn a_time_of_one_time_namespace_is_shown_by_the_clock_of_another() {
        let (early, late) = (clock("a", -7), clock("a", 50));
        assert_eq!(early.when(&early, 100), 100);
        assert_eq!(early.when(&late, 100), 43);
        assert_eq!(late.when(&early, 100), 157);
        assert_eq!(early.when(&late, 50), 0, "before its beginning");
        assert_eq!(late.when(&early, u64::MAX), u64::MAX);
    }

    #[test]
    fn clocks_of_different_kernels_are_told_apart_if_both_are_known() {
        let unknown = BootClock {
            boot: None,
            offset_ns: 0,
        };
        let [a, b] = ["a", "b"].map(|boot| clock(boot, 0));
        assert!(a.may_share_kernel(&a) && !a.may_share_kernel(&b));
        assert!(a.may_share_kernel(&unknown) && unknown.may_share_kernel(&a));
    }
}
