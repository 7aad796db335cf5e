//! Inputs of a node, and the jobs that the node gives to a thread outside its loop.

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
    /// Whether local work wants the token or uses it. If local work wants or uses the token, a leader keeps the token.
    /// Only a stronger token or a shutdown takes the token away. [`may_use_token`](super::Jitterbug::may_use_token)
    /// returns whether the work may use the token.
    Work(bool),
    /// If no local work uses the token, a leader passes it to another node at once, even if the hold has not ended.
    Yield,
    /// A leader passes the token on and then ends. Nodes that do not lead end at once.
    ShutDown,
}

/// A job for a thread outside the loop. Only one job runs at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The job's id. The caller returns it with the outcome.
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
    /// Decides which data the node keeps: its own data or the received data.
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
    /// The next data. The program exited with 0.
    Computed(Box<[u8]>),
    /// The program decided which data the node keeps. With exit code 0, the node keeps the received data, and with exit
    /// code 1 its own data.
    Decided {
        /// Whether the node keeps the received data.
        received: bool,
    },
    /// The job ended in a different way: another exit code, a signal, a missing program or a cancellation.
    Failed,
}
