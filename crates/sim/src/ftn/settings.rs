//! What a run is to be like.

use std::time::Duration;

use crate::kernel::kinds::{self, kinds};

/// One run: everything else follows from this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where all chance comes from.
    pub seed: u64,
    /// How many servers there are; `None`: the seed chooses.
    pub servers: Option<usize>,
    /// How many clients there are; `None`: the seed chooses.
    pub clients: Option<usize>,
    /// How long the faults last. Recovering from them comes on top.
    pub time: Duration,
    /// What may go wrong.
    pub faults: Faults,
}

/// A set of kinds.
pub type Faults = kinds::Faults<FaultKind>;

kinds! {
    Drop(Drop) "drop" "Datagrams are lost.",
    Duplicate(Duplicate) "duplicate" "Datagrams arrive twice.",
    Reorder(Reorder) "reorder" "Single datagrams are overtaken by later ones.",
    Delay(Delay) "delay" "All datagrams take longer, up to seconds, with jitter.",
    Corrupt(Corrupt) "corrupt" "Bits of datagrams flip; the checksum catches all of it.",
    Oneway(OneWay) "oneway" "A node is not heard by another, but hears it.",
    Partition(Partition) "partition" "The network is cut into parts, heals and is cut again.",
    Pause(Pause) "pause" "A process stands still, then finds its socket full and its leases over.",
    Crash "crash" "A server or client dies and starts again; a server keeps its state file.",
    Forget "forget" "A server dies and starts again without its state file.",
    Clock(Clock) "clock" "Clocks run up to a sixteenth fast or slow; wall clocks are set.",
    Slow(Slow) "slow" "Every turn of a process takes long.",
    Refuse(Refuse) "refuse" "A full send queue refuses datagrams.",
    Replay(Replay) "replay" "Datagrams captured long ago are sent again, whoever has sent them.",
    Stranger "stranger" "A station without a session sends what it should not.",
    Disk "disk" "A server cannot write its state file for a while.",
    Deaf(Deaf) "deaf" "No datagram reaches a node; what it sends arrives.",
    Socket "socket" "A client gets another address for its socket.",
    Memory "memory" "Servers have memory for a few tokens only.",
    Run "run" "Clients run commands under tokens, and write.",
    Hold "hold" "Clients hold tokens until somebody else wants them.",
    Change "change" "Holders ask for the other access: upgrades and downgrades.",
    Update "update" "Holders set data and go on holding.",
    Cancel "cancel" "Clients give up requests and holds.",
    List "list" "Clients ask for listings.",
    Logout "logout" "Clients log out, and come back.",
    Leave "leave" "Servers are shut down in order, and started again.",
    Doom "doom" "A process dies as soon as it has sent a certain message, before it sends another.",
    Options "options" "A server has other options than the others.",
}
