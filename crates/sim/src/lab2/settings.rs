//! What a run is to be like.

use std::time::Duration;

use crate::kernel::kinds::{self, kinds};

/// One run: everything else follows from this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where all chance comes from.
    pub seed: u64,
    /// How many nodes there are.
    pub nodes: usize,
    /// How long the faults last. Recovering from them comes on top.
    pub time: Duration,
    /// What may go wrong.
    pub faults: Faults,
    /// IDLE_HOLD; `None`: the seed chooses.
    pub idle_hold: Option<Duration>,
}

/// A set of kinds.
pub type Faults = kinds::Faults<FaultKind>;

kinds! {
    Drop(Drop) "drop" "Frames are lost.",
    Duplicate(Duplicate) "duplicate" "Frames arrive twice, the second time perhaps at everybody.",
    Reorder(Reorder) "reorder" "Single copies of frames are overtaken by later ones.",
    Delay(Delay) "delay" "All frames take longer, with jitter.",
    Corrupt(Corrupt) "corrupt" "Bits of frames flip; checksums catch most of it, not all.",
    Oneway(OneWay) "oneway" "A node is not heard by another, but hears it.",
    Partition(Partition) "partition" "The segment is cut into parts, heals and is cut again.",
    Pause(Pause) "pause" "A process stands still, then finds its queue and a late clock.",
    Crash "crash" "A process dies and starts again with its state file.",
    Forget "forget" "A process dies and starts again without its state file.",
    Clock(Clock) "clock" "Clocks run fast or slow; wall clocks are set forward and back.",
    Slow(Slow) "slow" "Every turn of a process takes long.",
    Refuse(Refuse) "refuse" "A full send queue refuses frames.",
    Twin "twin" "Two nodes have one MAC address for a while.",
    Replay(Replay) "replay" "Frames captured long ago are sent again.",
    Stranger "stranger" "A station speaks the protocol wrongly, and claims weak tokens.",
    Constants "constants" "A node runs with other constants than the ring.",
    Work "work" "Members want the token, work with it, change its data.",
    Leave "leave" "Nodes are shut down in order and started again.",
    Address "address" "Nodes get another ip address.",
    Yield "yield" "Owners are told to hand the token over, whatever their work.",
    HoldOff "hold-off" "Nodes are told to own nothing for a while: maintenance.",
    Link "link" "A node has no link for a while.",
    Card "card" "A node gets another MAC address for good: another network card.",
    Unresponsive "unresponsive" "A station asks for the token all the time and never takes it.",
    Disk "disk" "A node cannot write its state file for a while.",
    Mtu "mtu" "A node's interface carries shorter frames, or longer ones again.",
    Once "once" "Jobs are asked for on many nodes at once, to be run once in a period.",
    Deaf(Deaf) "deaf" "No frame reaches a node; what it sends arrives.",
    Unicast(Unicast) "unicast" "Frames to or from one node alone are lost; broadcasts arrive.",
    Narrow(Narrow) "narrow" "What is between the nodes carries shorter frames than their interfaces.",
    Dead "dead" "Stations that are gone are in the tables, up to hundreds of them.",
    Broadcast(Broadcast) "broadcast" "Frames to all do not reach a node; those to it alone do.",
    Drift "drift" "A clock runs up to a fifth faster or slower than it should for a while.",
    Rollback "rollback" "A process dies and starts again with an older state file: a power loss.",
    Aside "aside" "A node is cut off for about as long as it takes to elect itself, while another works.",
}
