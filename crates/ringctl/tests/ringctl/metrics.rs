//! `ringctl metrics`, with daemons that answer unusually or belong to other systems.

use std::io::Write;
use std::thread;

use serde_json::{Value, json};

use crate::fake::{Client, FakeDaemon};
use crate::locking::start;
use crate::program::Running;

tests! {
    a_daemon_of_an_earlier_version_has_no_metrics_of_named_locks,
    an_owner_that_hears_no_other_member_is_not_silent,
    a_node_outside_a_ring_reports_no_token,
    a_node_that_never_heard_of_a_token_is_silent_since_its_start,
    a_node_of_a_board_has_its_metrics,
    a_node_of_an_unknown_system_has_the_common_metrics_and_its_counters,
    a_daemon_that_never_ends_its_answer_has_a_limited_time,
    a_daemon_that_refuses_the_client_counts_as_down,
}

/// Returns the status of a node of a ring.
fn ring_status(state: &str, heard_ns: Option<u64>) -> Value {
    json!({
        "ringd": "0.1.0", "up_ns": 4_500_000_000_u64, "interface": "eth0", "mac": "02:00:00:00:00:01",
        "link": "up", "state": state, "grade": "alone", "owner": null, "heard_about_token_ns": heard_ns,
        "token": {"progress": 17, "author": "02:00:00:00:00:01", "number": 3}, "members": [], "ring_hash": "0",
        "constants": {
            "heartbeat_ns": 1, "waiter_timeout_ns": 1, "looser_timeout_ns": 1, "looser_answer_timeout_ns": 1,
            "take_timeout_ns": 1, "take_attempts": 1, "idle_hold_ns": 1, "ethertype": "0x88b5", "max_members": 1,
        },
        "counters": {
            "received": {}, "sent": {}, "send_failed": {}, "dropped": {}, "state_changes": {},
            "state_change_reasons": {}, "hand_overs": 0, "hand_overs_failed": 0, "table_full": 0, "late_wake_ups": 0,
            "hand_over_latency": {"min_ns": 0, "p50_ns": 0, "p90_ns": 0, "p99_ns": 0, "max_ns": 0},
        },
        "health": "healthy",
    })
}

/// Starts `ringctl metrics`, and answers its first request with this status.
fn answer_status(status: &Value) -> (FakeDaemon, Running, Client) {
    let fake = FakeDaemon::new();
    let running = start(&fake, &["metrics"]);
    let mut client = fake.next_client();
    assert_eq!(client.request()["request"], "status");
    client.send(&json!({"status": status}));
    (fake, running, client)
}

/// Returns the metrics of a ring's node with this status, and without named locks.
fn ring_metrics(status: &Value) -> String {
    let (_fake, mut running, mut client) = answer_status(status);
    assert_eq!(client.request()["request"], "locks");
    client.send(&json!({"locks": []}));
    finished(&mut running)
}

/// Returns the output of a process that exits with 0 and prints no error.
fn finished(running: &mut Running) -> String {
    let output = running.rest();
    let (status, errors) = running.end();
    assert!(status.success() && errors.is_empty(), "{status}: {errors}");
    output
}

fn a_daemon_of_an_earlier_version_has_no_metrics_of_named_locks() {
    let (_fake, mut running, mut client) = answer_status(&ring_status("WAITER", Some(1)));
    assert_eq!(client.request()["request"], "locks");
    client.send(&json!({"error": "unknown request"}));
    let text = finished(&mut running);
    assert!(text.contains("ringd_up{daemon=\"eth0\"} 1\n"), "{text}");
    assert!(!text.contains("ringd_named_lock"), "{text}");
    let text = ring_metrics(&ring_status("WAITER", Some(1)));
    assert!(
        text.contains("ringd_named_lock_names{daemon=\"eth0\"} 0\n"),
        "{text}"
    );
}

