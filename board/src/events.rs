//! The log events of a node of the board.

use ring_host::log_events;

log_events! {
    pub(crate) EVENTS:
    CLAIMED "claimed" [WARN] []
        "this node acts as coordinator until the nodes elect a coordinator";
    COORDINATOR_CHANGED "coordinator_changed" [INFO] ["node"]
        "the coordinator has changed";
    DATABASE_BACK "database_back" [INFO] []
        "the database answers again";
    DATABASE_CHANGED "database_changed" [INFO WARN] []
        "the state of the database has changed; at level WARN, the node cannot write";
    DATABASE_FAILED "database_failed" [WARN] []
        "a transaction of the database failed";
    DROPPED "dropped" [DEBUG] []
        "a frame was dropped";
    ELECTION_RESULT "election_result" [INFO] ["node"]
        "a node was elected";
    ELECTION_STARTED "election_started" [INFO] []
        "an election has begun";
    ELECTION_WON "election_won" [INFO] []
        "this node was elected";
    LOGGED_IN "logged_in" [INFO] ["client"]
        "a browser has logged in to the page";
    LOGIN_FAILED "login_failed" [WARN] ["client"]
        "a client of the page sent a wrong password";
    MEMBERS_CHANGED "members_changed" [INFO] []
        "the number of members has changed";
    NODE_JOINED "node_joined" [INFO] ["node"]
        "the coordinator put a node into the ring";
    NODE_REMOVED "node_removed" [WARN] ["node"]
        "the coordinator removed a node from the ring";
    OTHER_MACHINES "other_machines" [WARN] ["database" "nodes"]
        "the database is a file of this machine, but the list has nodes on other machines";
    PREDECESSOR_LOST "predecessor_lost" [INFO] ["node"]
        "the connection of the predecessor is closed";
    PREDECESSOR_UP "predecessor_up" [INFO] ["node"]
        "the predecessor is connected";
    REMOVED "removed" [WARN] []
        "another node has removed this node from the ring";
    SHUT_DOWN "shut_down" [INFO] []
        "the node has left the ring";
    STARTED "started" [INFO] ["version" "node" "address" "nodes" "database"]
        "the daemon has started";
    STATE_CHANGED "state_changed" [INFO] []
        "the state of the node has changed";
    STATUS "status" [INFO] ["status"]
        "the status, after SIGUSR1";
    STOPPING "stopping" [INFO] []
        "the daemon passes the token on, and then ends";
    SUCCESSOR_FAILED "successor_failed" [WARN] ["node"]
        "the successor has failed, and the coordinator must remove the successor from the ring";
    SUCCESSOR_LOST "successor_lost" [WARN] ["node"]
        "the connection to the successor is lost";
    SUCCESSOR_UP "successor_up" [INFO] ["node"]
        "this node is connected to its successor";
    TOKEN_HELD "token_held" [DEBUG] []
        "the token is here";
    TOKEN_LOST "token_lost" [WARN] []
        "this node has discarded a token, because the ring has or makes another token";
    TOKEN_MADE "token_made" [INFO WARN] []
        "this node has made a token; at level WARN, the last token was lost";
    TOKEN_PASSED "token_passed" [DEBUG] []
        "the successor has the token";
    TOKEN_RETURNED "token_returned" [WARN] []
        "the successor did not acknowledge the token, so this node took the token back";
    UNANSWERED "unanswered" [WARN] ["node"]
        "the coordinator writes to the database but answers no request of this node";
    UNKNOWN_ROW "unknown_row" [WARN] ["node"]
        "the database has a node that the list does not have";
    UNKNOWN_SENDER "unknown_sender" [WARN] ["node"]
        "a node sends messages from an address that the list does not have for this node";
}
