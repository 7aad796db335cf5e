//! What happens to one node, as any bytes can be read.

use arbitrary::Arbitrary;

/// What kind of node it is.
#[derive(Debug, Arbitrary)]
pub(super) struct Nature {
    pub is_ipv6: bool,
    /// Whether a leader without work keeps the token for a while.
    pub holds: bool,
    /// Chooses among lengths of lists that make different nodes: the own entry alone, a few, as many as there can be.
    pub nodes: u8,
    /// The most bytes of data.
    pub data: u8,
    pub tries: u8,
    /// Whether a program computes.
    pub computes: bool,
    /// Chooses who decides.
    pub decides: u8,
    /// Bytes that it can write at a time, less one.
    pub room: u8,
}

/// One input, or a few that belong together.
#[derive(Debug, Arbitrary)]
pub(super) enum Step {
    /// A datagram of a valid form, but for its numbers perhaps, from a host by its number.
    Hear(u8, Said),
    /// Any bytes in a datagram.
    Garbage(u8, Vec<u8>),
    /// A host connects.
    Accept(u8),
    /// A connection, one of those that are open, brings something, in pieces of so many bytes, and perhaps its end.
    Bring {
        stream: u8,
        piece: Piece,
        cut: u8,
        end: bool,
    },
    /// So many hosts connect at once.
    Crowd(u8),
    /// A host gives a token over a new connection, from the first byte to the last, or with a flaw.
    Give {
        from: u8,
        id: Id,
        list: Hosts,
        data: Vec<u8>,
        cut: u8,
        flaw: u8,
    },
    /// A connection is gone.
    Gone(u8, u8),
    /// What the candidate does to whom the node gives its token.
    Candidate(Candidate),
    /// The node's time comes, and it is woken so many milliseconds late.
    TimeOut(u8),
    /// So many milliseconds pass, with all time-outs at their times.
    Pass(u16),
    /// The same without any: the process stands still.
    StandStill(u16),
    /// The caller's clock goes back by so many milliseconds.
    ClockBack(u8),
    /// A job has ended: the last one that was begun, or one before it, whether or not that was told already.
    Job(u8, Outcome),
    Order(Order),
    Net(Change),
    /// The link refuses everything, or no longer.
    Refuse(bool),
    /// Connections take nothing more to write, or everything again.
    Jam(bool),
    /// No more connections can be opened, or they can again.
    Full(bool),
}

/// A token id.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub(super) enum Id {
    /// Above the node's own by this much, from a leader.
    Near(i8),
    /// The same, from a node that does not lead.
    Asked(i8),
    /// Whatever lies on the wire.
    Any(i32),
}

#[derive(Debug, Arbitrary)]
pub(super) enum Said {
    Tr1(Id, u8),
    Tr2(Id),
}

/// A list, by the numbers of its hosts.
#[derive(Debug, Clone, Arbitrary)]
pub(super) enum Hosts {
    /// The node's own list.
    Own,
    These(Vec<u8>),
    /// Others than the node knows, so many.
    Many(u8),
}

/// What is sent on a connection.
#[derive(Debug, Arbitrary)]
pub(super) enum Piece {
    Tp1(Id, Hosts),
    /// With any hash.
    Offer(Id, i32),
    Tp2,
    Tp3,
    Tp4(Hosts),
    /// So many entries are announced.
    Count(u32),
    Tp5(Id, Vec<u8>),
    Raw(Vec<u8>),
    Nothing,
}

#[derive(Debug, Arbitrary)]
pub(super) enum Candidate {
    Connected,
    /// It has the list, or has not.
    Answers(bool),
    Says(Vec<u8>),
    /// It answers, and its end comes with the answer.
    Dies,
    Ends,
    Gone(u8),
    /// All that is left to do for it, up to the acknowledgement.
    Takes(bool),
}

/// What has come of a job. A computation only ever goes on from what it was given, as `greater` and `longer` need it.
#[derive(Debug, Arbitrary)]
pub(super) enum Outcome {
    /// So many bytes more.
    Longer(u8),
    Received(bool),
    Failed,
}

#[derive(Debug, Arbitrary)]
pub(super) enum Order {
    Work(bool),
    Yield,
    ShutDown,
}

/// A change of the network.
#[derive(Debug, Arbitrary)]
pub(super) enum Change {
    Down,
    Up,
    /// Another address, one of a few.
    Address(u8),
    /// In a subnet of so many bits.
    Prefix(u8),
    Port(u8),
}
