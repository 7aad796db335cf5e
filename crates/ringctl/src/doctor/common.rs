//! Findings from the status of a node of any system: its troubles and its keys.

use ring_control::{Health, NodeStatus, Verdict};

use super::finding::{Finding, Severity};
use super::kinds::{
    CLIENT_UNSIGNED, KEY_UNKNOWN, KEYS_DIFFER, MEMBER_UNSIGNED, TROUBLE, UNSIGNED_ACCEPTED,
};
use crate::signers::{Sender, Signers};

/// Returns the findings about a node, from the facts that nodes of all systems report. Systems other than the ring have
/// no further findings.
pub(super) fn check(status: &NodeStatus) -> Vec<Finding> {
    let Verdict { health, troubles } = status.verdict();
    let mut findings = check_troubles(health, &troubles);
    findings.extend(Signers::of(status).iter().flat_map(check_keys));
    findings
}

pub(super) fn check_troubles(health: Health, troubles: &[String]) -> Vec<Finding> {
    let troubles = troubles.iter().enumerate();
    let findings = troubles.map(|(place, trouble)| {
        Finding::new(&TROUBLE, trouble).with_severity(trouble_severity(health, place))
    });
    findings.collect()
}

/// Returns the severity of a trouble. `place` is its place in the list of troubles. The first trouble is the worst, so
/// only this trouble certainly has the health of the node.
pub(super) fn trouble_severity(health: Health, place: usize) -> Severity {
    if health == Health::Critical && place == 0 {
        Severity::Error
    } else {
        Severity::Warning
    }
}

/// Compares the keys of the senders with the keys of this node.
pub(super) fn check_keys(signers: &Signers) -> Vec<Finding> {
    let [own, ..] = signers.trust.keys[..] else {
        return Vec::new();
    };
    let others: Vec<String> = signers
        .nodes
        .iter()
        .filter_map(|node| Some((&node.name, node.key.filter(|key| *key != own)?)))
        .map(|(name, key)| format!("{name}: key {key}"))
        .collect();
    let mut findings = Vec::new();
    findings.extend(unsigned(&signers.nodes).map(|names| {
        Finding::new(
            &MEMBER_UNSIGNED,
            "other nodes do not sign their messages with a key of this node",
        )
        .with_evidence(names)
        .with_remedy(
            "copy the key file of this node to these machines; reload their daemons, but restart ring-board",
        )
    }));
    findings.extend(unsigned(&signers.clients).map(|names| {
        Finding::new(
            &CLIENT_UNSIGNED,
            "clients do not sign their messages with a key of this server or with a client key",
        )
        .with_evidence(names)
        .with_remedy("give these clients a key file: ringctl token --key-file")
    }));
    if !others.is_empty() {
        findings.push(
            Finding::new(
                &KEYS_DIFFER,
                format!("other nodes sign with another key than this node, which signs with {own}"),
            )
            .with_evidence(others.join("; "))
            .with_remedy(
                "finish the replacement of the key: install the same key file on all machines",
            ),
        );
    }
    if !signers.undecided.is_empty() {
        findings.push(
            Finding::new(
                &KEY_UNKNOWN,
                "connections to other nodes are not encrypted, because they began before this node had keys",
            )
            .with_evidence(signers.undecided.join(", "))
            .with_remedy(
                "examine these nodes too: ringctl doctor board-ID; when all nodes have the key, remove accept-unsigned \
                 on all machines, and reload the daemons",
            ),
        );
    }
    if signers.trust.accepts_unsigned {
        findings.push(
            Finding::new(
                &UNSIGNED_ACCEPTED,
                "this node accepts messages without a valid signature, so its keys do not protect it",
            )
            .with_remedy(
                "when all others sign, remove accept-unsigned on all machines, and reload the daemons",
            ),
        );
    }
    findings
}

