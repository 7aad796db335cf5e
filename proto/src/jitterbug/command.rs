//! Inputs of a node, and the jobs that it gives to a thread outside the loop.

/// An input that the caller gives to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A job has ended, cancelled or not. Each job has exactly one outcome.
    Done {
        /// The job's id.
        job: u64,
        /// Its outcome.
        outcome: Outcome,
    },
    /// Whether local work wants the token or uses it. If so, a leader keeps the token, unless a stronger token or a
    /// shutdown takes it away. [`may_use_token`](super::Jitterbug::may_use_token) tells whether the work may use the
    /// token.
    Work(bool),
    /// A leader passes the token on before its hold is over, unless local work uses it.
    Yield,
    /// A leader passes the token on and ends. Other nodes end at once.
    ShutDown,
}

/// A job for a thread outside the loop. Only one runs at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The job's id, which the caller returns with the outcome.
    pub id: u64,
    /// The work.
    pub work: Work,
}

/// The work of a job (section 9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Computes the next data. The bytes are its standard input, and the next data its output.
    Compute(Box<[u8]>),
    /// Decides which of two data continues.
    Decide {
        /// The data of a received token: `$1`.
        received: Box<[u8]>,
        /// The node's own data: `$2`.
        own: Box<[u8]>,
    },
}

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The next data. The program has exited with 0.
    Computed(Box<[u8]>),
    /// The data that continues: the received one (exit code 0) or the node's own (1).
    Decided {
        /// Whether the received data continues.
        received: bool,
    },
    /// Any other end: another exit code, a signal, a missing program, a cancellation.
    Failed,
}
