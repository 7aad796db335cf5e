//! The states of a node and of its database.

/// The state of a node, as shown in its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// The node has not decided which state to enter.
    Starting,
    /// The node asks for a place in the ring.
    Joining,
    /// The node is in the ring.
    Member,
    /// The node is in the ring, but its successor failed.
    Recovering,
}

impl State {
    /// Returns the name in the status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "STARTING",
            Self::Joining => "JOINING",
            Self::Member => "MEMBER",
            Self::Recovering => "RECOVERING",
        }
    }
}

/// The state of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatabaseState {
    /// The database answers.
    #[default]
    Up,
    /// The database did not answer a job in time.
    Slow,
    /// A job has failed.
    Gone,
}

impl DatabaseState {
    /// Returns the name in the status.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Slow => "slow",
            Self::Gone => "gone",
        }
    }
}
