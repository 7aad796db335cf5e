//! What a run is to be like.

use crate::kernel::kinds::{self, kinds};

/// One run: everything else follows from this.
pub type Settings = kinds::Settings<FaultKind>;

/// A set of kinds.
pub type Faults = kinds::Faults<FaultKind>;

kinds! {
    Drop(Drop) "drop" "Datagrams are lost.",
    Duplicate(Duplicate) "duplicate" "Datagrams arrive twice.",
    Reorder(Reorder) "reorder" "Single datagrams are overtaken by later ones.",
    Delay(Delay) "delay" "All datagrams take longer, with jitter.",
    Corrupt(Corrupt) "corrupt" "Bits of datagrams flip; the checksum catches all of it.",
    Oneway(OneWay) "oneway" "A node is not heard by another, but hears it.",
    Partition(Partition) "partition" "The segment is cut into parts, heals and is cut again.",
    Deaf(Deaf) "deaf" "No datagram reaches a node.",
    Broadcast(Broadcast) "broadcast" "Broadcasts do not reach a node.",
    Refuse(Refuse) "refuse" "A full send queue refuses datagrams.",
    Reset(Reset) "reset" "Connections are reset, at random or all after the same number of bytes.",
    Stall(Stall) "stall" "Connections stall: from some byte on nothing arrives.",
    Dribble(Dribble) "dribble" "The bytes of connections arrive one by one.",
    Unanswered(Unanswered) "unanswered" "Nobody answers who connects.",
    Pause(Pause) "pause" "A process stands still, for less or more than a stall.",
    Crash "crash" "A process dies and starts again, with another TCP port.",
    Power "power" "A host loses its power: nobody is told of the end of its connections.",
    Clock(Clock) "clock" "Clocks run up to 1 % fast or slow.",
    Slow(Slow) "slow" "Every turn of a process takes long.",
    Link "link" "A node has no link, and knows it.",
    Address "address" "A node gets another address.",
    Replay(Replay) "replay" "Datagrams captured long ago are sent again, as they were.",
    Stranger "stranger" "A station outside the ring sends malformed messages, dribbles and never reads.",
    Flood "flood" "A stranger opens connections by the hundred.",
    Forge "forge" "A stranger announces tokens with ids that it made up, and gives nodes such tokens.",
    Jobs "jobs" "Programs that compute and decide are slow, fail, hang, or do not die.",
    Work "work" "Local work wants the token, and keeps it.",
    Yield "yield" "Leaders are told to hand the token on.",
    Leave "leave" "Nodes are shut down in order, and started again.",
    Times "times" "A node has another --tr-interval than the others.",
}
