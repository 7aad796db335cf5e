//! Runs a machine's jobs in a worker thread. The result of each job is a command for the machine.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};

use ring_proto::time::Instant;

use ring_runtime::worker::{WakeUp, Worker};

/// The code that does jobs. It runs in a thread, and does one job at a time.
pub trait Task: Send + 'static {
    /// The type of a job's input.
    type Job: Send + 'static;
    /// The type of a job's result, for the machine.
    type Answer: Send + 'static;

    /// Does a job. `bell` signals that the job must stop. This may happen even before the job begins.
    fn run_job(&mut self, job: Self::Job, bell: &WakeUp) -> Self::Answer;
}

/// The loop's side of a thread that does jobs.
#[derive(Debug)]
pub struct Jobs<T: Task> {
    worker: Worker<VecDeque<(u64, T::Job)>>,
    next: u64,
    answers: Receiver<T::Answer>,
    /// Bell that rings when an answer is ready, and when the thread ends.
    answer_bell: Arc<WakeUp>,
}

/// A value that rings its bell when it is dropped.
struct RingOnDrop(Arc<WakeUp>);

impl Drop for RingOnDrop {
    fn drop(&mut self) {
        self.0.ring();
    }
}

impl<T: Task> Jobs<T> {
    /// Starts the thread.
    ///
    /// # Errors
    /// Fails if the process has too many files open, or too many threads.
    pub fn start(mut task: T) -> io::Result<Self> {
        let answer_bell = Arc::new(WakeUp::new()?);
        let (sender, answers) = mpsc::channel();
        let ring_on_drop = RingOnDrop(Arc::clone(&answer_bell));
        let worker = Worker::start("jobs", move |mailbox, mut poller| {
            // Rust drops the sender before the bell. So when the bell rings, the loop finds the channel closed.
            let ring_on_drop = ring_on_drop;
            let sender = sender;
            while let Some((number, job)) = mailbox.next(&mut poller) {
                mailbox.bell().begin(number);
                let next_answer = task.run_job(job, mailbox.bell());
                if sender.send(next_answer).is_err() {
                    break;
                }
                ring_on_drop.0.ring();
            }
        })?;
        Ok(Self {
            worker,
            next: 0,
            answers,
            answer_bell,
        })
    }

    /// Adds a job for the next [`post`](Self::post).
    pub fn add(&mut self, job: T::Job) {
        self.worker.hold((self.next, job));
        self.next += 1;
    }

    /// Cancels all jobs that were added. The loop still gets an answer for each of them.
    pub fn cancel(&self) {
        self.worker.bell().cancel_before(self.next);
    }

    /// Passes the added jobs to the worker. Never waits.
    pub fn post(&mut self, now: Instant) {
        self.worker.post(now);
    }

    /// Returns the latest time for the next call of [`post`](Self::post).
    pub const fn deadline(&self) -> Option<Instant> {
        self.worker.deadline()
    }

    /// Returns the next answer, if one is ready.
    ///
    /// # Errors
    /// Fails if the thread panicked, because then no more answers will arrive.
    pub fn next_answer(&self) -> io::Result<Option<T::Answer>> {
        match self.answers.try_recv() {
            Ok(next_answer) => Ok(Some(next_answer)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => {
                Err(io::Error::other("the worker thread has panicked"))
            }
        }
    }

    /// Silences the bell, so that the descriptor is readable again at the next answer.
    pub fn drain(&self) {
        self.answer_bell.silence();
    }

    /// Ends the current job and drops the remaining jobs. The loop gets no answers for the dropped jobs. After this
    /// call, the caller must not add jobs.
    pub fn cancel_all(&self) {
        self.worker.cancel();
    }

    /// Waits a bounded time for the thread's end, or until `is_over` returns `true`.
    pub fn join(&self, is_over: impl FnMut() -> bool) {
        self.worker.join(is_over);
    }
}

impl<T: Task> AsFd for Jobs<T> {
    /// The descriptor is readable when answers are ready.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.answer_bell.as_fd()
    }
}

/// The task of a machine without jobs. `A` is the type of the machine's commands.
#[derive(Debug)]
pub struct NoTask<A> {
    _never: Infallible,
    next_answer: PhantomData<A>,
}

impl<A: Send + 'static> Task for NoTask<A> {
    type Job = Infallible;
    type Answer = A;

    fn run_job(&mut self, job: Infallible, _: &WakeUp) -> A {
        match job {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use ring_runtime::wait::{Interest, Poller};

    struct Doubler;

    impl Task for Doubler {
        type Job = u32;
        type Answer = u32;

        fn run_job(&mut self, job: u32, _: &WakeUp) -> u32 {
            assert!(job.is_multiple_of(2), "no even number");
            2 * job
        }
    }

    /// Waits for the next answer. Fails if there is no answer within a minute.
    fn next_answer<T: Task>(jobs: &Jobs<T>) -> io::Result<T::Answer> {
        let mut poller = Poller::new()?;
        poller.add(jobs, 0, Interest::Read)?;
        for _ in 0..60 {
            poller.wait(Some(Duration::from_secs(1)))?;
            jobs.drain();
            if let Some(next_answer) = jobs.next_answer()? {
                return Ok(next_answer);
            }
        }
        panic!("no answer within a minute")
    }

    #[test]
    fn answers_come_until_a_job_has_panicked_which_is_an_error() {
        let mut jobs = Jobs::start(Doubler).expect("a thread");
        for (job, expected) in [(2, Some(4)), (4, Some(8)), (3, None)] {
            jobs.add(job);
            post(&mut jobs);
            assert_eq!(next_answer(&jobs).ok(), expected);
        }
    }

    fn post<T: Task>(jobs: &mut Jobs<T>) {
        jobs.post(Instant::default());
        while jobs.deadline().is_some() {
            jobs.post(Instant::default());
        }
    }

    /// A task that reports the beginning of each job, and works until the job is cancelled. But a job `short` ends at
    /// once.
    struct Endless(mpsc::Sender<&'static str>);

    impl Task for Endless {
        type Job = &'static str;
        type Answer = (&'static str, bool);

        fn run_job(&mut self, job: &'static str, bell: &WakeUp) -> Self::Answer {
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
    fn cancelled_jobs_have_answers_and_later_ones_are_done() {
        let (begins, begun) = mpsc::channel();
        let mut jobs = Jobs::start(Endless(begins)).expect("a thread");
        jobs.add("in hand");
        jobs.add("waits");
        post(&mut jobs);
        assert_eq!(begun.recv(), Ok("in hand"));
        jobs.add("held");
        jobs.cancel();
        jobs.add("short");
        post(&mut jobs);
        for expected in [
            ("in hand", true),
            ("waits", true),
            ("held", true),
            ("short", false),
        ] {
            assert_eq!(next_answer(&jobs).ok(), Some(expected));
        }
    }
}
