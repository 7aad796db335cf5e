//! The protocol's constants, and which combinations of them can work.

use std::time::Duration;

use ring_codec::lab2::ETHERTYPE;
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::time::nanos;

/// The constants of one ring (`docs/protocol.md`, sections 1 and 4). All members must agree on them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constants {
    /// HEART_BEAT_PERIOD: how often an OWNER broadcasts TOKEN_IS_HERE.
    pub heartbeat: Duration,
    /// WAITER_SLEEP_INTERVALS, in heartbeat periods.
    pub waiter_intervals: u32,
    /// LOOSER_ANSWER_INTERVALS, in heartbeat periods.
    pub answer_intervals: u32,
    /// TAKE_TIMEOUT: how long one TAKE_TOKEN waits for its acknowledgement.
    pub take_timeout: Duration,
    /// TAKE_ATTEMPTS: how often TAKE_TOKEN is sent to one member.
    pub take_attempts: u32,
    /// IDLE_HOLD: how long an OWNER without work keeps the token; [`FOREVER`] as long as it can.
    pub idle_hold: Duration,
    /// The frames' EtherType.
    pub ethertype: u16,
    /// The most members that the table holds, the node itself included.
    pub max_members: usize,
    /// How many members the ring is to have; `None`: those that are known. A quorum is more than half
    /// of them.
    pub expect: Option<usize>,
    /// For how long a silent member stays in the table; `None`: for good.
    pub forget: Option<Duration>,
}

/// Why a combination of constants cannot work.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConstantError {
    /// A period, a count or a time-out of 0.
    #[error("{name} must be more than 0")]
    Zero {
        /// The option's name.
        name: &'static str,
    },
    /// So long that a time-out does not fit 64 bits of nanoseconds.
    #[error("{name} of {value:?} is too long: at most {max:?} can be kept")]
    TooLong {
        /// The option's name.
        name: &'static str,
        /// Its value.
        value: Duration,
        /// The longest that works.
        max: Duration,
    },
    /// More intervals or attempts than can be kept track of.
    #[error("{name} of {value} is too many: give at most {max}")]
    TooMany {
        /// The option's name.
        name: &'static str,
        /// Its value.
        value: u32,
        /// The most that works.
        max: u32,
    },
    /// LOOSER_TIMEOUT would be 0.
    #[error(
        "waiter-intervals of {0} cannot work: a LOOSER sleeps half as many periods, which must be \
         at least 1; give 2 or more"
    )]
    WaiterIntervals(u32),
    /// A LOOSER would ask again before it has waited for an answer.
    #[error(
        "answer-intervals of {answer} cannot work: a LOOSER asks again every {looser} periods \
         (half of waiter-intervals) and must have waited for the answers by then"
    )]
    AnswerIntervals {
        /// LOOSER_ANSWER_INTERVALS.
        answer: u32,
        /// LOOSER_SLEEP_INTERVALS.
        looser: u32,
    },
    /// A single failed hand-over outlasts the waiters' patience.
    #[error(
        "a single failed hand-over takes {hand_over:?} (take-attempts × take-timeout), which \
         outlasts the waiters' patience of {patience:?} (waiter-intervals × heartbeat): they \
         would elect a second owner"
    )]
    HandOverOutlastsWaiters {
        /// TAKE_ATTEMPTS × TAKE_TIMEOUT.
        hand_over: Duration,
        /// WAITER_TIMEOUT.
        patience: Duration,
    },
    /// An EtherType that is a length, or one that the kernel or other hosts use.
    #[error("ethertype {value:#06x} cannot work: {reason}")]
    Ethertype {
        /// The EtherType.
        value: u16,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A table that cannot hold a ring.
    #[error("max-members of {value} cannot work: give 2 to {max}")]
    MaxMembers {
        /// The bound given.
        value: usize,
        /// The largest that works.
        max: usize,
    },
    /// A ring of nobody, or of more members than the table holds.
    #[error("expect of {value} cannot work: give 1 to {max} (max-members)")]
    Expect {
        /// How many are expected.
        value: usize,
        /// The most that the table holds.
        max: usize,
    },
}

