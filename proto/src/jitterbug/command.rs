//! What a node is asked for, and what it has done off the loop.

/// What is asked of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A job has ended, cancelled or not. Each job has exactly one outcome.
    Done {
        /// Which.
        job: u64,
        /// What has come of it.
        outcome: Outcome,
    },
    /// Whether local work wants the token or has it: as long as that is so a leader keeps it, but for a stronger token
    /// or a shutdown. Whether the work may use the token is said by
    /// [`may_use_token`](super::Jitterbug::may_use_token).
    Work(bool),
    /// A leader is to hand the token on before its hold is over, unless local work has it.
    Yield,
    /// A leader is to hand the token on and end, others to end at once.
    ShutDown,
}

/// Something to be done off the loop. One is in hand at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// To be handed back with the outcome.
    pub id: u64,
    /// What is to be done.
    pub work: Work,
}

/// What a job does (section 9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Computes the next data from this: standard input, and output.
    Compute(Box<[u8]>),
    /// Decides which data continues.
    Decide {
        /// That which came with a token: `$1`.
        received: Box<[u8]>,
        /// The node's own: `$2`.
        own: Box<[u8]>,
    },
}

/// What has come of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The next data: the program has ended with 0.
    Computed(Box<[u8]>),
    /// Which data continues: the received one (exit code 0) or the own (1).
    Decided {
        /// Whether it is the received one.
        received: bool,
    },
    /// Neither: another exit code, a signal, no program, cancelled.
    Failed,
}
