//! Jobs that run once in a period, as applications name them and see what became of them
//! (`docs/once.md`).

use std::fmt::{self, Write};
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_NAME_LEN, RunOutcome, stamps::is_name};

use crate::lab2::Grade;

/// The most names that a ring remembers.
pub const MAX_STAMPS: usize = 32;

/// A period may be shorter by this share of it,
const TOLERATED_SHARE: u32 = 100;
/// and by no more than this.
const TOLERATED_MAX: Duration = Duration::from_secs(60);

/// The name of a job: 1 to 32 printable ASCII characters without blanks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobName([u8; MAX_NAME_LEN]);

impl JobName {
    /// The name that is spelled so; `None`: no job can have it.
    pub fn new(text: &str) -> Option<Self> {
        let mut name = [0; MAX_NAME_LEN];
        name.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Self::from_bytes(name)
    }

    /// The name that lies so in a frame or a file.
    pub fn from_bytes(name: [u8; MAX_NAME_LEN]) -> Option<Self> {
        is_name(&name).then_some(Self(name))
    }

    /// As it lies in a frame or a file.
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

/// The last run of a job, in what all members agree about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The job.
    pub name: JobName,
    /// The progress of the token under which the run began.
    pub progress: u64,
    /// Tells runs with one progress apart.
    pub run: u32,
    /// Who ran it.
    pub runner: MacAddr,
    /// How it has ended.
    pub outcome: RunOutcome,
    /// For how long the run counts.
    pub period: Duration,
}

/// A stamp as it is kept in a file, for this node alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoredStamp {
    /// Which of the [`MAX_STAMPS`] places it has, from 0 on.
    pub place: u8,
    /// The stamp.
    pub stamp: Stamp,
    /// When the run began by this node's wall clock, in nanoseconds since 1970.
    pub began: u64,
    /// The same of the youngest run that this one has taken the place of.
    pub before: Option<u64>,
}

/// A job that is to run once in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OnceRequest {
    /// Whose it is: the caller's number for it.
    pub id: u64,
    /// The job.
    pub name: JobName,
    /// The period: no run within this time, less the [tolerance](Self::is_met_by), after the last one began.
    pub every: Duration,
    /// A run that has failed or was lost does not count.
    pub retry: bool,
    /// How many must have stored the stamp before the run begins.
    pub require: Grade,
}

impl OnceRequest {
    /// Whether this is a run, of its job, that makes another one needless. A scheduler does not call to the
    /// nanosecond, and the stamp is some hops younger than its call: so a call in the last hundredth of the
    /// period, and in its last minute, finds the run to be too old.
    pub fn is_met_by(&self, run: &RunView) -> bool {
        let tolerance = (self.every / TOLERATED_SHARE).min(TOLERATED_MAX);
        self.counted_age(run)
            .is_some_and(|age| age < self.every.saturating_sub(tolerance))
    }

    /// Returns how long it is until the end of the period that a run of its job began; zero if that run does
    /// not count.
    pub fn period_left(&self, run: &RunView) -> Duration {
        let age = self.counted_age(run).unwrap_or(self.every);
        self.every.saturating_sub(age)
    }

    /// The age of the youngest run that counts. One that has taken the place of another does not make that
    /// undone: on two sides of a cut both may have begun in the period.
    fn counted_age(&self, run: &RunView) -> Option<Duration> {
        let counts = match run.stamp.outcome {
            RunOutcome::Done => true,
            RunOutcome::Begun | RunOutcome::Failed => !self.retry,
            RunOutcome::Void => false,
        };
        let before = run.before.filter(|_| !self.retry);
        counts.then_some(run.age).into_iter().chain(before).min()
    }
}

/// A run that is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunView {
    /// The run.
    pub stamp: Stamp,
    /// How long ago it began, as far as is known here.
    pub age: Duration,
    /// The same of the youngest run that this one has taken the place of.
    pub before: Option<Duration>,
}

/// How far the job that was asked for last has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnceStanding {
    /// The members are being asked, or told.
    Asking,
    /// All who must know of the run do: it begins.
    Begun,
    /// It has run in this period.
    Ran(RunView),
    /// All names are taken by jobs whose periods are not over.
    Full,
    /// This interface's frames are too short for a stamp.
    TooSmall,
}

/// How a job that was asked for has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RunEnd {
    /// It has succeeded.
    Done,
    /// It has failed.
    Failed,
    /// It had begun, and nobody knows how it has ended.
    Unknown,
    /// It was not run.
    NotRun,
}
