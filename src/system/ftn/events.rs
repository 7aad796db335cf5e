//! The log events of a server of the token service.

use ring_host::log_events;

log_events! {
    pub(crate) EVENTS:
    ADDRESS_WARNING "address_warning" [WARN] []
        "the name of a server in the list has no address, or has an address that cannot work";
    AUTHORITY_GAINED "authority_gained" [INFO] []
        "a quorum of servers acknowledges this leader";
    AUTHORITY_LOST "authority_lost" [WARN] []
        "no quorum of servers acknowledges this leader, so the leader serves nothing";
    CLIENT_KEYS_LOADED "client_keys_loaded" [INFO] ["count"]
        "the keys that only clients use, after the start or after SIGHUP";
    CONFIGURATION_CHANGED "configuration_changed" [INFO WARN] ["configuration"]
        "the states of the servers have changed; at level WARN, a server is DOWN";
    CONFLICT "conflict" [ERROR] []
        "two clients hold the same token";
    CONFLICTING_DATA "conflicting_data" [WARN] []
        "clients have different data of a token";
    DROPPED "dropped" [DEBUG] ["address"]
        "a datagram was dropped";
    GRACE_ENDED "grace_ended" [INFO] []
        "sessions of an earlier run can no longer come back";
    LEFT "left" [INFO WARN] []
        "the server has left the other servers; at level WARN, data of tokens are lost";
    LIST_CHANGED "list_changed" [INFO] ["configuration"]
        "the state file belongs to another list of servers";
    MISPLACED "misplaced" [WARN] ["server" "address"]
        "a server sends messages from an address that the list does not have for this server";
    NAME_DENIED "name_denied" [WARN] ["address" "key" "token"]
        "a client sent a message for a token that its key does not permit";
    NUMBER_AHEAD "number_ahead" [WARN] ["server"]
        "another server uses a configuration number that is too far ahead";
    NUMBERS_EXHAUSTED "numbers_exhausted" [ERROR] []
        "no larger configuration number is left";
    OPTIONS_AGREE "options_agree" [INFO] ["server"]
        "a server has the same options again";
    OPTIONS_DIFFER "options_differ" [WARN] ["server"]
        "a server has different options than this server";
    OPTIONS_WARNING "options_warning" [WARN] []
        "the options of this server work, but may have unexpected effects";
    OTHER_LIST "other_list" [WARN] ["address"]
        "the sender of a message has a different list of servers";
    RESET "reset" [WARN] []
        "the other servers considered this server DOWN, so this server has forgotten its tokens";
    ROLE_CHANGED "role_changed" [INFO] ["server"]
        "the leader has changed: it is another server, this server, or unknown";
    SERVER_MOVED "server_moved" [INFO] ["server" "address"]
        "the name of a server has a new address";
    SESSION_ADOPTED "session_adopted" [DEBUG] ["session" "address"]
        "a session of an earlier run has come back";
    SESSION_BEGUN "session_begun" [DEBUG] ["session" "address"]
        "a session of a client has begun";
    SESSION_EXPIRED "session_expired" [INFO] ["session" "address"]
        "a client was silent for too long, so its tokens are free";
    SESSION_INTRODUCED "session_introduced" [INFO] ["session" "address" "program"]
        "a client gave its name";
    SESSION_LOGGED_OUT "session_logged_out" [DEBUG] ["session" "address"]
        "a client has ended its session";
    SMALL_BUFFER "small_buffer" [INFO] ["has" "asked"]
        "the kernel's buffer for datagrams is smaller than requested";
    STARTED "started" [INFO] ["version" "server" "address" "servers"]
        "the server has started";
    STATE_CHANGED "state_changed" [INFO] []
        "the state of this server has changed";
    STOPPING "stopping" [INFO] []
        "the server hands its tokens over, and then ends";
    STORAGE_FAILED "storage_failed" [ERROR] []
        "the state file cannot be written, so the server sends nothing";
    STORAGE_RESTORED "storage_restored" [INFO] []
        "the state file can be written again";
    SURVEY_ABORTED "survey_aborted" [INFO DEBUG] ["configuration"]
        "a later survey has replaced this survey";
    SURVEY_BEGUN "survey_begun" [INFO DEBUG] ["configuration"]
        "the server asks clients which tokens they hold";
    SURVEY_ENDED "survey_ended" [INFO DEBUG] ["configuration"]
        "all tokens are known";
    TOKEN_GRANTED "token_granted" [INFO] ["session" "address" "token" "program" "fencing_number"]
        "a client holds a token";
    TOKEN_LOST "token_lost" [INFO] ["session" "address" "token" "program" "fencing_number" "held_ns"]
        "the session of a client has ended, so the client no longer holds the token";
    TOKEN_RETURNED "token_returned" [INFO] ["session" "address" "token" "program" "fencing_number" "held_ns"]
        "a client has returned a token";
    TOOK_OVER "took_over" [INFO WARN] ["configuration"]
        "this server leads; at level WARN, it does not know the sessions of the leader before it";
    TOOK_OVER_TOKENS "took_over_tokens" [INFO WARN] ["server"]
        "this server serves the tokens of another server; at level WARN, tokens without holders are lost";
    TRANSFERRED "transferred" [INFO DEBUG] ["server"]
        "tokens were handed over to another server";
}
