//! The data, the received data that waits for a decision, and the running job (`docs/jitterbug/protocol/data.md` D1 to
//! D7).

use std::collections::VecDeque;
use std::time::Duration;

use crate::JobRequest;
use crate::jitterbug::{Compute, Decide, Job, Options, Outcome, Work, policy};
use crate::time::Instant;

/// The maximum number of received data that wait for a decision. Further received data is dropped. The number is
/// limited, because the data of each token may be as large as `max_data`.
const WAITING_DECISIONS_MAX: usize = 16;

/// The result of a computation or a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataResult {
    /// A computation has ended.
    Computed {
        /// Whether the computation failed. If it failed, the data are unchanged.
        failed: bool,
    },
    /// A decision was made.
    Decided {
        /// Whether the program failed to decide. If the program failed, the node keeps the received data.
        failed: bool,
        changed: bool,
    },
}

#[derive(Debug)]
struct RunningJob {
    job: u64,
    due: Instant,
    /// The received data of a decision. The data are `None` if the job is a computation.
    received: Option<Box<[u8]>>,
}

#[derive(Debug)]
pub(crate) struct Data {
    bytes: Vec<u8>,
    waiting: VecDeque<Box<[u8]>>,
    running: Option<RunningJob>,
    jobs: VecDeque<JobRequest<Job>>,
    /// The number of jobs that were started.
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

    pub(crate) fn next_job(&mut self) -> Option<JobRequest<Job>> {
        self.jobs.pop_front()
    }

    /// Returns the time at which the running job will exceed its limit.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.running.as_ref().map(|running| running.due)
    }

    /// Whether a decision runs or waits.
    pub(crate) fn is_deciding(&self) -> bool {
        let decides = |running: &RunningJob| running.received.is_some();
        !self.waiting.is_empty() || self.running.as_ref().is_some_and(decides)
    }

    pub(crate) fn is_computing(&self) -> bool {
        let computes = |running: &RunningJob| running.received.is_none();
        self.running.as_ref().is_some_and(computes)
    }

    /// Queues the data of a token for a decision. Returns `false` if too many received data already wait. The data are
    /// then dropped.
    pub(crate) fn queue_received(&mut self, received: Vec<u8>) -> bool {
        let has_room = self.waiting.len() < WAITING_DECISIONS_MAX;
        if has_room {
            self.waiting.push_back(received.into());
        }
        has_room
    }

    /// Starts the decision about the next waiting data, or makes this decision at once. Returns `None` if a job runs or
    /// no data wait. `asked` counts the decisions.
    pub(crate) fn decide_next(
        &mut self,
        now: Instant,
        options: &Options,
        asked: &mut u64,
    ) -> Option<DataResult> {
        // Decisions follow each other, because each decision needs the data that the previous decision has left.
        if self.running.is_some() {
            return None;
        }
        let received = self.waiting.pop_front()?;
        // No program is needed if this node has no data, or if the received data equal this node's data.
        if self.bytes.is_empty() || *received == *self.bytes {
            return Some(self.finish_decision(&received, true, false));
        }
        *asked += 1;
        // Built-in decisions run on the loop: they take no longer than the data took to arrive.
        let continues = match options.decide {
            Decide::Greater => policy::greater(&received, &self.bytes),
            Decide::Longer => policy::longer(&received, &self.bytes),
            Decide::Program => {
                let work = Work::Decide {
                    // This node keeps the received data as well, because the outcome only selects one of the two
                    // versions.
                    received: received.clone(),
                    own: self.bytes.clone().into(),
                };
                self.start(now, options.compute_timeout, work, Some(received));
                return None;
            }
        };
        Some(self.finish_decision(&received, continues, false))
    }

    fn finish_decision(&mut self, received: &[u8], continues: bool, failed: bool) -> DataResult {
        let changed = continues && *received != *self.bytes;
        if changed {
            received.clone_into(&mut self.bytes);
        }
        DataResult::Decided { failed, changed }
    }

    /// Computes the next data. This is step 2 of a turn. The caller ensures that no job runs. Returns `None` if it
    /// started a job.
    pub(crate) fn compute(&mut self, now: Instant, options: &Options) -> Option<DataResult> {
        match options.compute {
            Compute::Counter => {
                let next = policy::counter(&self.bytes);
                Some(self.finish_computation(next, options.max_data))
            }
            Compute::Program => {
                let work = Work::Compute(self.bytes.clone().into());
                self.start(now, options.compute_timeout, work, None);
                None
            }
        }
    }

    fn finish_computation(&mut self, next: Option<Vec<u8>>, most: usize) -> DataResult {
        // Other nodes refuse a token with longer data, so longer data could never move.
        let next = next.filter(|next| next.len() <= most);
        let failed = next.is_none();
        if let Some(next) = next {
            self.bytes = next;
        }
        DataResult::Computed { failed }
    }

    fn start(&mut self, now: Instant, time: Duration, work: Work, received: Option<Box<[u8]>>) {
        // Ids never repeat, so the outcome of a cancelled job is not mistaken for the outcome of the next job.
        self.started += 1;
        let job = self.started;
        self.running = Some(RunningJob {
            job,
            due: now + time,
            received,
        });
        self.jobs
            .push_back(JobRequest::Start(Job { id: job, work }));
    }

    /// Handles the outcome of a job. If the node already gave the job up, the outcome has no effect.
    pub(crate) fn on_outcome(
        &mut self,
        job: u64,
        outcome: Outcome,
        most: usize,
    ) -> Option<DataResult> {
        let running = self.running.take_if(|running| running.job == job)?;
        Some(match (running.received, outcome) {
            (Some(received), Outcome::Decided { received: it }) => {
                self.finish_decision(&received, it, false)
            }
            // A command that fails must not stop the token, so the node keeps the received data.
            (Some(received), _) => self.finish_decision(&received, true, true),
            (None, Outcome::Computed(next)) => self.finish_computation(Some(next.into()), most),
            (None, _) => self.finish_computation(None, most),
        })
    }

    /// If the time of the running job is over, cancels the job.
    pub(crate) fn cancel_late_job(&mut self, now: Instant, most: usize) -> Option<DataResult> {
        // The turn must not wait for a program that hangs.
        let job = self.running.as_ref().filter(|it| it.due <= now)?.job;
        self.jobs.push_back(JobRequest::Cancel);
        self.on_outcome(job, Outcome::Failed, most)
    }

    /// Cancels a running computation. The result of the cancelled computation has no effect.
    pub(crate) fn cancel_computation(&mut self) {
        // The outcome of the cancelled job no longer matches a running job, so it has no effect.
        if self.is_computing() {
            self.running = None;
            self.jobs.push_back(JobRequest::Cancel);
        }
    }

    /// Cancels any running job, and drops the data that waits for a decision.
    pub(crate) fn cancel(&mut self) {
        // The node ends, and its data ends with it.
        self.waiting.clear();
        if self.running.take().is_some() {
            self.jobs.push_back(JobRequest::Cancel);
        }
    }

    /// Whether no job runs and no data wait.
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    /// Whether data wait only while a job runs, and whether the number of waiting data is within the limit.
    pub(crate) fn is_sound(&self) -> bool {
        self.waiting.is_empty()
            || self.running.is_some() && self.waiting.len() <= WAITING_DECISIONS_MAX
    }
}
