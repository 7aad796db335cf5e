//! Jobs of a machine, done off the loop by a worker; each answer is a command for the machine.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};

use ring_proto::time::Instant;

use super::worker::{Bell, Worker};

/// Carries out jobs, one at a time, in a thread of its own.
pub trait Task: Send + 'static {
    /// The work.
    type Job: Send + 'static;
    /// Its outcome, for the machine.
    type Answer: Send + 'static;

    /// Does a job. If that takes long, look at `bell` for when to stop.
    fn carry_out(&mut self, job: Self::Job, bell: &Bell) -> Self::Answer;
}

/// The jobs of one machine, as the loop sees them.
#[derive(Debug)]
pub struct Jobs<T: Task> {
    worker: Worker<VecDeque<T::Job>>,
    answers: Receiver<T::Answer>,
    /// Rings when there is an answer, and at the thread's end.
    answered: Arc<Bell>,
}

/// Rings at the latest when it is dropped.
struct Rings(Arc<Bell>);

impl Drop for Rings {
    fn drop(&mut self) {
        self.0.ring();
    }
}

impl<T: Task> Jobs<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The process has too many files open, or threads.
    pub fn start(mut task: T) -> io::Result<Self> {
        let answered = Arc::new(Bell::new()?);
        let (sender, answers) = mpsc::channel();
        let rings = Rings(Arc::clone(&answered));
        let worker = Worker::start("jobs", move |mailbox, mut poller| {
            // Dropped after the sender, so that the loop finds the channel closed when it hears the bell.
            let rings = rings;
            let sender = sender;
            while let Some(job) = mailbox.next(&mut poller) {
                let answer = task.carry_out(job, mailbox.bell());
                if sender.send(answer).is_err() {
                    break;
                }
                rings.0.ring();
            }
        })?;
        Ok(Self {
            worker,
            answers,
            answered,
        })
    }

    /// Adds a job; [`post`](Self::post) passes it on.
    pub fn give(&mut self, job: T::Job) {
        self.worker.hold(job);
    }

    /// Passes jobs on to the worker. Never waits.
    pub fn post(&mut self, now: Instant) {
        self.worker.post(now);
    }

    /// When to call [`post`](Self::post) again at the latest.
    pub const fn deadline(&self) -> Option<Instant> {
        self.worker.deadline()
    }

    /// Returns the next answer, if there is one.
    ///
    /// # Errors
    /// The thread has panicked: there will be no more answers.
    pub fn answer(&self) -> io::Result<Option<T::Answer>> {
        match self.answers.try_recv() {
            Ok(answer) => Ok(Some(answer)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(io::Error::other("their thread has panicked")),
        }
    }

    /// Silences the bell that announces answers.
    pub fn heard(&self) {
        self.answered.silence();
    }

    /// Ends the job in hand and drops the others.
    pub fn cancel(&self) {
        self.worker.cancel();
    }

    /// Waits for the thread's end for a bounded time; stops waiting as soon as `is_over` returns `true`.
    pub fn join(&self, is_over: impl FnMut() -> bool) {
        self.worker.join(is_over);
    }
}

impl<T: Task> AsFd for Jobs<T> {
    /// Readable when there are answers.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.answered.as_fd()
    }
}

/// The task of a machine without jobs, whose commands are `A`.
#[derive(Debug)]
pub struct NoTask<A> {
    _never: Infallible,
    answer: PhantomData<A>,
}

impl<A: Send + 'static> Task for NoTask<A> {
    type Job = Infallible;
    type Answer = A;

    fn carry_out(&mut self, job: Infallible, _: &Bell) -> A {
        match job {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sys::{Interest, Poller};

    /// Doubles even numbers.
    struct Doubles;

    impl Task for Doubles {
        type Job = u32;
        type Answer = u32;

        fn carry_out(&mut self, job: u32, _: &Bell) -> u32 {
            assert!(job.is_multiple_of(2), "no even number");
            2 * job
        }
    }

    /// The next answer, or that there will be none.
    fn answer(jobs: &Jobs<Doubles>) -> io::Result<u32> {
        let mut poller = Poller::new()?;
        poller.add(jobs, 0, Interest::Read)?;
        for _ in 0..60 {
            poller.wait(Some(Duration::from_secs(1)))?;
            jobs.heard();
            if let Some(answer) = jobs.answer()? {
                return Ok(answer);
            }
        }
        panic!("no answer within a minute")
    }

    #[test]
    fn answers_come_until_a_job_has_panicked_and_that_is_told() {
        let mut jobs = Jobs::start(Doubles).expect("a thread");
        for (job, expected) in [(2, Some(4)), (4, Some(8)), (3, None)] {
            jobs.give(job);
            jobs.post(Instant::default());
            while jobs.deadline().is_some() {
                jobs.post(Instant::default());
            }
            assert_eq!(answer(&jobs).ok(), expected);
        }
    }
}
