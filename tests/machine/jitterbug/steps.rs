//! Scripts for one node. Any bytes are a valid script.

use arbitrary::Arbitrary;

#[derive(Debug, Arbitrary)]
pub(super) struct NodeOptions {
    pub is_ipv6: bool,
    /// Whether a leader that has no work keeps the token for a while.
    pub holds: bool,
    /// Selects the maximum length of the list: only the node's own entry, a few entries, or all entries.
    pub nodes: u8,
    /// The maximum length of the data.
    pub data: u8,
    pub tries: u8,
    /// Whether a program computes the data.
    pub computes: bool,
    /// Selects the component that decides.
    pub decides: u8,
    /// The number of bytes that the node can write at a time, minus 1.
    pub room: u8,
}

/// One input, or a few inputs that belong together.
#[derive(Debug, Arbitrary)]
pub(super) enum Step {
    /// Receives a datagram of valid form from a host. The numbers in the datagram may be invalid.
    Hear(u8, ScriptedDatagram),
    /// Receives a datagram of arbitrary bytes.
    Garbage(u8, Vec<u8>),
    /// Accepts a connection of a host.
    Accept(u8),
    /// Delivers a piece on an open connection, in parts of `cut` bytes. After the last part, the connection may end.
    Bring {
        stream: u8,
        piece: Piece,
        cut: u8,
        end: bool,
    },
    /// Accepts one connection from each of this many hosts at once.
    Crowd(u8),
    /// Passes a token of a host over a new connection, completely or with an error.
    Give {
        from: u8,
        id: IdChoice,
        list: ListChoice,
        data: Vec<u8>,
        cut: u8,
        flaw: u8,
    },
    /// Ends a connection.
    Gone(u8, u8),
    /// Makes the candidate of the node's current pass act.
    Candidate(CandidateAct),
    /// Wakes the node this many milliseconds after its deadline.
    TimeOut(u8),
    /// Lets this many milliseconds pass. All timeouts fire in time.
    Pass(u16),
    /// Stalls the process for this many milliseconds.
    Stall(u16),
    /// Sets the monotonic clock back by this many milliseconds.
    ClockBack(u8),
    /// Ends the last job or an earlier job, even if the end of that job was already reported.
    Job(u8, Outcome),
    Command(ScriptedCommand),
    Net(NetworkChange),
    /// Sets whether the link refuses all datagrams.
    Refuse(bool),
    /// Sets whether connections accept more bytes.
    Jam(bool),
    /// Makes the opening of connections fail, or succeed again.
    Full(bool),
}

/// A token id.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub(super) enum IdChoice {
    /// An id relative to the node's own id, in the form of a leader.
    Near(i8),
    /// An id relative to the node's own id, in the form of a node that does not lead.
    Asked(i8),
    /// Any value of an id on the wire.
    Any(i32),
}

#[derive(Debug, Arbitrary)]
pub(super) enum ScriptedDatagram {
    Tr1(IdChoice, u8),
    Tr2(IdChoice),
}

/// A list, given by the numbers of its hosts.
#[derive(Debug, Clone, Arbitrary)]
pub(super) enum ListChoice {
    /// The node's own list.
    Own,
    These(Vec<u8>),
    /// The number of listed hosts. The hosts in this list are unknown to the node.
    Many(u8),
}

/// Bytes on a connection.
#[derive(Debug, Arbitrary)]
pub(super) enum Piece {
    Tp1(IdChoice, ListChoice),
    /// TP1 with any hash.
    Offer(IdChoice, i32),
    Tp2,
    Tp3,
    Tp4(ListChoice),
    /// The number of announced entries.
    Count(u32),
    Tp5(IdChoice, Vec<u8>),
    Raw(Vec<u8>),
    Nothing,
}

#[derive(Debug, Arbitrary)]
pub(super) enum CandidateAct {
    Connected,
    /// The candidate answers the offer. The field is true if the candidate has the list.
    Answers(bool),
    Says(Vec<u8>),
    /// The candidate answers and closes the connection at the same time.
    Dies,
    Ends,
    Gone(u8),
    /// The candidate accepts the token and acknowledges it. The field is true if the candidate has the list.
    Takes(bool),
}

/// The result of a job. A computation always extends its input, as `greater` and `longer` require.
#[derive(Debug, Arbitrary)]
pub(super) enum Outcome {
    /// The number of additional bytes.
    Longer(u8),
    Received(bool),
    Failed,
}

#[derive(Debug, Arbitrary)]
pub(super) enum ScriptedCommand {
    Work(bool),
    Yield,
    ShutDown,
}

#[derive(Debug, Arbitrary)]
pub(super) enum NetworkChange {
    Down,
    Up,
    /// Selects one of a few addresses.
    Address(u8),
    /// The length of the subnet prefix.
    Prefix(u8),
    Port(u8),
}
