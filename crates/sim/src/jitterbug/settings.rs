//! The settings of a run.

use crate::kernel::kinds::{self, kinds};

/// The settings that determine a whole run.
pub type Settings = kinds::Settings<FaultKind>;

/// A set of kinds.
pub type Faults = kinds::Faults<FaultKind>;

kinds! {
    Drop(Drop) "drop" "Datagrams are lost.",
    Duplicate(Duplicate) "duplicate" "Datagrams arrive twice.",
    Reorder(Reorder) "reorder" "Some datagrams arrive after later datagrams.",
    Delay(Delay) "delay" "All datagrams take longer, with jitter.",
    Corrupt(Corrupt) "corrupt" "Bits of datagrams flip; the checksum catches all of them.",
    Oneway(OneWay) "oneway" "A node's messages do not reach another node, but it hears that node.",
    Partition(Partition) "partition" "The segment is split into parts, heals and is split again.",
    Deaf(Deaf) "deaf" "No datagram reaches a node.",
    Broadcast(Broadcast) "broadcast" "Broadcasts do not reach a node.",
    Refuse(Refuse) "refuse" "A full send queue refuses datagrams.",
    Reset(Reset) "reset" "Connections are reset, at random or all after the same number of bytes.",
    Stall(Stall) "stall" "Connections stall: after some byte, nothing arrives.",
    Dribble(Dribble) "dribble" "The bytes of connections arrive one by one.",
    Unanswered(Unanswered) "unanswered" "Connections are never answered.",
    Pause(Pause) "pause" "A process is stalled, for less or more than the stall limit.",
    Crash "crash" "A process dies and starts again, with another TCP port.",
    Power "power" "A host loses its power, so its peers do not notice the end of its connections.",
    Clock(Clock) "clock" "Clocks run up to 1 % fast or slow.",
    Slow(Slow) "slow" "Every loop iteration of a process takes long.",
    Link "link" "A node has no link, and knows it.",
    Address "address" "A node gets another address.",
    Replay(Replay) "replay" "Captured datagrams are sent again unchanged.",
    Stranger "stranger" "A station outside the ring sends malformed messages or single bytes, and never reads.",
    Flood "flood" "A stranger opens hundreds of connections.",
    Forge "forge" "A stranger announces tokens with invented ids, and gives nodes such tokens.",
    Jobs "jobs" "Programs that compute and decide are slow, fail, hang, or do not die.",
    Work "work" "Local work requests the token, and keeps it.",
    Yield "yield" "Leaders get the command to pass the token.",
    Leave "leave" "Nodes are shut down and started again.",
    Times "times" "One node has another --tr-interval than the other nodes.",
    Keys(Keys) "keys" "Nodes get keys, and replace them, one node after another.",
    Attack(Attack) "attack" "A host without a key attacks nodes that require signatures.",
}
