//! The log events of a node of Jitterbug.

use ring_host::log_events;

log_events! {
    pub(crate) EVENTS:
    ABSORBED "absorbed" [INFO] ["token_id" "node"]
        "this node has discarded a weaker token";
    ADDRESS_CHANGED "address_changed" [INFO WARN] ["node"]
        "the address of this node has changed; at level WARN, the node has no address";
    BIND_FAILED "bind_failed" [WARN] []
        "the daemon cannot use the address of its interface, and retries";
    COMMAND_OUTPUT "command_output" [WARN] []
        "--compute or --decide printed a line to standard error, or the command failed";
    COMPUTE_FAILED "compute_failed" [WARN] []
        "--compute gave no new data, so the data of the token stay unchanged";
    DATA_CHANGED "data_changed" [DEBUG] []
        "the data of the token have changed";
    DATA_DROPPED "data_dropped" [WARN] []
        "data of a token were dropped, because too many data wait for --decide";
    DECIDE_FAILED "decide_failed" [WARN] []
        "--decide gave no decision, so the node keeps the received data";
    DROPPED "dropped" [DEBUG] ["node"]
        "a message was dropped";
    GAVE_WAY "gave_way" [INFO] ["token_id" "node"]
        "this node hands its token to a leader with a stronger token";
    LEFT "left" [INFO] []
        "the node has left the ring";
    LINK_FAILED "link_failed" [WARN] []
        "the daemon cannot receive on its interface, and retries";
    LINK_UP "link_up" [INFO] ["address" "port"]
        "the node takes the token at this address and TCP port";
    LIST_CUT "list_cut" [WARN] ["node"]
        "the node omitted some nodes of a received list";
    LOOKUP_FAILED "lookup_failed" [WARN] []
        "the daemon cannot look up its interface, and retries";
    MERGED "merged" [INFO] ["token_id" "node"]
        "another token was merged with the token of this node";
    NO_ADDRESS "no_address" [WARN] []
        "the interface is down or has no address, so the node waits for one";
    NODE_ADDED "node_added" [INFO] ["node"]
        "a node was added to the list";
    NODE_DIFFERS "node_differs" [WARN] ["node"]
        "a node has different times or programs than this node";
    NODE_FORGOTTEN "node_forgotten" [INFO] ["node"]
        "a node that never answered was removed from the list";
    NODE_REFUSED "node_refused" [WARN] ["node"]
        "the list has no place for another node";
    NOT_STARVING "not_starving" [INFO] []
        "this node has the token again";
    PASS_ABORTED "pass_aborted" [DEBUG] ["node"]
        "this node has stopped a handover of the token to another node";
    PASS_FAILED "pass_failed" [WARN] ["node"]
        "a node cannot take the token";
    PASS_UNKNOWN "pass_unknown" [WARN] ["node"]
        "a node may have the token, so this node looks for a leader";
    PASSED "passed" [DEBUG] ["node"]
        "a node has taken the token";
    RESTORE_BEGAN "restore_began" [INFO] []
        "this node asks whether there is a leader";
    RESTORE_DENIED "restore_denied" [INFO] ["node"]
        "another node leads, or has a better claim to lead";
    RESTORE_WON "restore_won" [INFO] []
        "no node objects, so this node leads";
    RIVAL_HEARD "rival_heard" [INFO] ["token_id" "node"]
        "another node leads with a stronger token";
    STALLED "stalled" [WARN] []
        "the process was stalled, so another node may lead";
    STARTED "started" [INFO] ["version" "interface" "udp_port"]
        "the daemon has started";
    STARVING "starving" [WARN] []
        "this node lost its ring three times in a row, and never had the token in between";
    STATE_CHANGED "state_changed" [INFO DEBUG] ["token_id"]
        "the state of the node has changed";
    STOPPING "stopping" [INFO] []
        "the daemon ends; if the node is leader, it first hands the token over";
    TAKEN "taken" [DEBUG] ["token_id" "node"]
        "this node took the token";
    USE_CHANGED "use_changed" [DEBUG] []
        "programs of this machine may use the token, or may no longer use it";
}
