//! The options of a node (`docs/jitterbug/protocol/addresses.md` O1 to O6).

use std::time::Duration;

use ring_codec::jitterbug::MAX_NODES;
use thiserror::Error;

use super::policy;

/// The maximum number of TR1 messages in one try.
const TR_COUNT_MAX: u32 = 100;
/// The minimum time between two TR1. An event loop reads the clock more often than this.
const TR_INTERVAL_MIN: Duration = Duration::from_millis(1);
/// A waiter asks once per `renew_timeout` which node leads. A leader announces itself after half of `renew_timeout`.
/// Shorter times would fill the segment with datagrams.
const RENEW_TIMEOUT_MIN: Duration = Duration::from_millis(100);
/// A node with a shorter time limit for a pass could neither take the token nor pass the token.
const PASS_TIMEOUT_MIN: Duration = Duration::from_millis(10);
/// The shortest lease. All nodes of a ring use the shortest of their leases. The event loop of a busy machine may stall
/// for some milliseconds.
pub const LEASE_MIN: Duration = Duration::from_millis(50);
/// The longest lease. The restore of a new node lasts longer than the longest lease in its ring.
pub const LEASE_MAX: Duration = Duration::from_secs(10);

/// The options of a node. All nodes of a segment should have equal options. A node reports other nodes whose options
/// differ from its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The UDP port of all nodes.
    pub udp_port: u16,
    /// The time between two TR1 of a try.
    pub tr_interval: Duration,
    /// The number of TR1 in a try, 1 to 100.
    pub tr_count: u32,
    /// The time after which a waiter without the token becomes an orphan.
    pub renew_timeout: Duration,
    /// The time limit for one exchange between the leader and a candidate. Both sides use this limit.
    pub token_pass_timeout: Duration,
    /// The time for which a leader without local work keeps the token.
    pub hold: Duration,
    /// The maximum number of nodes, up to [`MAX_NODES`].
    pub max_nodes: u32,
    /// The maximum length of the data in bytes.
    pub max_data: usize,
    /// The computation or program that makes the next data.
    pub compute: Compute,
    /// The rule that decides which of two nodes' data the ring keeps.
    pub decide: Decide,
    /// The time limit of a program.
    pub compute_timeout: Duration,
    /// The [digest](super::policy::digest) of `compute` and `decide`. Nodes with different digests form different
    /// rings.
    pub policy: u64,
}

/// The computation or program that makes the next data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compute {
    /// [`policy::counter`](super::policy::counter).
    #[default]
    Counter,
    /// A program: a [`Job`](super::Job).
    Program,
}

/// The rule that decides which of two nodes' data the ring keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Decide {
    /// [`policy::greater`](super::policy::greater).
    #[default]
    Greater,
    /// [`policy::longer`](super::policy::longer).
    Longer,
    /// A program: a [`Job`](super::Job).
    Program,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            udp_port: 57_700,
            tr_interval: Duration::from_millis(100),
            tr_count: 3,
            renew_timeout: Duration::from_secs(2),
            token_pass_timeout: Duration::from_millis(500),
            hold: Duration::from_millis(100),
            max_nodes: MAX_NODES,
            max_data: 1 << 20,
            compute: Compute::default(),
            decide: Decide::default(),
            compute_timeout: Duration::from_secs(10),
            policy: policy::digest("counter", "greater"),
        }
    }
}

/// The reason why options are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// A period is zero.
    #[error("{0} must be longer than 0")]
    Zero(&'static str),
    /// A period is shorter than its minimum.
    #[error("{option} {given:?} is less than {least:?}")]
    Short {
        /// The option.
        option: &'static str,
        /// The given value.
        given: Duration,
        /// The minimum.
        least: Duration,
    },
    /// The lease is shorter than [`LEASE_MIN`].
    #[error(
        "--tr-interval {interval:?} with --tr-count {count} makes a lease shorter than 50ms: \
         use --tr-interval {least:?} or more"
    )]
    ShortLease {
        /// The interval.
        interval: Duration,
        /// The count.
        count: u32,
        /// The shortest interval that gives a legal lease with this count.
        least: Duration,
    },
    /// The lease is longer than [`LEASE_MAX`].
    #[error(
        "--tr-interval {interval:?} with --tr-count {count} makes a lease longer than 10s: \
         use --tr-interval {most:?} or less"
    )]
    LongLease {
        /// The interval.
        interval: Duration,
        /// The count.
        count: u32,
        /// The longest interval that gives a legal lease with this count.
        most: Duration,
    },
    /// The port is 0.
    #[error("--udp-port must not be 0: all nodes need the same port")]
    Port,
    /// The number of TR1 is out of range.
    #[error("--tr-count {0} is not between 1 and 100")]
    Count(u32),
    /// The number of nodes is out of range.
    #[error("--max-nodes {0} is not between 1 and 65536")]
    Nodes(u32),
}

impl Options {
    /// Checks that the options can work.
    ///
    /// # Errors
    /// Returns an error that names the first option that cannot work.
    pub fn check(&self) -> Result<(), OptionsError> {
        if self.compute_timeout.is_zero() {
            return Err(OptionsError::Zero("--compute-timeout"));
        }
        // `hold` may be zero: a leader then passes the token at once.
        let periods = [
            ("--tr-interval", self.tr_interval, TR_INTERVAL_MIN),
            ("--renew-timeout", self.renew_timeout, RENEW_TIMEOUT_MIN),
            (
                "--token-pass-timeout",
                self.token_pass_timeout,
                PASS_TIMEOUT_MIN,
            ),
        ];
        let short = periods.into_iter().find(|(_, given, least)| given < least);
        if let Some((option, given, least)) = short {
            return Err(OptionsError::Short {
                option,
                given,
                least,
            });
        }
        if self.udp_port == 0 {
            return Err(OptionsError::Port);
        }
        if !(1..=TR_COUNT_MAX).contains(&self.tr_count) {
            return Err(OptionsError::Count(self.tr_count));
        }
        self.check_lease()?;
        if !(1..=MAX_NODES).contains(&self.max_nodes) {
            return Err(OptionsError::Nodes(self.max_nodes));
        }
        Ok(())
    }

    fn check_lease(&self) -> Result<(), OptionsError> {
        let (interval, count) = (self.tr_interval, self.tr_count);
        // This many intervals lie between the first and the last TR1 of a restore.
        let intervals = u128::from(2 * count - 1);
        // Whole milliseconds, because users type the value that the message names.
        let millis = |time: u128| Duration::from_millis(u64::try_from(time).unwrap_or(u64::MAX));
        if self.own_lease() < LEASE_MIN {
            let least = millis(LEASE_MIN.as_millis().div_ceil(intervals));
            return Err(OptionsError::ShortLease {
                interval,
                count,
                least,
            });
        }
        if self.own_lease() > LEASE_MAX {
            let most = millis(LEASE_MAX.as_millis() / intervals);
            return Err(OptionsError::LongLease {
                interval,
                count,
                most,
            });
        }
        Ok(())
    }

    /// Returns D, the duration of a whole restore.
    pub fn restore_duration(&self) -> Duration {
        self.tr_interval.saturating_mul(2 * self.tr_count)
    }

    /// Returns the lease. A leader that was stalled for longer no longer leads (`leader.md` S1). After a shorter stall,
    /// the leader has answered at least one TR1 of every restore. All nodes must use these options.
    pub fn own_lease(&self) -> Duration {
        self.tr_interval.saturating_mul(2 * self.tr_count - 1)
    }
}
