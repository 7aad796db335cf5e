//! The names of all fields of the four formats, for error messages.

use core::fmt;

macro_rules! fields {
    ($($field:ident $name:literal)*) => {
        /// A field of a message, with its name in the format's document.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Field {
            $(#[doc = concat!("`", $name, "`.")] $field,)*
        }

        impl Field {
            /// Returns the name in the spelling of the format's document.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$field => $name,)*
                }
            }
        }
    };
}

fields! {
    Access "access"
    Address "address"
    Age "age"
    Assignments "assignments"
    AuthorMAC "authorMAC"
    AuthorTokenNum "authorTokenNum"
    Beat "beat"
    Before "before"
    Bytes "bytes"
    Came "came"
    Candidate "candidate"
    Card "card"
    Change "change"
    ClientTimeout "client_timeout"
    Clients "clients"
    Configuration "configuration"
    Constants "constants"
    Content "content"
    CoordinatorId "coordinatorId"
    Count "count"
    Data "data"
    DataLen "dataLen"
    Datagram "datagram"
    Destination "destination"
    Digest "digest"
    ElectionType "electionType"
    End "end"
    Ethernet "ethernet"
    Ethertype "ethertype"
    Expect "expect"
    Flag "flag"
    Flags "flags"
    Follows "follows"
    From "from"
    Grace "grace"
    Grade "grade"
    Header "header"
    Heartbeat "heartbeat"
    Held "held"
    Holder "holder"
    Holders "holders"
    Holdings "holdings"
    HostName "hostName"
    HostNameLen "hostNameLen"
    Id "id"
    Ids "ids"
    Ip "ip"
    Kind "kind"
    Lasts "lasts"
    Leader "leader"
    Lease "lease"
    Left "left"
    LockCount "lockCount"
    LockName "lockName"
    Locks "locks"
    LocksHash "locksHash"
    LocksPurpose "locksPurpose"
    Longest "longest"
    Mac "mac"
    Major "major"
    Mark "mark"
    MemberMAC "memberMAC"
    Members "members"
    MessageAuthorMAC "messageAuthorMAC"
    Meta "meta"
    Method "method"
    Minor "minor"
    Mode "mode"
    Msgnum "msgnum"
    Mtu "mtu"
    Name "name"
    NodeList "node_list"
    NodeListHash "node_list_hash"
    NodeTcpPort "node_tcp_port"
    OthersHash "othersHash"
    Outcome "outcome"
    P "p"
    Part "part"
    Parts "parts"
    Pass "pass"
    Patch "patch"
    Patience "patience"
    PayloadLen "payloadLen"
    Period "period"
    Policy "policy"
    Port "port"
    Preference "preference"
    Profile "profile"
    Program "program"
    ProgramLen "programLen"
    Progress "progress"
    Purpose "purpose"
    Quorum "quorum"
    QuorumHash "quorumHash"
    Reason "reason"
    ReasonLen "reasonLen"
    Renew "renew"
    Reserved "reserved"
    RingMembersHash "ringMembersHash"
    RingSize "ringSize"
    Round "round"
    Run "run"
    RunnerMAC "runnerMAC"
    Sequence "sequence"
    Serial "serial"
    ServerTimeout "server_timeout"
    Session "session"
    Settles "settles"
    Shortest "shortest"
    Source "source"
    SrcId "srcId"
    Ssig "ssig"
    Sstate "sstate"
    Sstates "sstates"
    StampCount "stampCount"
    Stamps "stamps"
    StampsHash "stampsHash"
    Standing "standing"
    State "state"
    SuccessorId "successorId"
    Sums "sums"
    Take "take"
    Ticket "ticket"
    To "to"
    Token "token"
    TokenId "token_id"
    Type "type"
    Unheard "unheard"
    Version "version"
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
