//! The constants of the protocol, and the check of their combinations.

use std::time::Duration;

use ring_codec::lab2::ETHERTYPE;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use super::HostName;
use crate::time::nanos;

/// The constants of one ring (`docs/reference/lab2/README.md`). All members should have the same values.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Constants {
    /// HEART_BEAT_PERIOD: the period of an OWNER's TOKEN_IS_HERE broadcasts.
    pub heartbeat: Duration,
    /// WAITER_SLEEP_INTERVALS: the length of WAITER_TIMEOUT, in heartbeat periods.
    pub waiter_intervals: u32,
    /// LOOSER_ANSWER_INTERVALS: the length of LOOSER_ANSWER_TIMEOUT, in heartbeat periods.
    pub answer_intervals: u32,
    /// TAKE_TIMEOUT: the time that a giver waits for the acknowledgement of a TAKE_TOKEN.
    pub take_timeout: Duration,
    /// TAKE_ATTEMPTS: the number of TAKE_TOKENs that a giver sends to one member.
    pub take_attempts: u32,
    /// IDLE_HOLD: the time for which an OWNER without work keeps the token; [`FOREVER`] if it keeps the token until
    /// another member wants it.
    pub idle_hold: Duration,
    /// The EtherType of the frames.
    pub ethertype: u16,
    /// The maximum number of members in the table, including this node.
    pub max_members: usize,
    /// The expected number of members in the ring; `None` to count the known members. A quorum is more than half of
    /// this number.
    pub expect: Option<usize>,
    /// The time after which the table forgets a silent member; `None` if it never forgets a silent member.
    pub forget: Option<Duration>,
}

/// The values that can change while a node runs. Members with different values can work together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Adjustment {
    /// The new value of [`Constants::idle_hold`].
    pub idle_hold: Duration,
    /// The new value of [`Constants::expect`].
    pub expect: Option<usize>,
    /// The new value of [`Constants::forget`].
    pub forget: Option<Duration>,
    /// The new preference ([`with_preference`](super::Lab2::with_preference)).
    pub preference: u8,
    /// The new host name ([`with_host_name`](super::Lab2::with_host_name)).
    pub host_name: Option<HostName>,
}

/// The reason why constants cannot work together.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConstantError {
    /// A period, a count or a timeout is 0.
    #[error("{name} must be more than 0")]
    Zero {
        /// The option's name.
        name: &'static str,
    },
    /// A duration does not fit 64 bits of nanoseconds.
    #[error("{name} of {value:?} is too long: give at most {max:?}")]
    TooLong {
        /// The option's name.
        name: &'static str,
        /// The value of the option.
        value: Duration,
        /// The longest duration that is allowed.
        max: Duration,
    },
    /// A number of intervals or attempts is too large.
    #[error("{name} of {value} is too many: give at most {max}")]
    TooMany {
        /// The option's name.
        name: &'static str,
        /// The value of the option.
        value: u32,
        /// The largest number that is allowed.
        max: u32,
    },
    /// LOOSER_TIMEOUT is 0.
    #[error(
        "waiter-intervals of {0} cannot work: half of it, rounded down, must be at least 1, because a \
         LOOSER repeats its question after this number of periods; give 2 or more"
    )]
    WaiterIntervals(u32),
    /// A LOOSER would repeat its question while it still waits for answers.
    #[error(
        "answer-intervals of {answer} cannot work: a LOOSER repeats its question after {looser} periods (half of \
         waiter-intervals), and must not wait longer for answers; give at most {looser}"
    )]
    AnswerIntervals {
        /// LOOSER_ANSWER_INTERVALS.
        answer: u32,
        /// LOOSER_SLEEP_INTERVALS.
        looser: u32,
    },
    /// One failed handover would take longer than WAITER_TIMEOUT.
    #[error(
        "a failed handover of {hand_over:?} ((take-attempts + ½) × take-timeout) must be shorter than the \
         failure timeout of {waiter_timeout:?} (waiter-intervals × heartbeat), or members would elect \
         a second owner"
    )]
    HandoverOutlastsWaiters {
        /// The duration of a failed handover: (TAKE_ATTEMPTS + ½) × TAKE_TIMEOUT.
        hand_over: Duration,
        /// WAITER_TIMEOUT.
        waiter_timeout: Duration,
    },
    /// The EtherType is a length, or another protocol uses it.
    #[error("ethertype {value:#06x} cannot work: {reason}")]
    Ethertype {
        /// The EtherType.
        value: u16,
        /// The reason why this EtherType cannot work.
        reason: &'static str,
    },
    /// The size of the table is too small or too large.
    #[error("max-members of {value} cannot work: give 2 to {max}")]
    MaxMembers {
        /// The given size.
        value: usize,
        /// The largest number that is allowed.
        max: usize,
    },
    /// The expected number of members is 0, or more than the table can hold.
    #[error("ring-size of {value} cannot work: give 1 to {max} (max-members)")]
    Expect {
        /// The expected number.
        value: usize,
        /// The size of the table.
        max: usize,
    },
}

