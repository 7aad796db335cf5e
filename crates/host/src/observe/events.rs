//! The log events that every daemon can log, and the type for tables of log events. Each system has a table of its log
//! events. The test `catalog` generates `docs/reference/log-events.md` from the tables, and compares them with the code
//! that logs.

use tracing::Level;

/// A kind of log line.
#[derive(Debug, Clone, Copy)]
pub struct LogEvent {
    /// Name of the event: the field `event` of the line.
    pub name: &'static str,
    /// Levels at which the event is logged.
    pub levels: &'static [Level],
    /// Further fields of the line. A line may lack some of them.
    pub fields: &'static [&'static str],
    /// Meaning of the event.
    pub meaning: &'static str,
}

/// Declares a table of log events, and a constant with the name of each event.
#[macro_export]
macro_rules! log_events {
    ($visibility:vis $table:ident: $(
        $constant:ident $name:literal [$($level:ident)+] [$($field:literal)*] $meaning:literal;
    )+) => {
        $(
            #[doc = $meaning]
            #[allow(dead_code, reason = "the test of the documents reads only the table")]
            $visibility const $constant: &str = $name;
        )+

        /// The table of these events.
        #[allow(dead_code, reason = "only the test of the documents reads the table")]
        $visibility const $table: &[$crate::observe::LogEvent] = &[$(
            $crate::observe::LogEvent {
                name: $name,
                levels: &[$($crate::observe::Level::$level),+],
                fields: &[$($field),*],
                meaning: $meaning,
            }
        ),+];
    };
}

log_events! {
    pub EVENTS:
    ACCEPT_FAILED "accept_failed" [WARN] []
        "the daemon accepts no client, for example because too many files are open; the daemon retries";
    BIND_FAILED "bind_failed" [WARN] ["address"]
        "the daemon cannot use its UDP address, and retries";
    CLOCK_RATE "clock_rate" [WARN] []
        "the clock of this machine runs more than 1 % too fast or too slow";
    CLOCK_RATE_RIGHT "clock_rate_right" [INFO] []
        "the clock of this machine runs at the right rate again";
    CALL_DENIED "call_denied" [WARN] ["call"]
        "the sandbox denied a system call of the daemon";
    CLOCK_UNKNOWN "clock_unknown" [WARN] []
        "the daemon cannot find the clock of leases, so a ringctl in another time namespace cannot take a lock";
    CONFIG_REFUSED "config_refused" [WARN] []
        "the daemon cannot use the configuration file or the key file after SIGHUP, and keeps its options and its keys";
    CONFIG_RELOADED "config_reloaded" [INFO WARN] []
        "the daemon has read the configuration file after SIGHUP; at level WARN, some new values need a restart";
    CONTROL_SOCKET_MISSING "control_socket_missing" [WARN] []
        "the control socket or the monitor socket was removed, and the daemon cannot make it again";
    CONTROL_SOCKET_RECREATED "control_socket_recreated" [WARN] []
        "the control socket or the monitor socket was removed or replaced, and the daemon has made it again";
    FD_LIMIT_LOW "fd_limit_low" [WARN] ["limit" "clients"]
        "the limit of open files permits only few clients";
    HISTORY_NOT_WRITTEN "history_not_written" [WARN] []
        "the daemon cannot write the files from which ringctl history reads, or the disk is too slow";
    HOLDER_NOT_ENDED "holder_not_ended" [WARN] []
        "a program disappeared and did not release its lock, and the daemon cannot end its processes";
    HOOK_FAILED "hook_failed" [WARN] ["hook" "problem"]
        "a hook failed, could not start, did not end in time, or left processes behind";
    HOOK_OUTPUT "hook_output" [INFO] ["hook"]
        "a line that a hook printed";
    HOOK_RAN "hook_ran" [DEBUG] ["hook" "number"]
        "a hook ran because of the event with this number";
    HOOK_RECOVERED "hook_recovered" [INFO] ["hook"]
        "a hook that had failed works again";
    HOOKS_DIR_CHANGING "hooks_dir_changing" [WARN] []
        "hooks run without a pause, because an idle owner hands the token over too soon";
    KERNEL_DROPPED "kernel_dropped" [WARN] ["count"]
        "the kernel dropped messages because the daemon did not read them in time";
    KEYS_LOADED "keys_loaded" [INFO] ["signs"]
        "the keys with which the node signs and verifies messages, after the start or after SIGHUP";
    LATE_WAKE_UP "late_wake_up" [WARN DEBUG] ["late_ns" "times"]
        "the event loop of the daemon woke up late; at level WARN, other nodes may notice the delay";
    LINK_FAILED "link_failed" [WARN] ["address"]
        "the daemon cannot receive at its UDP address, and retries";
    LINK_MOVED "link_moved" [INFO] ["address"]
        "the daemon uses a new address, because its name has a new address";
    LINK_UP "link_up" [INFO] ["address"]
        "the UDP address works again";
    LOCK_GRANTED "lock_granted" [INFO] ["name" "label" "job" "pid" "uid" "user" "token"]
        "a program of this machine has the token or the named lock";
    LOCK_LOST "lock_lost" [WARN INFO] ["name" "label" "job" "pid" "uid" "user" "token" "held_ns" "reason"]
        "a program has lost its lock before it released the lock; at level INFO, an operator ended the lock";
    LOCK_RELEASED "lock_released" [INFO] ["name" "label" "job" "pid" "uid" "user" "token" "held_ns" "exit"]
        "a program has released its lock";
    LOG_LINES_LOST "log_lines_lost" [WARN] ["count"]
        "log lines are lost because standard output is too slow";
    MESSAGES_REFUSED "messages_refused" [WARN] ["sender" "reason" "count"]
        "messages without a valid signature arrived";
    MOVE_FAILED "move_failed" [WARN] ["address"]
        "the name of this server has a new but unusable address; the server keeps its old address";
    MONITOR_GROUP_DENIED "monitor_group_denied" [WARN] []
        "the members of the group ringd-monitor cannot use the monitor socket";
    NICE_DENIED "nice_denied" [DEBUG] []
        "the daemon runs without a raised priority";
    NOTIFY_FAILED "notify_failed" [DEBUG] []
        "the daemon cannot report its state to systemd";
    SANDBOX_INCOMPLETE "sandbox_incomplete" [WARN] ["limit"]
        "the kernel does not support a limit of the daemon's permissions";
    SEND_FAILED "send_failed" [WARN] ["to"]
        "the system refuses datagrams to an address";
    SEND_RESTORED "send_restored" [INFO] ["to"]
        "the system accepts datagrams to the address again";
    SIGNAL_IGNORED "signal_ignored" [INFO] ["signal"]
        "the daemon ignores this signal";
    STOPPED "stopped" [INFO] []
        "the daemon has ended";
}
