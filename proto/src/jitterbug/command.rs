//! Inputs of a node, and the jobs that it gives to a thread outside the loop.

/// An input that the caller gives to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A job has ended or was cancelled. Each job has exactly one outcome.
    Done {
        /// The job's id.
        job: u64,
        /// Its outcome.
        outcome: Outcome,
    },
    /// Whether local work wants the token or uses it. If local work wants or uses the token, a leader keeps the token,
    /// unless a stronger token or a shutdown takes the token away. [`may_use_token`](super::Jitterbug::may_use_token)
    /// returns whether the work may use the token.
    Work(bool),
    /// If no local work uses the token, a leader passes the token to another node at once, even if the hold has not
    /// ended.
    Yield,
    /// A leader passes the token on and ends. Other nodes end at once.
    ShutDown,
}

/// A job for a thread outside the loop. Only one job runs at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The job's id, which the caller returns with the outcome.
    pub id: u64,
    /// The work.
    pub work: Work,
}

/// The work of a job (`docs/jitterbug/protocol/data.md` D1, D6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Computes the next data. The program reads these bytes as its standard input, and writes the next data to its
    /// standard output.
    Compute(Box<[u8]>),
    /// Decides which of two data the node keeps.
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
    /// The program has decided which of the two data the node keeps. Exit code 0 selects the received data, and exit
    /// code 1 the node's own data.
    Decided {
        /// Whether the node keeps the received data.
        received: bool,
    },
    /// The job ended in another way: another exit code, a signal, a missing program or a cancellation.
    Failed,
}
