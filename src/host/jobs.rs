//! What a machine wants done off the loop, by a worker; each answer is a command for the machine.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

use ring_proto::time::Instant;

use super::worker::{Bell, Worker};

/// Carries out jobs, one at a time, in a thread of its own.
pub trait Task: Send + 'static {
    /// What is to be done.
    type Job: Send + 'static;
    /// What has come of it, as the machine is told.
    type Answer: Send + 'static;

    /// Does it. If that takes long, `bell` says when it is not to go on.
    fn carry_out(&mut self, job: Self::Job, bell: &Bell) -> Self::Answer;
}

/// The jobs of one machine, as the loop sees them.
#[derive(Debug)]
pub struct Jobs<T: Task> {
    worker: Worker<VecDeque<T::Job>>,
    answers: Receiver<T::Answer>,
    /// Rings when there is an answer.
    answered: Arc<Bell>,
}

impl<T: Task> Jobs<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// The process has too many files open, or threads.
    pub fn start(mut task: T) -> io::Result<Self> {
        let answered = Arc::new(Bell::new()?);
        let (sender, answers) = mpsc::channel();
        let bell = Arc::clone(&answered);
        let worker = Worker::start("jobs", move |mailbox, mut poller| {
            while let Some(job) = mailbox.next(&mut poller) {
                let answer = task.carry_out(job, mailbox.bell());
                if sender.send(answer).is_err() {
                    break;
                }
                bell.ring();
            }
        })?;
        Ok(Self {
            worker,
            answers,
            answered,
        })
    }

    /// Has something done.
    pub fn give(&mut self, job: T::Job) {
        self.worker.hold(job);
    }

    /// Passes on what was given. Never waits.
    pub fn post(&mut self, now: Instant) {
        self.worker.post(now);
    }

    /// When [`post`](Self::post) is to be called at the latest.
    pub const fn deadline(&self) -> Option<Instant> {
        self.worker.deadline()
    }

    /// The next answer, if there is one.
    pub fn answer(&self) -> Option<T::Answer> {
        self.answers.try_recv().ok()
    }

    /// Stops saying that there are answers.
    pub fn heard(&self) {
        self.answered.silence();
    }

    /// Ends what is being done, and does nothing more.
    pub fn end(&mut self) {
        self.worker.finish(|| true);
    }
}

impl<T: Task> AsFd for Jobs<T> {
    /// Readable when there are answers.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.answered.as_fd()
    }
}

/// The task of a machine that has no jobs, and is told `A`.
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
