//! Names, runs and requests of jobs that run once in a period (`docs/once.md`).

use std::fmt::{self, Write};
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_NAME_LEN, RunOutcome, stamps::is_name};

use crate::lab2::Grade;

/// The most job names that a ring remembers.
pub const STAMPS_MAX: usize = 32;

/// A call may come early by this fraction of the period.
const EARLY_CALL_DIVISOR: u32 = 100;
/// The most by which a call may come early.
const EARLY_CALL_MAX: Duration = Duration::from_secs(60);

/// A job's name: 1 to 32 printable ASCII characters without blanks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobName([u8; MAX_NAME_LEN]);

impl JobName {
    /// Returns the name with this spelling; `None` if it is not valid.
    pub fn new(text: &str) -> Option<Self> {
        let mut name = [0; MAX_NAME_LEN];
        name.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Self::from_bytes(name)
    }

    /// Returns the name that is encoded so in a frame or a file.
    pub fn from_bytes(name: [u8; MAX_NAME_LEN]) -> Option<Self> {
        is_name(&name).then_some(Self(name))
    }

    /// Returns the encoding of frames and files.
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

/// The last run of a job, with the properties that all members share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The job's name.
    pub name: JobName,
    /// Progress of the token under which the run began.
    pub progress: u64,
    /// Distinguishes runs of equal progress.
    pub run: u32,
    /// The member that ran it.
    pub runner: MacAddr,
    /// How it ended.
    pub outcome: RunOutcome,
    /// How long the run counts.
    pub period: Duration,
}

/// A stamp as this node stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoredStamp {
    /// Its place, less than [`STAMPS_MAX`].
    pub place: u8,
    /// The run.
    pub stamp: Stamp,
    /// When the run began, by this node's wall clock in nanoseconds since 1970.
    pub began: u64,
    /// When the youngest earlier run began that this one has replaced.
    pub before: Option<u64>,
}

/// A request to run a job once in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OnceRequest {
    /// The caller's number of the request.
    pub id: u64,
    /// The job's name.
    pub name: JobName,
    /// The period: no run begins within this time, less the [tolerance](Self::is_satisfied_by), after the last one began.
    pub every: Duration,
    /// Whether a run does not count if it was lost or has failed.
    pub retry: bool,
    /// The grade of confirmations that must be reached before the run begins.
    pub require: Grade,
}

impl OnceRequest {
    /// Whether this run makes another one needless. It does not if the rest of its period is at most a hundredth of the
    /// period and at most a minute.
    pub fn is_satisfied_by(&self, run: &RunView) -> bool {
        // A scheduler does not call at exact times, and the stamp is some hops younger than its call.
        let tolerance = (self.every / EARLY_CALL_DIVISOR).min(EARLY_CALL_MAX);
        self.counted_age(run)
            .is_some_and(|age| age < self.every.saturating_sub(tolerance))
    }

    /// Returns the time that is left of this run's period; zero if the run does not count.
    pub fn period_left(&self, run: &RunView) -> Duration {
        let age = self.counted_age(run).unwrap_or(self.every);
        self.every.saturating_sub(age)
    }

    /// Returns the age of the youngest run that counts.
    fn counted_age(&self, run: &RunView) -> Option<Duration> {
        let counts = match run.stamp.outcome {
            RunOutcome::Done => true,
            RunOutcome::Begun | RunOutcome::Failed => !self.retry,
            RunOutcome::Void => false,
        };
        // The run that was replaced has happened too: on two sides of a split both may have begun in the period.
        let before = run.before.filter(|_| !self.retry);
        counts.then_some(run.age).into_iter().chain(before).min()
    }
}

/// A known run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunView {
    /// The run.
    pub stamp: Stamp,
    /// How long ago it began, as far as this node knows.
    pub age: Duration,
    /// How long ago the youngest earlier run began that this one has replaced.
    pub before: Option<Duration>,
}

/// Progress of the latest requested job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnceProgress {
    /// The members are being asked, or are storing the stamp.
    Asking,
    /// Enough members have stored the run's stamp: it begins.
    Begun,
    /// The job has already run in this period.
    Ran(RunView),
    /// The table is full of jobs whose periods are not over.
    Full,
    /// The MTU is too small for a stamp.
    TooSmall,
}

/// How a requested job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunEnd {
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
    /// It began, and its result is not known.
    Unknown,
    /// It did not run.
    NotRun,
}
