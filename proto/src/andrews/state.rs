//! What a node is, and how its database is.

/// A node's state as it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It has not decided what it is.
    Starting,
    /// It asks for a place in the ring.
    Joining,
    /// It is in the ring.
    Member,
    /// It is in the ring, and its successor has failed.
    Recovering,
}

impl State {
    /// The name in `state`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "STARTING",
            Self::Joining => "JOINING",
            Self::Member => "MEMBER",
            Self::Recovering => "RECOVERING",
        }
    }
}

/// How the database is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DatabaseState {
    /// It answers.
    #[default]
    Up,
    /// A job was not answered in time.
    Slow,
    /// A job has failed.
    Gone,
}

impl DatabaseState {
    /// The name in `database`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Slow => "slow",
            Self::Gone => "gone",
        }
    }
}