/// The longest allowed value of heartbeat, take-timeout and idle-hold.
pub const PERIOD_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The shortest heartbeat period. An OWNER never sends heartbeats more often.
pub const HEARTBEAT_MIN: Duration = Duration::from_millis(1);
/// The shortest take-timeout. A machine needs at least this time to send an offer, wake two processes and receive the
/// answer.
pub const TAKE_TIMEOUT_MIN: Duration = Duration::from_micros(20);
/// The value of idle-hold for an OWNER that keeps the token until another member wants it.
pub const FOREVER: Duration = Duration::MAX;
/// The default time after which the table forgets a silent member.
const FORGET_AFTER: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest time after which the table forgets a silent member: ten years, so that times fit into 64 bits of
/// nanoseconds.
const FORGET_AFTER_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// The largest size of the member table. Each member uses 22 bytes, plus some memory for the table itself.
const TABLE_SIZE_MAX: usize = 1 << 20;
/// The maximum number of intervals or attempts. This number times [`PERIOD_MAX`] fits into 64 bits of nanoseconds.
const COUNT_MAX: u32 = 10_000;

impl Constants {
    /// Returns the defaults for a heartbeat period. TAKE_TIMEOUT is a twentieth of the period, and IDLE_HOLD is as long
    /// as the period. The other constants are the constants of `docs/reference/lab2/README.md`.
    pub fn for_heartbeat(heartbeat: Duration) -> Self {
        Self {
            heartbeat,
            waiter_intervals: 4,
            answer_intervals: 1,
            take_timeout: heartbeat / 20,
            take_attempts: 3,
            idle_hold: heartbeat,
            ethertype: ETHERTYPE,
            max_members: 4096,
            expect: None,
            forget: Some(FORGET_AFTER),
        }
    }

    /// Returns WAITER_TIMEOUT, the time during which a WAITER trusts that the token exists.
    pub fn waiter_timeout(&self) -> Duration {
        self.heartbeat * self.waiter_intervals
    }

    /// Returns LOOSER_SLEEP_INTERVALS, which is half of WAITER_SLEEP_INTERVALS, rounded down.
    pub fn looser_intervals(&self) -> u32 {
        self.waiter_intervals / 2
    }

    /// Returns LOOSER_TIMEOUT, the period of a LOOSER's questions.
    pub fn looser_timeout(&self) -> Duration {
        self.heartbeat * self.looser_intervals()
    }

    /// Returns LOOSER_ANSWER_TIMEOUT, the time that a LOOSER or candidate waits for answers.
    pub fn looser_answer_timeout(&self) -> Duration {
        self.heartbeat * self.answer_intervals
    }

    /// Returns the total time that a giver waits for one member: (TAKE_ATTEMPTS + ½) × TAKE_TIMEOUT.
    pub fn handover_timeout(&self) -> Duration {
        self.take_timeout * self.take_attempts + self.take_timeout / 2
    }

    /// Returns the time after an OWNER's announcement during which members may object to its token.
    pub fn objection_period(&self) -> Duration {
        // A member that has recently heard the holder of a stronger token does not object. It relies on that holder's
        // next heartbeat, which a handover may delay.
        self.heartbeat + 3 * self.take_timeout
    }

    /// Returns the time that a giver waits after the TAKE_TOKEN with this number. Usually, this time is TAKE_TIMEOUT.
    /// After the last TAKE_TOKEN, it is 1.5 × TAKE_TIMEOUT.
    pub fn answer_timeout(&self, attempts: u32) -> Duration {
        // After the last TAKE_TOKEN, an acknowledgement that was sent in time may still be on its way.
        let on_the_way = if attempts < self.take_attempts {
            Duration::ZERO
        } else {
            self.take_timeout / 2
        };
        self.take_timeout + on_the_way
    }

    /// Returns the maximum time after which an idle token reaches a member that asks for it. This time is long enough
    /// even if one frame of each kind is lost.
    pub fn request_timeout(&self) -> Duration {
        // A lost WANT_TOKEN is repeated after HEART_BEAT_PERIOD, and a lost TAKE_TOKEN after TAKE_TIMEOUT.
        self.heartbeat + self.handover_timeout()
    }

