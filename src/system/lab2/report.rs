//! Logs the status of a node.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use ring_codec::lab2::Token;
use ring_control::escape_control_characters;
use ring_control::lab2::{ClientStatus, Counters, MemberStatus, Status};

use crate::system::lab2::observe::KnownToken;
use crate::system::status_lines;

/// Maximum number of members in the list of members, and of clients in the list of clients.
const NAMES_MAX: usize = 32;
const NAMES_PER_LINE: usize = 4;

/// Logs the ring's status from the view of this node. `token` is the strongest token that the node knows.
pub(super) fn log(status: &Status, token: Option<Token>) {
    status_lines::log(status, &node(status, token), details(status));
}

fn node(status: &Status, token: Option<Token>) -> String {
    let Status {
        interface,
        mac,
        link,
        ..
    } = status;
    let link = if link == "up" { "is up" } else { link };
    let standing = status.state_text();
    let owner = status.owner.as_deref().unwrap_or("unknown");
    let heard = status.heard_about_token_ns.map(span);
    let heard = heard.map_or_else(String::new, |span| format!(", heard of {span} ago"));
    format!(
        "{interface} {link}, MAC {mac}; {standing}; owner {owner}, {}{heard}",
        KnownToken(token)
    )
}

fn details(status: &Status) -> Vec<String> {
    let mut lines = Vec::new();
    list(&mut lines, "trouble: ", &status.troubles, |it| {
        escape_control_characters(it)
    });
    list(&mut lines, "members: ", &status.members, member);
    list(&mut lines, "clients: ", &status.clients, client);
    lines.push(counters(&status.counters));
    lines
}

fn list<T>(lines: &mut Vec<String>, what: &str, all: &[T], text: fn(&T) -> String) {
    for some in all[..all.len().min(NAMES_MAX)].chunks(NAMES_PER_LINE) {
        let some: Vec<_> = some.iter().map(text).collect();
        lines.push(format!("{what}{}", some.join(", ")));
    }
    if all.len() > NAMES_MAX {
        let more = all.len() - NAMES_MAX;
        lines.push(format!("{what}{more} more, which ringctl status shows"));
    }
}

fn member(member: &MemberStatus) -> String {
    let mut text = member.mac.clone();
    // Writing to a String cannot fail.
    let _ = match &member.ip {
        Some(ip) => write!(text, " ({ip})"),
        None => Ok(()),
    };
    let _ = match member.last_seen_ns {
        Some(0) => write!(text, " now"),
        Some(ns) => write!(text, " {} ago", span(ns)),
        None => write!(text, " never heard"),
    };
    if !matches!(member.state.as_str(), "" | "alive") {
        text = format!("{text} {}", member.state);
    }
    if let Some(differs) = &member.differs {
        text = format!("{text}, {}", escape_control_characters(differs));
    }
    text
}

fn client(client: &ClientStatus) -> String {
    let ClientStatus { label, pid, .. } = client;
    let pid = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
    let does = if client.holds {
        "has held the token"
    } else {
        "has waited"
    };
    format!("'{label}'{pid} {does} for {}", span(client.since_ns))
}

fn counters(counters: &Counters) -> String {
    let sum = |map: &BTreeMap<String, u64>| map.values().sum::<u64>();
    format!(
        "frames: {} received, {} dropped, {} sent, {} not sent; handovers: {}, {} failed; late wake-ups: {}",
        sum(&counters.received),
        sum(&counters.dropped),
        sum(&counters.sent),
        sum(&counters.send_failed),
        counters.hand_overs,
        counters.hand_overs_failed,
        counters.late_wake_ups
    )
}

fn span(ns: u64) -> String {
    format!("{:.1?}", Duration::from_nanos(ns))
}

#[cfg(test)]
mod tests {
    use ring_codec::MacAddr;
    use ring_codec::lab2::Token;
    use serde_json::{Value, json};

    use super::{client, list, member, node};

    fn parse<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_first_line_is_the_node_and_its_token() {
        let status = parse(json!({
            "interface": "eth0", "mac": "02:00:00:00:00:01", "link": "up", "state": "WAITER",
            "token": null, "grade": "alone", "paused": true, "deaf": true, "unfit": true, "apart": true,
            "stored": false, "owner": "02:00:00:00:00:02",
            "heard_about_token_ns": 60_000_000,
            "members": [{"mac": "02:00:00:00:00:02", "ip": null, "penalty": 0, "last_seen_ns": null}],
            "ring_hash": "00",
            "constants": {
                "heartbeat_ns": 1, "waiter_timeout_ns": 1, "looser_timeout_ns": 1,
                "looser_answer_timeout_ns": 1, "take_timeout_ns": 1, "take_attempts": 3,
                "idle_hold_ns": 1, "ethertype": "0x88b5", "max_members": 4096
            },
            "counters": {
                "received": {}, "sent": {}, "send_failed": {}, "dropped": {}, "state_changes": {},
                "state_change_reasons": {}, "hand_overs": 0, "hand_overs_failed": 0,
                "hand_over_latency": {
                    "min_ns": 0, "p50_ns": 0, "p90_ns": 0, "p99_ns": 0, "max_ns": 0
                },
                "table_full": 0, "late_wake_ups": 0
            }
        }));
        let token = Token {
            progress: 17,
            author: MacAddr([2, 0, 0, 0, 0, 1]),
            number: 3,
        };
        let text = node(&status, Some(token));
        let begin = [
            "eth0 is up, MAC 02:00:00:00:00:01; WAITER",
            "paused: does not own the token",
            "no member takes the token from it: must not own the token",
            "its times differ too much from the ring's: must not own the token",
            "hears no other member",
            "cannot write its state file: must not own the token; owner 02:00:00:00:00:02",
            "token 17",
        ];
        assert!(text.starts_with(&begin.join(", ")), "{text}");
        assert!(text.ends_with(", heard of 60.0ms ago"), "{text}");
    }

    #[test]
    fn members_and_clients_are_named_with_their_times() {
        let seen = json!({"mac": "02:00:00:00:00:02", "ip": "10.0.0.2", "penalty": 0, "last_seen_ns": 2_000_000});
        assert_eq!(
            member(&parse(seen)),
            "02:00:00:00:00:02 (10.0.0.2) 2.0ms ago"
        );
        let unseen = json!({
            "mac": "02:00:00:00:00:03", "ip": null, "penalty": 0, "state": "paused", "last_seen_ns": null
        });
        assert_eq!(
            member(&parse(unseen)),
            "02:00:00:00:00:03 never heard paused"
        );
        let other = json!({
            "mac": "02:00:00:00:00:04", "ip": null, "penalty": 0, "state": "silent",
            "last_seen_ns": 2_000_000, "differs": "expects 5 members"
        });
        assert_eq!(
            member(&parse(other)),
            "02:00:00:00:00:04 2.0ms ago silent, expects 5 members"
        );
        let holder =
            json!({"label": "backup", "pid": 7, "holds": true, "since_ns": 3_000_000_000_u64});
        assert_eq!(
            client(&parse(holder)),
            "'backup' (process 7) has held the token for 3.0s"
        );
    }

    #[test]
    fn a_long_list_is_truncated_and_counted() {
        let mut lines = Vec::new();
        let all: Vec<usize> = (0..40).collect();
        list(&mut lines, "", &all, ToString::to_string);
        assert_eq!(lines.len(), 9, "{lines:?}");
        assert_eq!(lines[0], "0, 1, 2, 3");
        assert_eq!(lines[8], "8 more, which ringctl status shows");
    }
}
