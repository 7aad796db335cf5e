//! The settings of a run.

use std::time::Duration;

use crate::kernel::kinds::{self, kinds};

/// The settings that determine a whole run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The number of nodes.
    pub nodes: usize,
    /// The duration of the faults; the recovery follows.
    pub time: Duration,
    /// The kinds of fault that may occur.
    pub faults: Faults,
    /// The value of IDLE_HOLD. If the value is `None`, the seed chooses the value.
    pub idle_hold: Option<Duration>,
}

/// A set of kinds.
pub type Faults = kinds::Faults<FaultKind>;

kinds! {
    Drop(Drop) "drop" "Frames are lost.",
    Duplicate(Duplicate) "duplicate" "Frames arrive twice; the second copy may arrive at every node.",
    Reorder(Reorder) "reorder" "Some copies of frames arrive after later frames.",
    Delay(Delay) "delay" "All frames take longer, with jitter.",
    Corrupt(Corrupt) "corrupt" "Bits of frames flip; checksums find most of these frames, but not all.",
    Oneway(OneWay) "oneway" "A node's messages do not reach another node, but it hears that node.",
    Partition(Partition) "partition" "The segment is cut into parts, heals and is cut again.",
    Pause(Pause) "pause" "A process is stalled, and then finds waiting frames and a late clock.",
    Crash "crash" "A process dies and starts again with its state file.",
    Forget "forget" "A process dies and starts again without its state file.",
    Clock(Clock) "clock" "Clocks run fast or slow; wall clocks are set forward and back.",
    Slow(Slow) "slow" "Every loop iteration of a process takes long.",
    Refuse(Refuse) "refuse" "A full send queue refuses frames.",
    Twin "twin" "Two nodes have one MAC address for a while.",
    Replay(Replay) "replay" "Captured frames are sent again.",
    Stranger "stranger" "A station speaks the protocol wrongly, and sends weak tokens.",
    Constants "constants" "A node runs with other constants than the ring.",
    Work "work" "Members request the token, work with it and change its data.",
    Leave "leave" "Nodes are shut down cleanly and started again.",
    Address "address" "Nodes get another IP address.",
    Yield "yield" "Owners yield the token, even while they work.",
    HoldOff "hold-off" "Nodes are paused for a while: they take part, but own nothing.",
    Link "link" "A node has no link for a while.",
    Card "card" "A node gets another network card, and so another MAC address.",
    Unresponsive "unresponsive" "A station always requests the token and never takes it.",
    Disk "disk" "A node cannot write its state file for a while.",
    Mtu "mtu" "A node's interface carries shorter frames, or longer ones again.",
    Once "once" "Many nodes request the same job at once; it runs once in a period.",
    Deaf(Deaf) "deaf" "No frame reaches a node; the frames that it sends arrive.",
    Unicast(Unicast) "unicast" "Unicasts to or from a node are lost; broadcasts arrive.",
    Narrow(Narrow) "narrow" "The network carries shorter frames than the interfaces.",
    Dead "dead" "Up to hundreds of dead stations are in the tables.",
    Broadcast(Broadcast) "broadcast" "Broadcasts do not reach a node; unicasts do.",
    Drift "drift" "For a while, a clock runs up to a fifth too fast or too slow.",
    Rollback "rollback" "A process dies and starts again with an older state file: a power loss.",
    Aside "aside" "A node is cut off for about the time of an election, while another node works.",
    Lock "lock" "Programs take named locks, work with them and release them.",
    Survey "survey" "Nodes ask all members for reports, and have them measure each other.",
    Keys(Keys) "keys" "Nodes get keys, and replace them, one node after another.",
    Attack(Attack) "attack" "A host without a key attacks nodes that require signatures.",
    Guardian "guardian" "After a crash, the guardian of the process sends its last frames.",
}