/// Returns a text with the names of the senders that have no valid signature. Returns `None` if there is no such
/// sender.
fn unsigned(senders: &[Sender]) -> Option<String> {
    let senders = senders.iter().filter(|sender| sender.key.is_none());
    let names: Vec<&str> = senders.map(|sender| sender.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use ring_control::NodeStatus;
    use serde_json::{Value, json};

    use super::super::finding::{Finding, Kind, Severity};
    use super::super::kinds::{
        CLIENT_UNSIGNED, KEY_UNKNOWN, KEYS_DIFFER, MEMBER_UNSIGNED, TROUBLE, UNSIGNED_ACCEPTED,
    };
    use super::check;

    fn found(status: Value) -> Vec<Finding> {
        check(&serde_json::from_value::<NodeStatus>(status).expect("it is JSON"))
    }

    fn server(servers: &Value, sessions: &Value, accepts_unsigned: bool) -> Value {
        json!({
            "system": "ftn", "ringd": "0.1.0", "up_ns": 1, "index": 0, "ssig": 1, "quorum": 2, "servers": servers,
            "role": "leader", "state": "READY", "leader": 0, "configuration": 1, "round": 1, "authority": true,
            "grace_ns": 0, "survey": null, "sessions": sessions, "tokens": 0, "held": 0, "waiting": 0,
            "memory_bytes": 0, "max_memory_bytes": 1, "counters": {}, "health": "healthy", "troubles": [],
            "trust": {"keys": [7, 8], "accepts_unsigned": accepts_unsigned},
        })
    }

    #[test]
    fn servers_and_clients_without_a_key_or_with_another_key_are_found() {
        let server_of =
            |name: &str, key: Option<u32>| json!({"name": name, "state": "READY", "key": key});
        let client = |id: u32, key: Option<u32>| json!({"id": id, "address": format!("192.0.2.{id}:1"), "key": key});
        let servers = json!([
            server_of("a", None),
            server_of("b", None),
            server_of("c", Some(8))
        ]);
        let sessions = json!([client(4, None), client(5, Some(99))]);
        let found_here = found(server(&servers, &sessions, true));
        let expected: [(&Kind, &str); 4] = [
            (&MEMBER_UNSIGNED, "seen: b\n"),
            (&CLIENT_UNSIGNED, "seen: 192.0.2.4:1\n"),
            (&KEYS_DIFFER, "seen: c: key 8\n"),
            (&UNSIGNED_ACCEPTED, "accept-unsigned"),
        ];
        assert_eq!(found_here.len(), expected.len(), "{found_here:?}");
        for (finding, (kind, words)) in found_here.iter().zip(expected) {
            assert!(finding.is(kind), "{finding:?}");
            assert!(finding.page().contains(words), "{}", finding.page());
        }
        let servers = json!([server_of("a", None), server_of("b", Some(7))]);
        // A new leader has inherited the session of the client without a key.
        let sessions = json!([client(4, None), client(5, Some(99))]);
        assert_eq!(found(server(&servers, &sessions, false)), []);
        let mut follower = server(&servers, &sessions, true);
        follower["leader"] = json!(1);
        let found_here = found(follower);
        let is_client = |finding: &Finding| finding.is(&CLIENT_UNSIGNED);
        assert!(!found_here.iter().any(is_client), "{found_here:?}");
    }

    #[test]
    fn nodes_of_jitterbug_and_of_the_board_are_examined() {
        let node = |address: &str, key: Option<u32>| {
            let penalty = json!({"threshold": 0, "count": 0});
            json!({"address": address, "port": 1, "key": key, "penalty": penalty})
        };
        let jitterbug = found(json!({
            "protocol": "jitterbug", "interface": "eth0", "address": "10.0.0.1", "udp_port": 1, "tcp_port": 1,
            "state": "leader", "token_id": 7, "to_add": [], "node_list_hash": 1, "data": "", "data_hex": "",
            "data_len": 0, "counters": {"dropped": {}}, "health": "healthy", "troubles": [],
            "trust": {"keys": [7, 8], "accepts_unsigned": true},
            "nodes": [node("10.0.0.1", None), node("10.0.0.2", Some(8)), node("10.0.0.3", None)],
        }));
        let [unsigned, other, _] = &jitterbug[..] else {
            panic!("{jitterbug:?}");
        };
        assert!(unsigned.page().contains("seen: 10.0.0.3\n"), "{unsigned:?}");
        assert!(other.page().contains("10.0.0.2: key 8"), "{other:?}");
        let neighbor = |node: u32, before_keys: bool| {
            json!({"node": node, "role": "successor", "key": null,
            "before_keys": before_keys})
        };
        let mixed = found(json!({
            "system": "board", "id": 1, "node_keys": {}, "trust": {"keys": [7], "accepts_unsigned": true},
            "health": "healthy", "troubles": [], "neighbors": [neighbor(2, true), neighbor(3, false)],
        }));
        let expected: [(&Kind, &str); 3] = [
            (&MEMBER_UNSIGNED, "seen: node 3\n"),
            (&KEY_UNKNOWN, "seen: node 2\n"),
            (&UNSIGNED_ACCEPTED, "accept-unsigned"),
        ];
        assert_eq!(mixed.len(), expected.len(), "{mixed:?}");
        for (finding, (kind, words)) in mixed.iter().zip(expected) {
            assert!(
                finding.is(kind) && finding.page().contains(words),
                "{finding:?}"
            );
        }
        let board = found(json!({
            "system": "board", "id": 1, "node_keys": {"2": 8}, "trust": {"keys": [7, 8], "accepts_unsigned": false},
            "health": "critical", "troubles": ["no database", "a clock"],
        }));
        let severities: Vec<_> = board.iter().map(Finding::severity).collect();
        assert_eq!(
            severities,
            [Severity::Error, Severity::Warning, Severity::Note]
        );
        assert!(
            board[0].is(&TROUBLE) && board[2].is(&KEYS_DIFFER),
            "{board:?}"
        );
        assert!(board[2].page().contains("node 2: key 8"), "{board:?}");
    }
}
