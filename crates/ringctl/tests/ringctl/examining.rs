//! `ringctl doctor` with a fake daemon, whose answers the test chooses. The interface of this daemon does not exist, so
//! there are no findings about this machine.

use serde_json::{Value, json};

use crate::fake::FakeDaemon;
use crate::program::{Running, ringctl};

tests! {
    a_ring_without_problems_has_exit_code_0_and_shows_its_measurement,
    a_problem_has_exit_code_1_and_its_text_has_names,
    a_daemon_that_cannot_measure_is_a_finding,
    a_node_without_other_members_measures_nothing,
    a_node_of_another_system_is_examined_without_a_measurement,
}

const MACS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];

fn status(members: &[&str]) -> Value {
    let member = |mac: &&str| {
        let name = if *mac == MACS[0] { "north" } else { "south" };
        json!({"mac": mac, "name": name, "ip": null, "state": "alive", "penalty": 0, "last_seen_ns": 1,
            "version": "0.1.0"})
    };
    let members: Vec<_> = members.iter().map(member).collect();
    json!({"status": {
        "ringd": "0.1.0", "interface": "none0", "mac": MACS[0], "link": "up", "state": "OWNER", "token": null,
        "owner": MACS[0], "heard_about_token_ns": 1, "members": members, "ring_hash": "0", "health": "healthy",
        "constants": {"heartbeat_ns": 100_000_000, "waiter_timeout_ns": 400_000_000, "looser_timeout_ns": 200_000_000,
            "looser_answer_timeout_ns": 100_000_000, "take_timeout_ns": 5_000_000, "take_attempts": 3,
            "idle_hold_ns": 100_000_000, "ethertype": "0x88b5", "max_members": 4096},
        "counters": {"received": {}, "sent": {}, "send_failed": {}, "dropped": {}, "state_changes": {},
            "state_change_reasons": {}, "hand_overs": 0, "hand_overs_failed": 0,
            "hand_over_latency": {"min_ns": 0, "p50_ns": 0, "p90_ns": 0, "p99_ns": 0, "max_ns": 0},
            "table_full": 0, "late_wake_ups": 0},
    }})
}

/// Returns a survey in which `arrived` of 30 frames arrived from the first member to the second member.
fn survey(arrived: u8) -> Value {
    let member = |mac: &str| {
        json!({"mac": mac, "ip": null, "presence": "alive", "version": "0.1.0",
            "report": {"up_ns": 1_000_000_000, "state": "WAITER", "grade": "alone", "health": "healthy",
                "trouble_count": 0, "troubles": [], "holder": null, "lateness_ns": 0, "answer_ns": 100_000,
                "clock_offset_ns": 0, "clock_error_ns": 50_000},
            "measured": {"lateness_ns": 12_000_000, "large_len": 1514}})
    };
    let pair = |from: &str, to: &str, arrived: u8| {
        json!({"from": from, "to": to,
            "sender": {"sent": 30, "answered": 30, "large_sent": 10, "large_answered": 10, "broadcasts_sent": 0,
                "round_trip": {"min_ns": 100_000, "mean_ns": 200_000, "max_ns": 300_000, "jitter_ns": 10_000}},
            "receiver": {"arrived": arrived, "large_arrived": arrived.min(10), "broadcasts_arrived": 0}})
    };
    json!({"survey": {"surveyor": MACS[0], "took_ns": 2_000_000_000, "members": MACS.map(member),
        "pairs": [pair(MACS[0], MACS[1], arrived), pair(MACS[1], MACS[0], 30)]}})
}

/// Runs `ringctl doctor`. Returns the exit code and the output.
fn doctor(arguments: &[&str], members: &[&str], answer: Option<&Value>) -> (Option<i32>, String) {
    let fake = FakeDaemon::new();
    let mut doctor = Running::start(ringctl(&fake).arg("doctor").args(arguments));
    let mut client = fake.next_client();
    assert_eq!(client.request(), json!({"request": "status"}));
    client.send(&status(members));
    if let Some(answer) = answer {
        let mut client = fake.next_client();
        assert_eq!(client.request()["request"], "measure");
        client.send(answer);
    }
    let page = doctor.rest();
    (doctor.code(), page)
}

