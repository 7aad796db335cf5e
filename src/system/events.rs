//! The log events of the parts that several systems of `ringd` share.

use ring_host::log_events;

log_events! {
    pub(crate) EVENTS:
    INTERFACE_MISSING "interface_missing" [INFO] ["interface"]
        "the interface does not exist yet, and the daemon waits for it";
    INTERFACE_RENAMED "interface_renamed" [INFO] ["interface"]
        "the given name is an alternative name of the interface";
    STATE_CORRUPT "state_corrupt" [WARN] []
        "the state file was empty or damaged at the start";
    STATE_NOT_SYNCED "state_not_synced" [WARN] []
        "at its end, the daemon could not sync the state file to the disk";
    STATE_NOT_WRITTEN "state_not_written" [WARN] ["count"]
        "writes of the state file fail";
    STATE_REMOVED "state_removed" [WARN] []
        "the state file was removed or replaced, and the daemon cannot make it again";
    STATE_RESTORED "state_restored" [INFO] []
        "the state file is in its place again";
    STATUS "status" [INFO] ["status"]
        "the status, after SIGUSR1; the field has the same JSON object as ringctl status --json";
    STATUS_DETAIL "status_detail" [INFO] []
        "a further line of the status, after SIGUSR1";
}
