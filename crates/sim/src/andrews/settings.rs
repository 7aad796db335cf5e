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
    Partition(Partition) "partition" "The network splits, heals and splits again. All nodes reach the database.",
    Deaf(Deaf) "deaf" "No datagram reaches a node.",
    Refuse(Refuse) "refuse" "A full send queue refuses datagrams.",
    Reset(Reset) "reset" "Connections are reset, at random or all after the same number of bytes.",
    Half(Half) "half" "One direction of a connection ends after any number of bytes.",
    Stall(Stall) "stall" "Connections stall: after some byte, nothing arrives.",
    Dribble(Dribble) "dribble" "The bytes of connections arrive one by one.",
    Unanswered(Unanswered) "unanswered" "Connections are never answered.",
    Pause(Pause) "pause" "A process is stalled.",
    Crash "crash" "A process dies and starts again, with no memory.",
    Power "power" "A host loses its power, so its peers do not notice the end of its connections.",
    Clock(Clock) "clock" "Clocks run up to 1 % fast or slow.",
    Slow(Slow) "slow" "Every loop iteration of a process takes long.",
    Link "link" "A node has no link, but reaches the database.",
    Replay(Replay) "replay" "Captured datagrams are sent again unchanged.",
    Stranger "stranger" "A station outside the list sends malformed messages or single bytes, and never reads.",
    Flood "flood" "A stranger opens hundreds of connections.",
    Forge "forge" "Messages of all kinds come in the names of nodes that did not send them.",
    Leave "leave" "Nodes are shut down and started again.",
    Empty "empty" "A node is started with --drop, which empties the topology.",
    Late "late" "The database answers late, up to four times database-timeout.",
    Gone "gone" "The database fails and writes nothing.",
    Unknown "unknown" "The result of a transaction is unknown, at once or when a session gives up.",
    ReadOnly "readonly" "The database can be read, and refuses writes: a standby, or a full disk.",
    Twice "twice" "Each answer of the database comes twice.",
    List "list" "Nodes run with a list that lacks another node.",
    Post "post" "Clients post and read; some repeat the key of a post that may have been written.",
    Listen "listen" "Clients listen to new posts.",
    Keys(Keys) "keys" "Nodes get keys, and replace them, one node after another.",
    Attack(Attack) "attack" "A host without a key attacks nodes that require signatures.",
}
