//! The data, what waits to be decided, and the job in hand (`docs/jitterbug.md`, section 9).

use std::collections::VecDeque;
use std::time::Duration;

use crate::JobOp;
use crate::jitterbug::{Compute, Decide, Job, Options, Outcome, Work, policy};
use crate::time::Instant;

/// Received data that may wait for a decision.
const MAX_WAITING: usize = 16;

/// What has come of a computation or a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// A computation; whether it failed.
    Computed {
        /// The data stays as it was.
        failed: bool,
    },
    /// A decision.
    Decided {
        /// The received data continues since nobody has said which.
        failed: bool,
        /// The data is another now.
        changed: bool,
    },
}

/// The job in hand.
#[derive(Debug)]
struct Running {
    job: u64,
    due: Instant,
    /// The data to be decided about; `None`: it is a computation.
    received: Option<Box<[u8]>>,
}

/// The node's data.
#[derive(Debug)]
pub(crate) struct Data {
    bytes: Vec<u8>,
    waiting: VecDeque<Box<[u8]>>,
    running: Option<Running>,
    jobs: VecDeque<JobOp<Job>>,
    /// Jobs started.
    started: u64,
}

impl Data {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            waiting: VecDeque::new(),
            running: None,
            jobs: VecDeque::new(),
            started: 0,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn next_job(&mut self) -> Option<JobOp<Job>> {
        self.jobs.pop_front()
    }

    /// When the job in hand takes too long.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.running.as_ref().map(|running| running.due)
    }

    /// Whether something is being decided, or waits to be.
    pub(crate) fn is_deciding(&self) -> bool {
        let decides = |running: &Running| running.received.is_some();
        !self.waiting.is_empty() || self.running.as_ref().is_some_and(decides)
    }

    pub(crate) fn is_computing(&self) -> bool {
        let computes = |running: &Running| running.received.is_none();
        self.running.as_ref().is_some_and(computes)
    }

    /// Data came with a token. `false`: too many wait, it counts for nothing.
    pub(crate) fn receive(&mut self, received: Vec<u8>) -> bool {
        let has_room = self.waiting.len() < MAX_WAITING;
        if has_room {
            self.waiting.push_back(received.into());
        }
        has_room
    }

    /// Goes on with what waits to be decided, until a job is in hand. `None`: there is nothing left to do now. Counts
    /// in `asked` who was asked.
    pub(crate) fn decide(
        &mut self,
        now: Instant,
        options: &Options,
        asked: &mut u64,
    ) -> Option<Ended> {
        if self.running.is_some() {
            return None;
        }
        let received = self.waiting.pop_front()?;
        if self.bytes.is_empty() || *received == *self.bytes {
            return Some(self.decided(&received, true, false));
        }
        *asked += 1;
        let continues = match options.decide {
            Decide::Greater => policy::greater(&received, &self.bytes),
            Decide::Longer => policy::longer(&received, &self.bytes),
            Decide::Program => {
                let work = Work::Decide {
                    received: received.clone(),
                    own: self.bytes.clone().into(),
                };
                self.start(now, options.compute_timeout, work, Some(received));
                return None;
            }
        };
        Some(self.decided(&received, continues, false))
    }

    fn decided(&mut self, received: &[u8], continues: bool, failed: bool) -> Ended {
        let changed = continues && *received != *self.bytes;
        if changed {
            received.clone_into(&mut self.bytes);
        }
        Ended::Decided { failed, changed }
    }

    /// Step 2 of a turn. Nothing else may be in hand. `None`: a job is in hand now.
    pub(crate) fn compute(&mut self, now: Instant, options: &Options) -> Option<Ended> {
        match options.compute {
            Compute::Counter => {
                let next = policy::counter(&self.bytes);
                Some(self.computed(next, options.max_data))
            }
            Compute::Program => {
                let work = Work::Compute(self.bytes.clone().into());
                self.start(now, options.compute_timeout, work, None);
                None
            }
        }
    }

    fn computed(&mut self, next: Option<Vec<u8>>, most: usize) -> Ended {
        let next = next.filter(|next| next.len() <= most);
        let failed = next.is_none();
        if let Some(next) = next {
            self.bytes = next;
        }
        Ended::Computed { failed }
    }

    fn start(&mut self, now: Instant, time: Duration, work: Work, received: Option<Box<[u8]>>) {
        self.started += 1;
        let job = self.started;
        self.running = Some(Running {
            job,
            due: now + time,
            received,
        });
        self.jobs.push_back(JobOp::Start(Job { id: job, work }));
    }

    /// A job has ended; one that was given up before counts for nothing.
    pub(crate) fn done(&mut self, job: u64, outcome: Outcome, most: usize) -> Option<Ended> {
        let running = self.running.take_if(|running| running.job == job)?;
        Some(match (running.received, outcome) {
            (Some(received), Outcome::Decided { received: it }) => {
                self.decided(&received, it, false)
            }
            (Some(received), _) => self.decided(&received, true, true),
            (None, Outcome::Computed(next)) => self.computed(Some(next.into()), most),
            (None, _) => self.computed(None, most),
        })
    }

    /// Kills the job in hand if its time is over.
    pub(crate) fn time_out(&mut self, now: Instant, most: usize) -> Option<Ended> {
        let job = self.running.as_ref().filter(|it| it.due <= now)?.job;
        self.jobs.push_back(JobOp::Cancel);
        self.done(job, Outcome::Failed, most)
    }

    /// Kills a running computation, whose result counts for nothing.
    pub(crate) fn cancel_computation(&mut self) {
        if self.is_computing() {
            self.running = None;
            self.jobs.push_back(JobOp::Cancel);
        }
    }

    /// Kills whatever runs, and forgets what waits to be decided.
    pub(crate) fn cancel(&mut self) {
        self.waiting.clear();
        if self.running.take().is_some() {
            self.jobs.push_back(JobOp::Cancel);
        }
    }

    /// Whether nothing runs, and nothing waits.
    #[cfg(debug_assertions)]
    pub(crate) fn is_at_rest(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    /// Whether what waits to be decided waits for a job in hand, and is not too much.
    #[cfg(debug_assertions)]
    pub(crate) fn is_sound(&self) -> bool {
        self.waiting.is_empty() || self.running.is_some() && self.waiting.len() <= MAX_WAITING
    }
}
