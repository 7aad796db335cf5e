//! Jobs of a machine, done off the loop by a worker; each answer is a command for the machine.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};

use ring_proto::time::Instant;

use ring_runtime::worker::{Bell, Worker};

/// Carries out jobs, one at a time, in a thread of its own.
pub trait Task: Send + 'static {
    /// The work.
    type Job: Send + 'static;
    /// Its outcome, for the machine.
    type Answer: Send + 'static;

    /// Does a job. If that takes long, look at `bell` for when to stop: the job may have been cancelled before it
    /// begins.
    fn carry_out(&mut self, job: Self::Job, bell: &Bell) -> Self::Answer;
}

/// The jobs of one machine, as the loop sees them.
#[derive(Debug)]
pub(crate) struct Jobs<T: Task> {
    worker: Worker<VecDeque<(u64, T::Job)>>,
    /// The next job's number.
    next: u64,
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
    pub(crate) fn start(mut task: T) -> io::Result<Self> {
        let answered = Arc::new(Bell::new()?);
        let (sender, answers) = mpsc::channel();
        let rings = Rings(Arc::clone(&answered));
        let worker = Worker::start("jobs", move |mailbox, mut poller| {
            // Dropped after the sender, so that the loop finds the channel closed when it hears the bell.
            let rings = rings;
            let sender = sender;
            while let Some((number, job)) = mailbox.next(&mut poller) {
                mailbox.bell().begin(number);
                let answer = task.carry_out(job, mailbox.bell());
                if sender.send(answer).is_err() {
                    break;
                }
                rings.0.ring();
            }
        })?;
        Ok(Self {
            worker,
            next: 0,
            answers,
            answered,
        })
    }

    /// Adds a job; [`post`](Self::post) passes it on.
    pub(crate) fn give(&mut self, job: T::Job) {
        self.worker.hold((self.next, job));
        self.next += 1;
    }

    /// Cancels all jobs so far, that in hand and those that wait. Each still has its answer.
    pub(crate) fn cancel(&self) {
        self.worker.bell().cancel_before(self.next);
    }

    /// Passes jobs on to the worker. Never waits.
    pub(crate) fn post(&mut self, now: Instant) {
        self.worker.post(now);
    }

    /// When to call [`post`](Self::post) again at the latest.
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        self.worker.deadline()
    }

    /// Returns the next answer, if there is one.
    ///
    /// # Errors
    /// The thread has panicked: there will be no more answers.
    pub(crate) fn answer(&self) -> io::Result<Option<T::Answer>> {
        match self.answers.try_recv() {
            Ok(answer) => Ok(Some(answer)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(io::Error::other("their thread has panicked")),
        }
    }

    /// Silences the bell that announces answers.
    pub(crate) fn heard(&self) {
        self.answered.silence();
    }

    /// Ends the job in hand and drops the others, without an answer: there will be no more jobs.
    pub(crate) fn end(&self) {
        self.worker.cancel();
    }

    /// Waits for the thread's end for a bounded time; stops waiting as soon as `is_over` returns `true`.
    pub(crate) fn join(&self, is_over: impl FnMut() -> bool) {
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
    use ring_runtime::wait::{Interest, Poller};

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
    fn answer<T: Task>(jobs: &Jobs<T>) -> io::Result<T::Answer> {
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
            post(&mut jobs);
            assert_eq!(answer(&jobs).ok(), expected);
        }
    }

    fn post<T: Task>(jobs: &mut Jobs<T>) {
        jobs.post(Instant::default());
        while jobs.deadline().is_some() {
            jobs.post(Instant::default());
        }
    }

    /// Says that it has begun, and works until it is cancelled, or not at all.
    struct Endless(mpsc::Sender<&'static str>);

    impl Task for Endless {
        type Job = &'static str;
        type Answer = (&'static str, bool);

        fn carry_out(&mut self, job: &'static str, bell: &Bell) -> Self::Answer {
            self.0.send(job).expect("the test listens");
            let mut poller = Poller::new().expect("a poller");
            poller.add(bell, 0, Interest::Read).expect("added");
            while job != "short" && !bell.is_cancelled() {
                poller.wait(Some(Duration::from_secs(60))).expect("a wait");
                bell.silence();
            }
            (job, bell.is_cancelled())
        }
    }

    #[test]
    fn cancelled_jobs_have_their_answers_and_later_ones_are_done() {
        let (begins, begun) = mpsc::channel();
        let mut jobs = Jobs::start(Endless(begins)).expect("a thread");
        jobs.give("in hand");
        jobs.give("waits");
        post(&mut jobs);
        assert_eq!(begun.recv(), Ok("in hand"));
        jobs.give("held");
        jobs.cancel();
        jobs.give("short");
        post(&mut jobs);
        for expected in [
            ("in hand", true),
            ("waits", true),
            ("held", true),
            ("short", false),
        ] {
            assert_eq!(answer(&jobs).ok(), Some(expected));
        }
    }
}
