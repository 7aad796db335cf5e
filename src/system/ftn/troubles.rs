//! The troubles of a server of the token service.

use ring_control::troubles;

troubles! {
    pub(crate) TROUBLES:
    ADDRESS_WARNING "address_warning" Degraded "server"
        "the name of a server has no address, or has an address that cannot work";
    CLIENT_TIMEOUT_SHORT "client_timeout_short" Degraded "if the leader is lost, clients lose their tokens"
        "--client-timeout is too short compared with --server-timeout";
    GRACE_SHORT "grace_short" Degraded "that a client of the earlier run still holds"
        "--grace is shorter than --client-timeout";
    LINK_FAILED "link_failed" Critical "this server sends and receives nothing"
        "the address of this server cannot be used";
    NOT_SERVING "not_serving" Critical "this server serves nothing"
        "the server is not READY, or has no authority";
    OPTIONS_DIFFER "options_differ" Degraded "has different options"
        "a server has different options than this server";
    SEND_FAILED "send_failed" Degraded "cannot send to"
        "the system refuses datagrams to a server";
    SERVER_DOWN "server_down" Degraded "if this lasts, start that server"
        "a server is not READY";
    SPLIT_POSSIBLE "split_possible" Degraded "both sides of a split network may grant the same token"
        "the quorum is less than a majority";
    STORAGE_FAILED "storage_failed" Critical "this server sends nothing until a write works"
        "the state file cannot be written";
}