fn a_ring_without_problems_has_exit_code_0_and_shows_its_measurement() {
    let (code, page) = doctor(&[], &MACS, Some(&survey(30)));
    assert_eq!(code, Some(0), "{page}");
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "1 north 0%",
        "Shortest --heartbeat: 13 ms, because 02:00:00:00:00:02 (south) woke up 12 ms late. The ring has 100 ms.",
        "No problem found.",
    ] {
        assert!(flat.contains(words), "{words}: {page}");
    }
    let (code, page) = doctor(&["-q"], &MACS, Some(&survey(30)));
    assert_eq!((code, page.as_str()), (Some(0), ""));
}

fn a_problem_has_exit_code_1_and_its_text_has_names() {
    let (code, page) = doctor(&[], &MACS, Some(&survey(0)));
    assert_eq!(code, Some(1), "{page}");
    let words =
        "ERROR    frames of 02:00:00:00:00:01 (north) do not arrive at 02:00:00:00:00:02 (south)";
    assert!(page.contains(words), "{page}");
    let (code, page) = doctor(&["--json"], &MACS, Some(&survey(0)));
    assert_eq!(code, Some(1));
    let found: Value = serde_json::from_str(&page).expect("it is JSON");
    assert_eq!(found["findings"][0]["kind"], "one_way", "{page}");
    assert_eq!(found["findings"][0]["severity"], "error");
    assert_eq!(found["survey"]["pairs"][0]["receiver"]["arrived"], 0);
    // Two heartbeats may be lost, so twice the delay of 12.3 ms must fit into one heartbeat.
    assert_eq!(found["shortest_heartbeat"]["shortest_ns"], 25_000_000);
}

fn a_daemon_that_cannot_measure_is_a_finding() {
    let refusal = json!({"error": "unknown request"});
    let (code, page) = doctor(&["--json"], &MACS, Some(&refusal));
    assert_eq!(code, Some(1));
    let found: Value = serde_json::from_str(&page).expect("it is JSON");
    assert_eq!(found["findings"][0]["kind"], "not_measured", "{page}");
    assert_eq!(found["survey"], Value::Null);
}

fn a_node_without_other_members_measures_nothing() {
    let (code, page) = doctor(&[], &MACS[..1], None);
    assert_eq!(code, Some(1), "{page}");
    assert!(
        page.starts_with("WARNING  this node knows no other member\n"),
        "{page}"
    );
}

fn a_node_of_another_system_is_examined_without_a_measurement() {
    let examine = |status: &Value| {
        let fake = FakeDaemon::new();
        let mut doctor = Running::start(ringctl(&fake).arg("doctor"));
        let mut client = fake.next_client();
        assert_eq!(client.request(), json!({"request": "status"}));
        client.send(&json!({"status": status}));
        (doctor.code(), doctor.rest())
    };
    let mut status = json!({
        "system": "board", "id": 1, "health": "healthy", "troubles": [], "node_keys": {"2": 8},
        "trust": {"keys": [8], "accepts_unsigned": false},
    });
    assert_eq!(
        examine(&status),
        (Some(0), "No problem found.\n".to_owned())
    );
    status["trust"] = json!({"keys": [9, 8], "accepts_unsigned": true});
    status["health"] = json!("critical");
    status["troubles"] = json!(["the database is gone"]);
    let (code, page) = examine(&status);
    assert_eq!(code, Some(1), "{page}");
    for words in [
        "ERROR    the database is gone\n",
        "seen: node 2: key 8\n",
        "NOTE     this node accepts messages without a valid signature",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}
