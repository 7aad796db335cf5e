//! Names, runs and requests of jobs that run once in a period (`docs/reference/lab2/once.md`).

use std::fmt::{self, Write};
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_NAME_LEN, RunOutcome, stamps::is_name};

use crate::lab2::Grade;

/// The maximum number of job names that a ring remembers.
pub const STAMPS_MAX: usize = 32;

/// A call may come early by at most the period divided by this number.
const EARLY_CALL_DIVISOR: u32 = 100;
/// A call may come early by at most this time.
const EARLY_CALL_MAX: Duration = Duration::from_secs(60);

/// A job's name: 1 to 32 printable ASCII characters without blanks.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct JobName([u8; MAX_NAME_LEN]);

impl JobName {
    /// Parses a name from a text. Returns `None` if the text is not a valid name.
    pub fn new(text: &str) -> Option<Self> {
        let mut name = [0; MAX_NAME_LEN];
        name.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Self::from_bytes(name)
    }

    /// Decodes a name from the bytes in a frame or a file. Returns `None` if the bytes are not a valid name.
    pub fn from_bytes(name: [u8; MAX_NAME_LEN]) -> Option<Self> {
        is_name(&name).then_some(Self(name))
    }

    /// Returns the encoding of the name in frames and files.
    pub const fn bytes(&self) -> &[u8; MAX_NAME_LEN] {
        &self.0
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = self.0.iter().take_while(|&&byte| byte != 0);
        letters.try_for_each(|&byte| f.write_char(char::from(byte)))
    }
}

impl fmt::Debug for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The last run of a job. A stamp contains only the properties of the run that are equal on all members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Stamp {
    /// The job's name.
    pub name: JobName,
    /// The progress of the token under which the run began.
    pub progress: u64,
    /// A number that distinguishes runs under tokens of equal progress.
    pub run: u32,
    /// The member that ran the job.
    pub runner: MacAddr,
    /// The result of the run.
    pub outcome: RunOutcome,
    /// The run counts for this time after its beginning.
    pub period: Duration,
}

/// A stamp in the form that this node stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct StoredStamp {
    /// The place of the stamp in the file, a number below [`STAMPS_MAX`].
    pub place: u8,
    /// The run.
    pub stamp: Stamp,
    /// The start of the run according to this node's wall clock, in nanoseconds since 1970.
    pub began: u64,
    /// The start of the youngest replaced run. The time is `None` if this stamp replaced no run.
    pub before: Option<u64>,
}

/// A request to run a job once in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct OnceRequest {
    /// A number that identifies the request for the caller.
    pub id: u64,
    /// The job's name.
    pub name: JobName,
    /// The period. It is the minimum time between the starts of two runs. [`is_satisfied_by`](Self::is_satisfied_by)
    /// allows a small tolerance.
    pub every: Duration,
    /// Whether the job may run again if its last run was lost or failed.
    pub retry: bool,
    /// The grade that the tenure must have before the run begins.
    pub require: Grade,
}

impl OnceRequest {
    /// Whether this run satisfies the request. Then no new run is necessary. A run no longer satisfies the request when
    /// its period is almost over. The period counts as almost over when at most a hundredth of it is left, and at most
    /// a minute.
    pub fn is_satisfied_by(&self, run: &RunView) -> bool {
        // A scheduler does not call at exact times, and a stamp is written some hops after its call. Without a
        // tolerance, a job that is called once per period would run in every second period.
        let tolerance = (self.every / EARLY_CALL_DIVISOR).min(EARLY_CALL_MAX);
        self.counted_age(run)
            .is_some_and(|age| age < self.every.saturating_sub(tolerance))
    }

    /// Returns the remaining time of the period that began with this run. Returns zero if the run does not count.
    pub fn period_left(&self, run: &RunView) -> Duration {
        let age = self.counted_age(run).unwrap_or(self.every);
        self.every.saturating_sub(age)
    }

    /// Returns the age of this run, or the age of the youngest run that it replaced, whichever is smaller. The age of a
    /// run that does not count is left out. Returns `None` if neither run counts.
    fn counted_age(&self, run: &RunView) -> Option<Duration> {
        let counts = match run.stamp.outcome {
            RunOutcome::Done => true,
            // A run without a result may have done its work before its machine died, so only `retry` may repeat it.
            RunOutcome::Begun | RunOutcome::Failed => !self.retry,
            RunOutcome::Void => false,
        };
        // A replaced run has happened too. If the ring was split, each side may have begun a run in the period.
        let before = run.before.filter(|_| !self.retry);
        counts.then_some(run.age).into_iter().chain(before).min()
    }
}

/// A run that this node knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunView {
    /// The run.
    pub stamp: Stamp,
    /// This node's measurement of the time since the run began.
    pub age: Duration,
    /// The time since the start of the youngest replaced run. The time is `None` if this run replaced no run.
    pub before: Option<Duration>,
}

/// The progress of the latest request for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnceProgress {
    /// The node asks the members for stamps, or waits until enough members store the new stamp.
    Asking,
    /// Enough members stored the stamp, so the run begins.
    Begun,
    /// The job already ran in this period.
    Ran(RunView),
    /// The run cannot be stamped, because the table is full of jobs with unfinished periods.
    Full,
    /// The run cannot be stamped, because the smallest MTU is too small for a stamp.
    TooSmall,
}

/// The result of a job that was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum RunEnd {
    /// The job succeeded.
    Done,
    /// The job failed.
    Failed,
    /// The job began, but its result is unknown.
    Unknown,
    /// The job did not run.
    NotRun,
}
