//! What a node is started with (`docs/jitterbug.md`, section 1).

use std::time::Duration;

use ring_codec::jitterbug::MAX_NODES;
use thiserror::Error;

use super::policy;

/// The most TR1 of a try.
const MAX_COUNT: u32 = 100;
/// The shortest time between two TR1: a loop looks at the clock more often than that.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);
/// A waiter asks who leads after this time, and a leader announces itself after half of it. A shorter one fills the
/// segment with datagrams.
const LEAST_RENEW: Duration = Duration::from_millis(100);
/// A node with a shorter time for a pass neither takes the token nor hands it on.
const LEAST_PASS: Duration = Duration::from_millis(10);
/// The shortest lease. All nodes of a ring live by the shortest lease in it, and a loop on a busy machine stands still
/// for some milliseconds.
pub const LEAST_LEASE: Duration = Duration::from_millis(50);
/// The longest lease. The restore of a new node lasts longer than the longest lease in its ring.
pub const MOST_LEASE: Duration = Duration::from_secs(10);

/// What a node is told at its start. Those of all nodes of a segment should be equal; a node names those that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The UDP port of all nodes.
    pub udp_port: u16,
    /// The time between two TR1 of a try.
    pub tr_interval: Duration,
    /// How many TR1 a try has, 1 to 100.
    pub tr_count: u32,
    /// How long a waiter waits for the token before it becomes an orphan.
    pub renew_timeout: Duration,
    /// The time for one whole exchange with one candidate, on both sides.
    pub token_pass_timeout: Duration,
    /// How long a leader without local work keeps the token.
    pub hold: Duration,
    /// The most entries of a node list, up to [`MAX_NODES`].
    pub max_nodes: u32,
    /// The most bytes of data.
    pub max_data: usize,
    /// Where the next data comes from.
    pub compute: Compute,
    /// Who says which of two data continues.
    pub decide: Decide,
    /// The time for one run of a program of either kind.
    pub compute_timeout: Duration,
    /// The [digest](super::policy::digest) of what computes and decides: nodes with different ones form different rings.
    pub policy: u64,
}

/// Where the next data comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compute {
    /// [`policy::counter`](super::policy::counter).
    #[default]
    Counter,
    /// A program: a [`Job`](super::Job).
    Program,
}

/// Who says which of two data continues.
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

/// Why options cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// A period is zero.
    #[error("{0} must be longer than nothing")]
    Zero(&'static str),
    /// A period is shorter than its least value.
    #[error("{option} {given:?} is less than {least:?}")]
    Short {
        /// The option.
        option: &'static str,
        /// Its value.
        given: Duration,
        /// The least one.
        least: Duration,
    },
    /// The lease is shorter than [`LEAST_LEASE`].
    #[error(
        "--tr-interval {interval:?} with --tr-count {count} makes a lease shorter than 50ms: give --tr-interval {least:?} or more"
    )]
    ShortLease {
        /// The interval.
        interval: Duration,
        /// The count.
        count: u32,
        /// The least interval with this count.
        least: Duration,
    },
    /// The lease is longer than [`MOST_LEASE`].
    #[error(
        "--tr-interval {interval:?} with --tr-count {count} makes a lease longer than 10s: give --tr-interval {most:?} or less"
    )]
    LongLease {
        /// The interval.
        interval: Duration,
        /// The count.
        count: u32,
        /// The longest interval with this count.
        most: Duration,
    },
    /// The port is 0.
    #[error("--udp-port must not be 0: all nodes need the same one")]
    Port,
    /// A try needs TR1, but not any number.
    #[error("--tr-count {0} is not between 1 and 100")]
    Count(u32),
    /// The wire has no room for so many, or the node itself has none.
    #[error("--max-nodes {0} is not between 1 and 65536")]
    Nodes(u32),
}

impl Options {
    /// Checks that they can work.
    ///
    /// # Errors
    /// Names the first option that cannot.
    pub fn check(&self) -> Result<(), OptionsError> {
        if self.compute_timeout.is_zero() {
            return Err(OptionsError::Zero("--compute-timeout"));
        }
        let periods = [
            ("--tr-interval", self.tr_interval, LEAST_INTERVAL),
            ("--renew-timeout", self.renew_timeout, LEAST_RENEW),
            ("--token-pass-timeout", self.token_pass_timeout, LEAST_PASS),
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
        if !(1..=MAX_COUNT).contains(&self.tr_count) {
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
        // In whole milliseconds, so that a person can give the value that the message names.
        let intervals = u128::from(2 * count - 1);
        let millis = |time: u128| Duration::from_millis(u64::try_from(time).unwrap_or(u64::MAX));
        if self.stall() < LEAST_LEASE {
            let least = millis(LEAST_LEASE.as_millis().div_ceil(intervals));
            return Err(OptionsError::ShortLease {
                interval,
                count,
                least,
            });
        }
        if self.stall() > MOST_LEASE {
            let most = millis(MOST_LEASE.as_millis() / intervals);
            return Err(OptionsError::LongLease {
                interval,
                count,
                most,
            });
        }
        Ok(())
    }

    /// D: how long a whole restore takes.
    pub fn restore(&self) -> Duration {
        self.tr_interval.saturating_mul(2 * self.tr_count)
    }

    /// How long a loop may stand still before what it was is worth nothing (section 5, "Stall"): a leader that stood
    /// for less has answered at least one TR1 of every restore of a node with these options.
    pub fn stall(&self) -> Duration {
        self.tr_interval.saturating_mul(2 * self.tr_count - 1)
    }
}
