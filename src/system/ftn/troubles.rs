//! The troubles of a server of the token service.

use ring_control::troubles;

troubles! {
    pub(crate) TROUBLES:
    ADDRESS_WARNING "address_warning" Degraded "server"
        "the name of a server has no address, or an address that cannot work";
    LINK_FAILED "link_failed" Critical "this server sends and receives nothing"
        "the address of this server cannot be used";
    NOT_SERVING "not_serving" Critical "this server serves nothing"
        "the server is not READY, or has no authority";
    OPTIONS_DIFFER "options_differ" Degraded "has other options"
        "a server has other options than this server";
    OPTIONS_WARNING "options_warning" Degraded "--"
        "the options of this server may have unexpected effects";
    SEND_FAILED "send_failed" Degraded "cannot send to"
        "the system refuses datagrams to a server";
    SERVER_DOWN "server_down" Degraded "if this lasts, start that server"
        "a server is not READY";
    STORAGE_FAILED "storage_failed" Critical "this server sends nothing until a write works"
        "the state file cannot be written";
}
