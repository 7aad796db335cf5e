//! The messages about a lock.

use serde::{Deserialize, Serialize};

use super::RawJson;

/// Maximum length of a label in bytes. A file name can be a label, because it has the same maximum length.
pub const LABEL_LEN_MAX: usize = 255;

/// A request for a lock. `R` is the type of the required grade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockRequest<R> {
    /// The label that users see: at most [`LABEL_LEN_MAX`] bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Maximum time to wait for the lock, in milliseconds. If this key is absent, the wait has no limit. With a maximum
    /// of 0, the request succeeds only if no program uses the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Maximum time to hold the lock, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_hold_ms: Option<u64>,
    /// The grade that the lock must have while it is held.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub require: Option<R>,
    /// The fencing token of the lock under which the client works. The daemon needs it, because otherwise this client
    /// could wait for the end of its own work.
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
    /// The token. The form of the JSON depends on the system. The key is absent if a token of the system is only a
    /// fencing token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<RawJson>,
    /// The fencing token.
    pub fencing: String,
    /// The grade of the lock, in the spelling of the system. The grade is absent if the system has no grades.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<String>,
    /// The data of the token, in hexadecimal digits.
    #[serde(default)]
    pub data: String,
    /// The end of the lease on CLOCK_BOOTTIME, in nanoseconds. Before this time, the daemon grants the token to no
    /// other client.
    pub until_ns: u64,
    /// The clock of `until_ns`, and of all times in later messages about the lock. The clock is absent if the daemon
    /// cannot determine it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<BootClock>,
}

/// A CLOCK_BOOTTIME. Each kernel has one such clock, and processes of a time namespace see this clock with an offset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootClock {
    /// The boot id of the clock's kernel. The id is absent if the boot id is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// The offset from the clock of the first time namespace, in nanoseconds.
    pub offset_ns: i64,
}

impl BootClock {
    /// Whether this clock and `other` may belong to the same kernel. Also `true` if one of the boot ids is unknown,
    /// because both ends of a Unix socket usually belong to one kernel.
    pub fn may_share_kernel(&self, other: &Self) -> bool {
        self.boot.is_none() || other.boot.is_none() || self.boot == other.boot
    }

    /// Converts a time to this clock: returns the time that this clock shows when `other` shows `ns`. Both clocks must
    /// belong to the same kernel.
    pub fn convert_from(&self, other: &Self, ns: u64) -> u64 {
        let shown = i128::from(ns) - i128::from(other.offset_ns) + i128::from(self.offset_ns);
        // A time before the start of this clock has certainly passed, so 0 is a correct substitute.
        u64::try_from(shown.max(0)).unwrap_or(u64::MAX)
    }
}

/// The refusal of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason as a word for programs. Each system defines the words for its reasons.
    pub why: String,
    /// The reason as a sentence for people.
    pub text: String,
    /// Whether another machine began the requested job, and then lost the token. In this case, it is unknown whether
    /// the job was completed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// The renewal of a lock's lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Renewal {
    /// The new end of the lease, as in [`Grant::until_ns`].
    pub until_ns: u64,
}

/// The loss of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// The reason as a word for programs. Each system defines the words for its reasons.
    pub why: String,
    /// The reason as a sentence for people.
    pub text: String,
    /// The work must have ended before this time of CLOCK_BOOTTIME, in nanoseconds. The time may already have passed.
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
