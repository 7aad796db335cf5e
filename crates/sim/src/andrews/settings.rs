//! The settings of a run.

use crate::kernel::kinds::{self, kinds};

/// The settings from which a whole run follows.
pub type Settings = kinds::Settings<FaultKind>;

/// A set of kinds.
pub type Faults = kinds::Faults<FaultKind>;

kinds! {
    Drop(Drop) "drop" "Datagrams are lost.",
    Duplicate(Duplicate) "duplicate" "Datagrams arrive twice.",
    Reorder(Reorder) "reorder" "Single datagrams are overtaken by later ones.",
    Delay(Delay) "delay" "All datagrams take longer, with jitter.",
    Corrupt(Corrupt) "corrupt" "Bits of datagrams flip; the checksum catches all of them.",
    Oneway(OneWay) "oneway" "A node is not heard by another, but hears it.",
    Partition(Partition) "partition" "The network splits, heals and splits again. All nodes reach the database.",
    Deaf(Deaf) "deaf" "No datagram reaches a node.",
    Refuse(Refuse) "refuse" "A full send queue refuses datagrams.",
    Reset(Reset) "reset" "Connections are reset, at random or all after the same number of bytes.",
    Half(Half) "half" "One direction of a connection ends after any number of bytes.",
    Stall(Stall) "stall" "Connections stall: from some byte on nothing arrives.",
    Dribble(Dribble) "dribble" "The bytes of connections arrive one by one.",
    Unanswered(Unanswered) "unanswered" "Connections are never answered.",
    Pause(Pause) "pause" "A process is stalled.",
    Crash "crash" "A process dies and starts again, with no memory.",
    Power "power" "A host loses its power: its peers do not learn of the end of its connections.",
    Clock(Clock) "clock" "Clocks run up to 1 % fast or slow.",
    Slow(Slow) "slow" "Every loop iteration of a process takes long.",
    Link "link" "A node has no link, but reaches the database.",
    Replay(Replay) "replay" "Datagrams captured before are sent again, as they were.",
    Stranger "stranger" "A station outside the list sends malformed messages, dribbles and never reads.",
    Flood "flood" "A stranger opens connections by the hundred.",
    Forge "forge" "Messages of all kinds come in the names of nodes that did not send them.",
    Leave "leave" "Nodes are shut down and started again.",
    Empty "empty" "A node is started with --drop, which empties the topology.",
    Late "late" "The database answers late, up to four times database-timeout.",
    Gone "gone" "The database fails and writes nothing.",
    Unknown "unknown" "The result of a transaction is unknown, at once or when a session gives up.",
    ReadOnly "readonly" "The database can be read, and refuses writes: a standby, or a full disk.",
    Twice "twice" "The database's answers come twice.",
    List "list" "Nodes run with a list that lacks one of the others.",
    Post "post" "Clients post and read; some repeat the key of a post that may have been written.",
    Listen "listen" "Clients listen to new posts.",
}