fn an_owner_that_hears_no_other_member_is_not_silent() {
    let text = ring_metrics(&ring_status("OWNER", Some(9_000_000_000)));
    assert!(
        text.contains("ringd_token_silence_seconds{daemon=\"eth0\"} 0.0\n"),
        "{text}"
    );
    let token = "ringd_token_number{daemon=\"eth0\",author=\"02:00:00:00:00:01\"} 3\n";
    assert!(text.contains(token), "{text}");
}

fn a_node_outside_a_ring_reports_no_token() {
    let text = ring_metrics(&ring_status("LOOSER", Some(9_000_000_000)));
    assert!(
        text.contains("ringd_token_silence_seconds{daemon=\"eth0\"} 9.0\n"),
        "{text}"
    );
    assert!(!text.contains("ringd_token_number"), "{text}");
}

fn a_node_that_never_heard_of_a_token_is_silent_since_its_start() {
    let text = ring_metrics(&ring_status("LOOSER", None));
    assert!(
        text.contains("ringd_token_silence_seconds{daemon=\"eth0\"} 4.5\n"),
        "{text}"
    );
}

fn a_node_of_a_board_has_its_metrics() {
    let status = json!({
        "system": "board", "id": 1, "state": "MEMBER", "members": [1, 2], "token": {"held": true},
        "database": "slow", "waiting": 3, "health": "degraded", "troubles": ["slow"],
        "counters": {"received": {"TOKEN": 5}, "posts": 2},
    });
    let (_fake, mut running, _client) = answer_status(&status);
    let text = finished(&mut running);
    for line in [
        "ringd_health{daemon=\"eth0\",health=\"degraded\"} 1",
        "ringd_troubles{daemon=\"eth0\"} 1",
        "ringd_board_state{daemon=\"eth0\",state=\"MEMBER\"} 1",
        "ringd_board_state{daemon=\"eth0\",state=\"JOINING\"} 0",
        "ringd_board_members{daemon=\"eth0\"} 2",
        "ringd_board_token_held{daemon=\"eth0\"} 1",
        "ringd_board_database{daemon=\"eth0\",state=\"slow\"} 1",
        "ringd_board_requests_waiting{daemon=\"eth0\"} 3",
        "ringd_events_total{daemon=\"eth0\",event=\"received.TOKEN\"} 5",
        "ringd_events_total{daemon=\"eth0\",event=\"posts\"} 2",
    ] {
        assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
    }
}

fn a_node_of_an_unknown_system_has_the_common_metrics_and_its_counters() {
    let status = json!({"system": "a\"b\\c\n", "health": "healthy", "counters": {"x": 1}});
    let (_fake, mut running, _client) = answer_status(&status);
    let text = finished(&mut running);
    assert!(text.contains(r#"system="a\"b\\c\n",version="""#), "{text}");
    assert!(
        text.contains("ringd_events_total{daemon=\"eth0\",event=\"x\"} 1\n"),
        "{text}"
    );
}

fn a_daemon_that_never_ends_its_answer_has_a_limited_time() {
    let fake = FakeDaemon::new();
    let mut running = start(&fake, &["metrics"]);
    let client = fake.next_client();
    let mut stream = client.stream();
    // This daemon sends blanks until `ringctl` closes the connection.
    let sending = thread::spawn(move || while stream.write_all(b" ").is_ok() {});
    assert_eq!(
        running.rest().lines().nth(2),
        Some("ringd_up{daemon=\"eth0\"} 0")
    );
    let (status, errors) = running.end();
    assert!(
        status.success() && errors.contains("is stopped, or hangs"),
        "{errors}"
    );
    sending.join().expect("the connection is closed");
}

fn a_daemon_that_refuses_the_client_counts_as_down() {
    let fake = FakeDaemon::new();
    let mut running = start(&fake, &["metrics"]);
    let mut client = fake.next_client();
    client.send(&json!({"error": "too many clients"}));
    assert_eq!(
        running.rest().lines().nth(2),
        Some("ringd_up{daemon=\"eth0\"} 0")
    );
    let (status, errors) = running.end();
    assert!(
        status.success() && errors.contains("too many clients"),
        "{errors}"
    );
}
