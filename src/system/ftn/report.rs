//! Logs the status of a server.

use ring_control::escape_control_characters;
use ring_control::ftn::Status;

use crate::system::status_lines;

pub(super) fn log(status: &Status) {
    status_lines::log(status, &state_line(status), details(status));
}

fn state_line(status: &Status) -> String {
    let Status {
        index,
        role,
        state,
        configuration,
        ..
    } = status;
    let leader = status
        .leader
        .map_or_else(|| "none".to_owned(), |leader| leader.to_string());
    let serves = if status.is_serving() {
        "serves its tokens"
    } else {
        "serves nothing"
    };
    format!(
        "server {index}, {role}, {state}, {serves}; leader {leader}, configuration {configuration}"
    )
}

fn details(status: &Status) -> Vec<String> {
    let troubles = status
        .troubles
        .iter()
        .map(|it| format!("trouble: {}", escape_control_characters(it)));
    let servers = status.servers.iter().enumerate();
    let servers: Vec<_> = servers
        .map(|(index, server)| {
            format!(
                "{index} ({}) {}",
                escape_control_characters(&server.name),
                server.state
            )
        })
        .collect();
    let counters = status
        .counters
        .iter()
        .map(|(name, count)| format!("{name} {count}"));
    let counters: Vec<_> = counters.collect();
    troubles
        .chain([
            format!("servers: {}", servers.join(", ")),
            format!(
                "{} sessions; {} tokens, {} held, {} requests wait, {} bytes",
                status.sessions.len(),
                status.tokens,
                status.held,
                status.waiting,
                status.memory_bytes
            ),
            format!("counters: {}", counters.join(", ")),
        ])
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::{details, state_line};
    use ring_control::ftn::Status;

    #[test]
    fn the_first_line_is_the_servers_state_and_the_others_are_details() {
        let status: Status = serde_json::from_value(json!({
            "ringd": "0", "up_ns": 1, "index": 1, "ssig": -7, "quorum": 2, "role": "follower",
            "servers": [{"name": "a:1", "state": "READY"}, {"name": "b:1", "state": "READY"}],
            "state": "READY", "leader": 0, "configuration": 12, "round": 3, "authority": true, "grace_ns": 0,
            "survey": null, "sessions": [{"id": 7, "address": "192.0.2.1:7"}], "tokens": 2, "held": 1,
            "waiting": 0, "memory_bytes": 600, "max_memory_bytes": 1024, "troubles": ["a trouble"],
            "counters": BTreeMap::from([("grants", 3)]),
        }))
        .unwrap();
        assert_eq!(
            state_line(&status),
            "server 1, follower, READY, serves its tokens; leader 0, configuration 12"
        );
        let expected = [
            "trouble: a trouble",
            "servers: 0 (a:1) READY, 1 (b:1) READY",
            "1 sessions; 2 tokens, 1 held, 0 requests wait, 600 bytes",
            "counters: grants 3",
        ];
        assert_eq!(details(&status), expected);
    }
}