    /// Returns a digest of some constants. These constants must be equal on all members, because the behavior of each
    /// member depends on the constants of the other members.
    pub fn digest(&self) -> u64 {
        // Each constant is named here, so that the author of a new constant must decide whether all members need the
        // same value.
        let Self {
            heartbeat,
            waiter_intervals,
            answer_intervals,
            take_timeout,
            take_attempts,
            idle_hold: _,
            ethertype: _,
            max_members: _,
            expect: _,
            forget: _,
        } = self;
        let mut bytes = [0; 28];
        bytes[..8].copy_from_slice(&nanos(*heartbeat).to_be_bytes());
        bytes[8..16].copy_from_slice(&nanos(*take_timeout).to_be_bytes());
        bytes[16..20].copy_from_slice(&waiter_intervals.to_be_bytes());
        bytes[20..24].copy_from_slice(&answer_intervals.to_be_bytes());
        bytes[24..].copy_from_slice(&take_attempts.to_be_bytes());
        xxh3_64(&bytes)
    }

    /// Checks that the constants can work together.
    ///
    /// # Errors
    /// Returns the first constant that cannot work, and the reason.
    pub fn check(&self) -> Result<(), ConstantError> {
        // The counts and periods are checked first. If they are within their limits, the products below cannot
        // overflow.
        self.check_periods()?;
        self.check_counts()?;
        let (hand_over, waiter_timeout) = (self.handover_timeout(), self.waiter_timeout());
        if hand_over >= waiter_timeout {
            return Err(ConstantError::HandoverOutlastsWaiters {
                hand_over,
                waiter_timeout,
            });
        }
        self.check_ethertype()?;
        if !(2..=TABLE_SIZE_MAX).contains(&self.max_members) {
            let (value, max) = (self.max_members, TABLE_SIZE_MAX);
            return Err(ConstantError::MaxMembers { value, max });
        }
        let max = self.max_members;
        if let Some(value) = self.expect.filter(|expect| !(1..=max).contains(expect)) {
            return Err(ConstantError::Expect { value, max });
        }
        Ok(())
    }

    fn check_periods(&self) -> Result<(), ConstantError> {
        let periods = [
            ("heartbeat", self.heartbeat, &[][..]),
            ("take-timeout", self.take_timeout, &[]),
            ("idle-hold", self.idle_hold, &[Duration::ZERO, FOREVER]),
        ];
        for (name, value, exceptions) in periods {
            if exceptions.contains(&value) {
                continue;
            }
            if value.is_zero() {
                return Err(ConstantError::Zero { name });
            }
            if value > PERIOD_MAX {
                return Err(ConstantError::TooLong {
                    name,
                    value,
                    max: PERIOD_MAX,
                });
            }
        }
        match self.forget {
            Some(Duration::ZERO) => Err(ConstantError::Zero {
                name: "forget-after",
            }),
            Some(value) if value > FORGET_AFTER_MAX => Err(ConstantError::TooLong {
                name: "forget-after",
                value,
                max: FORGET_AFTER_MAX,
            }),
            _ => Ok(()),
        }
    }

    fn check_counts(&self) -> Result<(), ConstantError> {
        let counts = [
            ("waiter-intervals", self.waiter_intervals),
            ("answer-intervals", self.answer_intervals),
            ("take-attempts", self.take_attempts),
        ];
        for (name, value) in counts {
            if value == 0 {
                return Err(ConstantError::Zero { name });
            }
            if value > COUNT_MAX {
                return Err(ConstantError::TooMany {
                    name,
                    value,
                    max: COUNT_MAX,
                });
            }
        }
        // Half of an odd number of intervals is rounded down. So with 1 interval, a LOOSER would ask without a pause.
        let looser = self.looser_intervals();
        if looser == 0 {
            return Err(ConstantError::WaiterIntervals(self.waiter_intervals));
        }
        let answer = self.answer_intervals;
        if answer > looser {
            return Err(ConstantError::AnswerIntervals { answer, looser });
        }
        Ok(())
    }

    fn check_ethertype(&self) -> Result<(), ConstantError> {
        let reason = match self.ethertype {
            0..0x0600 => "values below 0x0600 are lengths, not types",
            0x0800 | 0x0806 | 0x86dd => "IP uses it, and each IP packet would wake the daemon",
            0x8100 | 0x88a8 => "it marks a VLAN tag, which the kernel removes",
            _ => return Ok(()),
        };
        Err(ConstantError::Ethertype {
            value: self.ethertype,
            reason,
        })
    }
}

impl Default for Constants {
    fn default() -> Self {
        Self::for_heartbeat(Duration::from_millis(100))
    }
}