/// The longest heartbeat, take-timeout or idle-hold.
pub const LONGEST_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);
/// The shortest heartbeat that members live by: no owner speaks more often.
pub const SHORTEST_HEARTBEAT: Duration = Duration::from_millis(1);
/// The shortest take-timeout that members live by: an offer and its answer wake two processes, and no machine does
/// that in less.
pub const SHORTEST_TAKE_TIMEOUT: Duration = Duration::from_micros(20);
/// The idle-hold of an OWNER that keeps the token until another member wants it.
pub const FOREVER: Duration = Duration::MAX;
/// For how long a silent member is remembered.
const FORGET: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest that one can be: ten years, so that times stay within 64 bits of nanoseconds.
const MAX_FORGET: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
/// The largest bound of the member table: 22 bytes and some bookkeeping each.
const MAX_MAX_MEMBERS: usize = 1 << 20;
/// The most intervals and attempts: with [`LONGEST_PERIOD`] they still fit 64 bits of nanoseconds.
const MAX_COUNT: u32 = 10_000;

impl Constants {
    /// The defaults that follow from a heartbeat period: TAKE_TIMEOUT a twentieth of it,
    /// IDLE_HOLD the same as it, all else as section 4 of `docs/protocol.md` has it.
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
            forget: Some(FORGET),
        }
    }

    /// WAITER_TIMEOUT: how long a WAITER trusts that a token is about.
    pub fn waiter_timeout(&self) -> Duration {
        self.heartbeat * self.waiter_intervals
    }

    /// LOOSER_SLEEP_INTERVALS: half of WAITER_SLEEP_INTERVALS, rounded down.
    pub fn looser_intervals(&self) -> u32 {
        self.waiter_intervals / 2
    }

    /// LOOSER_TIMEOUT: how often a LOOSER asks.
    pub fn looser_timeout(&self) -> Duration {
        self.heartbeat * self.looser_intervals()
    }

    /// LOOSER_ANSWER_TIMEOUT: how long an answer is waited for.
    pub fn looser_answer_timeout(&self) -> Duration {
        self.heartbeat * self.answer_intervals
    }

    /// How long a giver waits for one member in all: TAKE_ATTEMPTS × TAKE_TIMEOUT and the half of one more.
    pub fn hand_over_timeout(&self) -> Duration {
        self.take_timeout * self.take_attempts + self.take_timeout / 2
    }

    /// How long after an OWNER has told all of its token nobody objects to it any longer.
    pub fn objected_within(&self) -> Duration {
        self.heartbeat + 3 * self.take_timeout
    }

    /// How long a giver waits after so many TAKE_TOKEN: TAKE_TIMEOUT, and after the last for the half of it
    /// besides. An acknowledgement that left in time arrives within.
    pub fn answered_within(&self, attempts: u32) -> Duration {
        let on_the_way = if attempts < self.take_attempts {
            Duration::ZERO
        } else {
            self.take_timeout / 2
        };
        self.take_timeout + on_the_way
    }

    /// How long a token that nobody works with may take to who asks for it, be one frame of each kind
    /// lost: WANT_TOKEN is said again after HEART_BEAT_PERIOD, TAKE_TOKEN after TAKE_TIMEOUT.
    pub fn request_timeout(&self) -> Duration {
        self.heartbeat + self.hand_over_timeout()
    }

    /// A digest of what all members must agree on: the times that one member's rules build on another's.
    /// How long a token rests, how many members a table holds and how many are expected is not among
    /// them.
    pub fn digest(&self) -> u64 {
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

    /// Checks that the combination can work.
    ///
    /// # Errors
    /// Names the first constant that cannot, and why.
    pub fn check(&self) -> Result<(), ConstantError> {
        self.check_periods()?;
        self.check_counts()?;
        let (hand_over, patience) = (self.hand_over_timeout(), self.waiter_timeout());
        if hand_over >= patience {
            return Err(ConstantError::HandOverOutlastsWaiters {
                hand_over,
                patience,
            });
        }
        self.check_ethertype()?;
        if !(2..=MAX_MAX_MEMBERS).contains(&self.max_members) {
            let (value, max) = (self.max_members, MAX_MAX_MEMBERS);
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
            if value > LONGEST_PERIOD {
                return Err(ConstantError::TooLong {
                    name,
                    value,
                    max: LONGEST_PERIOD,
                });
            }
        }
        match self.forget {
            Some(Duration::ZERO) => Err(ConstantError::Zero {
                name: "forget-after",
            }),
            Some(value) if value > MAX_FORGET => Err(ConstantError::TooLong {
                name: "forget-after",
                value,
                max: MAX_FORGET,
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
            if value > MAX_COUNT {
                return Err(ConstantError::TooMany {
                    name,
                    value,
                    max: MAX_COUNT,
                });
            }
        }
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
            0..0x0600 => "below 0x0600 the field is a length, not a type",
            0x0800 | 0x0806 | 0x86dd => "it belongs to IP, whose every packet would wake the ring",
            0x8100 | 0x88a8 => "it marks a VLAN tag, which the kernel takes off",
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
