//! The log events of a node of a ring.

use ring_host::log_events;

log_events! {
    pub(crate) EVENTS:
    ADDRESS_SHARED "address_shared" [WARN] ["mac"]
        "two machines have the same MAC address, or frames of this node come back";
    ANSWER_LATE "answer_late" [WARN INFO] ["mac"]
        "a member accepted the token after its offer had expired, so two tokens may exist; at level INFO, the delay \
         was slight";
    BRIDGE_PORT "bridge_port" [WARN] []
        "the interface is a port of a bridge, so the bridge takes all frames";
    BROADCASTS_HEARD "broadcasts_heard" [INFO] []
        "broadcasts reach this node again";
    BROADCASTS_UNHEARD "broadcasts_unheard" [WARN] []
        "frames to this node arrive, but broadcasts do not arrive";
    CAN_SEND "can_send" [INFO] []
        "this node can send again";
    CANNOT_SEND "cannot_send" [WARN] []
        "the interface is up but refuses every frame";
    CLOCK_AHEAD "clock_ahead" [WARN] []
        "the clock of this machine is ahead of the ring's tokens";
    CONSTANTS_APART "constants_apart" [WARN] ["mac"]
        "the times of a node differ from the ring's times by a factor of more than 10, so the node owns no token";
    CONSTANTS_NEAR "constants_near" [INFO] ["mac"]
        "the times of the node are near the ring's times again";
    DATA_DROPPED "data_dropped" [WARN] ["mac"]
        "the data of the token were dropped, because they were too long for an interface";
    DATA_REFUSED "data_refused" [WARN] ["len"]
        "this node cannot set the data of the token";
    DROPPED "dropped" [DEBUG] ["reason"]
        "a frame was dropped";
    GRADE_CHANGED "grade_changed" [INFO DEBUG] ["grade" "token"]
        "the grade of this node's token has changed";
    HAND_OVER_FAILED "hand_over_failed" [WARN DEBUG] ["to" "in_a_row" "token"]
        "a member did not take the token, or this node cannot send frames to this member";
    HANDED_OVER "handed_over" [DEBUG] ["to" "latency_ns"]
        "a member took the token";
    HEARD "heard" [INFO] ["mac"]
        "the other members hear this node again";
    INTERFACE_SHARED "interface_shared" [WARN] []
        "another process receives the frames of this ring on this interface";
    JOBS_CORRUPT "jobs_corrupt" [WARN] []
        "the file of jobs was empty or damaged at the start, so a job may run again in its period";
    LINK_FAILED "link_failed" [WARN] []
        "the interface reported an error while the daemon received frames";
    LINK_LOST "link_lost" [WARN] ["reason"]
        "the interface is down, has no carrier, was replaced or does not exist";
    LINK_UP "link_up" [INFO] ["mac" "ip" "mtu"]
        "the interface works, or its addresses or MTU have changed";
    LOOKUP_FAILED "lookup_failed" [WARN] []
        "the daemon cannot look up the interface, and retries";
    MEMBER_ADDED "member_added" [INFO] ["mac" "members"]
        "a member is new in the member table";
    MEMBER_AGREES "member_agrees" [INFO DEBUG] ["mac"]
        "a member has the same constants as this node again";
    MEMBER_ALIVE "member_alive" [INFO] ["mac" "others"]
        "a silent member is heard again";
    MEMBER_DEAF "member_deaf" [WARN] ["mac"]
        "a member reports that it hears no member";
    MEMBER_DIFFERS "member_differs" [WARN DEBUG] ["mac"]
        "a member has different options than this node";
    MEMBER_FORGOTTEN "member_forgotten" [INFO] ["mac" "members"]
        "a member was removed from the member table";
    MEMBER_HEARS "member_hears" [INFO] ["mac"]
        "the deaf member hears other members again";
    MEMBER_HELD "member_held" [INFO] ["name" "mac" "host" "label" "token" "held_ns"]
        "a program on another member no longer holds the token or the named lock; its exit code is unknown";
    MEMBER_HOLDS "member_holds" [INFO] ["name" "mac" "host" "label" "token" "held_ns"]
        "for at least a second, a program on another member has held the token or the named lock";
    MEMBER_LEFT "member_left" [INFO] ["mac"]
        "a member announced that it is leaving";
    MEMBER_MOVED "member_moved" [INFO] ["mac" "ip"]
        "a member has a new IP address";
    MEMBER_PAUSED "member_paused" [INFO] ["mac"]
        "an operator has paused a member, or the pause has another end or reason";
    MEMBER_REACHED "member_reached" [INFO] ["mac"]
        "broadcasts reach the member again";
    MEMBER_RESUMED "member_resumed" [INFO] ["mac"]
        "the pause of a member has ended";
    MEMBER_SILENT "member_silent" [WARN] ["mac" "others"]
        "no frame of a member has arrived for a long time";
    MEMBER_UNREACHED "member_unreached" [WARN] ["mac"]
        "a member reports that no broadcasts reach it";
    MTU_LARGE_ENOUGH "mtu_large_enough" [INFO] ["mac"]
        "the MTU is large enough again";
    MTU_TOO_SMALL "mtu_too_small" [WARN] ["mac"]
        "an MTU is too small for confirmations, so tokens stay without a grade";
    NO_BRIDGE_PORT "no_bridge_port" [INFO] []
        "the interface is no longer a port of a bridge";
    NO_QUORUM "no_quorum" [WARN] ["mac"]
        "too few members are present for a quorum";
    OPEN_FAILED "open_failed" [WARN] []
        "the daemon cannot open a socket on the interface, and retries";
    OWNER_CHANGED "owner_changed" [INFO DEBUG] ["owner" "token"]
        "another member owns the token";
    OWNER_HEARD "owner_heard" [INFO] ["mac"]
        "this node hears the owner again";
    OWNER_UNHEARD "owner_unheard" [WARN] ["mac"]
        "other members report an owner that this node does not hear";
    PAUSE_NOT_SYNCED "pause_not_synced" [WARN] []
        "a power failure may undo the last pause or the last resume";
    PAUSED "paused" [INFO] ["pid" "uid"]
        "the node is paused: it does not own the token until the end of the pause";
    PAUSING "pausing" [INFO] ["pid" "uid" "reason"]
        "the node gives up the token as soon as possible, because a pause was requested";
    PREFERRED_REFUSES "preferred_refuses" [WARN] ["mac"]
        "the preferred member does not take the idle token from this node";
    PREFERRED_TAKES "preferred_takes" [INFO] ["mac"]
        "the preferred member has the token, or this node no longer tries to hand it over";
    PROGRESS_EXHAUSTED "progress_exhausted" [ERROR] []
        "the number of the token can no longer grow";
    QUORUM_POSSIBLE "quorum_possible" [INFO] ["mac"]
        "enough members for a quorum are present again";
    RECEIVES "receives" [INFO] []
        "this node hears other members";
    RECEIVES_NOTHING "receives_nothing" [INFO WARN] []
        "this node hears no member; at level WARN, it heard members before";
    RECORDING_NOT_WRITTEN "recording_not_written" [WARN] ["reason"]
        "the daemon cannot write a recording of the last frames and events";
    RECORDING_WRITTEN "recording_written" [INFO] ["path" "reason"]
        "the daemon has written a recording of the last frames and events";
    RESUMED "resumed" [INFO] ["pid" "uid"]
        "the pause was ended";
    RUN_DONE "run_done" [INFO] ["job"]
        "a run of a job on this machine succeeded";
    RUN_FAILED "run_failed" [WARN] ["job"]
        "a run of a job on this machine failed";
    RUN_LOST "run_lost" [WARN] ["name" "runner" "age_ns"]
        "a run of a job began, but no member will report the end of the run";
    RUN_STAMPED "run_stamped" [INFO] ["job"]
        "this node is about to run a job";
    STARTED "started" [INFO] ["version" "interface" "mac"]
        "the daemon has started";
    STATE_CHANGED "state_changed" [INFO WARN DEBUG] ["from" "to" "reason" "token" "members"]
        "the state of the node has changed; at level WARN, a stronger token or a late heartbeat ended the tenure";
    STATE_NOT_STORED "state_not_stored" [ERROR] []
        "the state file cannot be written, so this node owns nothing";
    STATE_STORED "state_stored" [INFO] []
        "the state file can be written again";
    STOPPING "stopping" [INFO] []
        "the daemon hands the token over, and then ends";
    TABLE_FULL "table_full" [WARN] ["author"]
        "the member table has no place for another member";
    TABLES_AGREE "tables_agree" [INFO] ["mac"]
        "this node and the owner know the same members again";
    TABLES_DIFFER "tables_differ" [WARN] ["mac"]
        "for a long time, this node and the owner have known different members";
    TAKEN_LATE "taken_late" [WARN INFO] []
        "this node took a token whose offer had expired, so two tokens may exist; at level INFO, the delay was \
         slight";
    TOKEN_AHEAD "token_ahead" [WARN] []
        "the number of the token is ahead of this machine's clock";
    TOKEN_NOT_AHEAD "token_not_ahead" [INFO] []
        "the token is no longer ahead of this machine's clock";
    TOO_LONG "too_long" [WARN] ["mtu"]
        "a frame is too long for the interface";
    UNHEARD "unheard" [WARN] ["mac"]
        "other members report that they do not hear this node";
    UNICAST_LOST "unicast_lost" [ERROR] []
        "no member takes the token from this node, so the node owns nothing";
    UNICAST_RESTORED "unicast_restored" [INFO] []
        "this node may own the token again";
}
