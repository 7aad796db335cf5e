//! The settings of a run.

use std::time::Duration;

use crate::kernel::kinds::{self, kinds};

/// The settings that determine a whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of servers. If the number is `None`, the seed chooses the number.
    pub servers: Option<usize>,
    /// The number of clients. If the number is `None`, the seed chooses the number.
    pub clients: Option<usize>,
    /// The duration of the faults; the recovery follows.
    pub time: Duration,
    /// The kinds of fault that may occur.
    pub faults: Faults,
}

/// A set of kinds.
pub type Faults = kinds::Faults<FaultKind>;

kinds! {
    Drop(Drop) "drop" "Datagrams are lost.",
    Duplicate(Duplicate) "duplicate" "Datagrams arrive twice.",
    Reorder(Reorder) "reorder" "Some datagrams arrive after later datagrams.",
    Delay(Delay) "delay" "All datagrams take longer, up to seconds, with jitter.",
    Corrupt(Corrupt) "corrupt" "Bits of datagrams flip; the checksum catches all of them.",
    Oneway(OneWay) "oneway" "A node's messages do not reach another node, but it hears that node.",
    Partition(Partition) "partition" "The network is split into parts, heals and is split again.",
    Pause(Pause) "pause" "A process is stalled, and then finds a full socket and expired leases.",
    Crash "crash" "A server or client dies and starts again; a server keeps its state file.",
    Forget "forget" "A server dies and starts again without its state file.",
    Clock(Clock) "clock" "Clocks run up to a sixteenth fast or slow; wall clocks are set.",
    Slow(Slow) "slow" "Every loop iteration of a process takes long.",
    Refuse(Refuse) "refuse" "A full send queue refuses datagrams.",
    Replay(Replay) "replay" "Captured datagrams are sent again.",
    Stranger "stranger" "A station without a session sends wrong messages.",
    Disk "disk" "A server cannot write its state file for a while.",
    Deaf(Deaf) "deaf" "No datagram reaches a node; the datagrams that it sends arrive.",
    Socket "socket" "A client gets another address for its socket.",
    Memory "memory" "Servers have memory for only a few tokens.",
    Run "run" "Clients run commands under tokens, and write.",
    Hold "hold" "Clients hold tokens until other clients request them.",
    Change "change" "Holders request the other access: upgrades and downgrades.",
    Update "update" "Holders set data and keep the token.",
    Cancel "cancel" "Clients give up requests and holds.",
    List "list" "Clients ask for listings.",
    Logout "logout" "Clients log out and start again.",
    Leave "leave" "Servers are shut down and started again.",
    Doom "doom" "A process dies as soon as it has sent a certain message, before it sends another.",
    Options "options" "One server has different options than the other servers.",
    Keys(Keys) "keys" "Nodes get keys, and replace them, one node after another.",
    Attack(Attack) "attack" "A host without a key attacks nodes that require signatures.",
}
