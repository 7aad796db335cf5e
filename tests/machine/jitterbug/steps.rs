//! Scripts for one node that any bytes can be read as.

use arbitrary::Arbitrary;

/// The options of the node.
#[derive(Debug, Arbitrary)]
pub(super) struct NodeOptions {
    pub is_ipv6: bool,
    /// Whether a leader without work keeps the token for a while.
    pub holds: bool,
    /// Selects the maximum length of the list: only the node's own entry, a few, or all.
    pub nodes: u8,
    /// The maximum length of the data.
    pub data: u8,
    pub tries: u8,
    /// Whether a program computes.
    pub computes: bool,
    /// Selects the component that decides.
    pub decides: u8,
    /// The number of bytes that it can write at a time, minus 1.
    pub room: u8,
}

/// One input, or a few that belong together.
#[derive(Debug, Arbitrary)]
pub(super) enum Step {
    /// Receives a datagram of valid form, perhaps with invalid numbers, from a host.
    Hear(u8, ScriptedDatagram),
    /// Receives a datagram of any bytes.
    Garbage(u8, Vec<u8>),
    /// Accepts a connection of a host.
    Accept(u8),
    /// Delivers a piece on an open connection, in parts of `cut` bytes, and perhaps its end.
    Bring {
        stream: u8,
        piece: Piece,
        cut: u8,
        end: bool,
    },
    /// Accepts connections of this many hosts at once.
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
    /// Lets the candidate of the node's pass act.
    Candidate(CandidateAct),
    /// Wakes the node this many milliseconds after its deadline.
    TimeOut(u8),
    /// Lets this many milliseconds pass, with all timeouts at their times.
    Pass(u16),
    /// Stalls the process for this many milliseconds.
    Stall(u16),
    /// Sets the monotonic clock back by this many milliseconds.
    ClockBack(u8),
    /// Ends a job: the last one or an earlier one, even if its end was reported before.
    Job(u8, Outcome),
    Command(ScriptedCommand),
    Net(NetworkChange),
    /// Sets whether the link refuses all datagrams.
    Refuse(bool),
    /// Sets whether connections accept more bytes.
    Jam(bool),
    /// Sets whether no more connections can be opened.
    Full(bool),
}

/// A token id.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub(super) enum IdChoice {
    /// An id relative to the node's own, from a leader.
    Near(i8),
    /// The same, from a node that does not lead.
    Asked(i8),
    /// Any id on the wire.
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
    /// So many hosts that the node does not know.
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
    /// Whether it has the list.
    Answers(bool),
    Says(Vec<u8>),
    /// It answers, and its end comes with the answer.
    Dies,
    Ends,
    Gone(u8),
    /// It does everything up to the acknowledgement.
    Takes(bool),
}

/// The result of a job. A computation always continues from its input, as `greater` and `longer` require.
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

/// A change of the network.
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
