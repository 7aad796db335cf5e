use ring_control::NodeStatus;
use ring_control::ftn::Status;
use serde_json::{Value, json};

use super::{ServerView, size};
use crate::render::View;

fn example() -> Value {
    json!({
        "ringd": "0.1.0", "up_ns": 185_400_000_000_u64, "index": 1, "ssig": -77, "quorum": 1,
        "servers": [
            {"name": "a.example:7301", "state": "READY"},
            {"name": "b.example:7301", "state": "READY"},
            {"name": "c.example:7301", "state": "DOWN"},
        ],
        "role": "follower", "state": "READY", "leader": 0, "configuration": 12, "round": 1,
        "authority": true, "grace_ns": 0, "survey": null,
        "sessions": [{"id": 1_048_577, "address": "192.0.2.9:40000"}],
        "tokens": 3, "held": 2, "waiting": 1, "memory_bytes": 1_258_291, "max_memory_bytes": 268_435_456,
        "health": "degraded",
        "troubles": ["both sides of a split may grant the same token"],
        "counters": {"grants": 7, "received.STATE": 40},
    })
}

fn view(status: &Value) -> ServerView {
    let status: Status = serde_json::from_value(status.clone()).unwrap();
    ServerView::new(NodeStatus::from(&status)).unwrap()
}

fn page(status: &Value) -> String {
    let mut out = Vec::new();
    view(status).write_page(&mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    let lines: Vec<_> = page.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[test]
fn the_page_shows_servers_leader_tokens_and_troubles() {
    let expected = "\
Daemon       ringd 0.1.0, up 3m 5s
Server       1 of the list with signature -77
Health       degraded
Role         follower, with authority, configuration 12
State        READY, serves its tokens
Quorum       1 of 3
Tokens       3, 2 held; requests waiting: 1
Memory       1.1 MiB of 256 MiB

Servers (3)
  N  SERVER          STATE
  0  a.example:7301  READY  leader
  1  b.example:7301  READY  this server
  2  c.example:7301  DOWN
  Warning: both sides of a split may grant the same token

Sessions (1)
  1048577     192.0.2.9:40000

Counters (those that are not 0)
                grants                             7
                received.STATE                    40
";
    assert_eq!(page(&example()), expected);
    let line = "follower READY leader 0 configuration 12 sessions 1 tokens 3";
    assert_eq!(view(&example()).summary(), line);
}

#[test]
fn the_page_shows_what_a_server_without_tokens_waits_for() {
    for (key, value) in [("state", json!("BOOTING")), ("authority", json!(false))] {
        let mut status = example();
        status[key] = value;
        assert!(page(&status).contains("serves no tokens"), "{key}");
    }
    let mut status = example();
    status["state"] = json!("BOOTING");
    status["grace_ns"] = json!(2_000_000_000);
    status["survey"] = json!([1_048_577]);
    let page = page(&status);
    assert!(
        page.contains("Grace        no token is granted for another 2s"),
        "{page}"
    );
    assert!(
        page.contains(
            "Survey       asks clients for the tokens that they hold: 1 clients have not answered"
        ),
        "{page}"
    );
}

#[test]
fn control_characters_are_escaped_and_a_long_list_is_cut() {
    let mut status = example();
    status["servers"][0]["name"] = json!("a\u{1b}[2J:1");
    let sessions = (0..140).map(|id| json!({"id": id, "address": "192.0.2.9:1"}));
    status["sessions"] = sessions.collect();
    let page = page(&status);
    assert!(!page.contains('\u{1b}'), "{page}");
    assert!(
        page.contains("Sessions (140)") && page.contains("and 40 more: ringctl"),
        "{page}"
    );
}

#[test]
fn the_page_shows_the_sources_of_options() {
    let mut status = example();
    assert!(!page(&status).contains("Options"));
    status["config"] = json!({"file": "/etc/ringd/ringd.toml", "options": {
        "grace": {"value": "0s", "source": "file", "line": 4},
        "max-clients": {"value": "9", "source": "default"},
    }});
    let expected =
        "\nOptions (those that are not the default)\n  grace 0s (/etc/ringd/ringd.toml, line 4)\n";
    let page = page(&status);
    assert!(page.contains(expected), "{page}");
    assert!(!page.contains("max-clients"), "{page}");
}

#[test]
fn a_server_with_keys_shows_the_keys_of_servers_and_clients() {
    let mut status = example();
    assert!(!page(&status).contains("Keys"));
    status["trust"] = json!({"keys": [20_261_130, 7], "accepts_unsigned": false});
    status["servers"][0]["key"] = json!(7);
    status["servers"][2]["key"] = json!(20_261_130);
    status["sessions"][0]["key"] = json!(4_000_000_000_u32);
    let page = page(&status);
    for line in [
        "Keys         signs with 20261130, drops unsigned datagrams, also verifies with 7\n",
        "a.example:7301  READY  leader, key 7\n",
        "c.example:7301  DOWN   key 20261130\n",
        "192.0.2.9:40000, key 4000000000\n",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
}

#[test]
fn sizes_have_the_largest_unit_that_fits() {
    let shown = [0, 1023, 1024, 1536, 1 << 20, 3 << 30].map(size);
    assert_eq!(
        shown,
        ["0 B", "1023 B", "1 KiB", "1.5 KiB", "1 MiB", "3 GiB"]
    );
}
