//! The troubles of a node of a ring.

use ring_control::troubles;

troubles! {
    pub(crate) TROUBLES:
    ADDRESS_SHARED "address_shared" Critical "another MAC"
        "two machines have the same MAC address, or frames of this node come back";
    ANSWER_LATE "answer_late" Degraded "two tokens may exist"
        "a member accepted the token after its offer had expired";
    BRIDGE_PORT "bridge_port" Critical "is a port of a bridge"
        "the interface belongs to a bridge, so the bridge takes all frames";
    BROADCASTS_UNHEARD "broadcasts_unheard" Critical "but no broadcasts"
        "frames to this node arrive, but broadcasts do not arrive";
    CANNOT_SEND "cannot_send" Critical "this node can send nothing"
        "the interface is up but refuses every frame";
    CLOCK_AHEAD "clock_ahead" Degraded "ahead of the ring's tokens"
        "the clock of this machine is ahead of the ring's tokens";
    CONSTANTS_APART "constants_apart" Critical "the times of this node differ"
        "the times of this node differ from the ring's times by a factor of more than 10";
    DATA_DROPPED "data_dropped" Degraded "dropped the token's data"
        "the data of the token were too long for an interface";
    JOBS_CORRUPT "jobs_corrupt" Degraded "a job may run again in its period"
        "the file of jobs was empty or damaged at the start";
    LINK_LOST "link_lost" Critical "until this ends, this node is in no ring"
        "the interface cannot be used";
    MEMBER_APART "member_apart" Degraded "the times of member"
        "the times of a member differ from the ring's times by a factor of more than 10";
    MEMBER_DEAF "member_deaf" Degraded "reports that it hears no member"
        "a member hears no other member";
    MEMBER_DIFFERS "member_differs" Degraded "start all members with the same options"
        "a member has different options than this node";
    MEMBER_SILENT "member_silent" Degraded "not been heard for a long time"
        "members do not send, or their frames are lost";
    MEMBER_UNREACHED "member_unreached" Degraded "but no broadcasts"
        "a member receives frames to its address, but no broadcasts";
    MEMBERS_MISSING "members_missing" Degraded "members run"
        "the number of running members is smaller than --ring-size";
    MTU_TOO_SMALL "mtu_too_small" Degraded "a confirmation needs"
        "an MTU is too small for confirmations";
    NO_OWNER "no_owner" Critical "this node knows no owner and looks for one"
        "the node is in no ring yet";
    NO_QUORUM "no_quorum" Critical "no quorum is possible"
        "too few members are present for a quorum";
    OWNER_UNHEARD "owner_unheard" Critical "but this node does not hear"
        "other members report an owner that this node does not hear";
    PAUSED "paused" Degraded "this node is paused"
        "an operator paused this node";
    PREFERRED_REFUSES "preferred_refuses" Degraded "preferred, but does not take the token"
        "the preferred member does not take the idle token from this node";
    RECEIVES_NOTHING "receives_nothing" Critical "this node hears none of the"
        "this node hears no other member that it knows";
    STATE_NOT_STORED "state_not_stored" Critical "the state file cannot be written"
        "the disk of the state file is full, read-only or broken";
    TABLES_DIFFER "tables_differ" Degraded "have differed for a long time"
        "this node and the owner know different members";
    TAKEN_LATE "taken_late" Degraded "another member may hold it"
        "this node took a token whose offer had expired";
    TOKEN_AHEAD "token_ahead" Degraded "ahead of this machine's clock"
        "a clock is wrong, or was wrong";
    UNHEARD "unheard" Critical "this node is not heard by"
        "other members do not hear this node";
    UNICAST_LOST "unicast_lost" Critical "no member takes the token from this node"
        "frames to single members are lost";
}
