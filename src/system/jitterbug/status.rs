//! Creates the status from the state machine.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use ring_codec::jitterbug::Node;
use ring_control::jitterbug::{CountersStatus, EntryStatus, NodeEntry, Penalty, SYSTEM, Status};
use ring_control::{ConfigStatus, Finding, Verdict};
use ring_host::trust::{key_ids, trust_status, unproven_counts};
use ring_process::sandbox::missing_limits;
use ring_proto::jitterbug::{Jitterbug, NodeStatus, Reason};
use ring_runtime::driver::{DatagramAddressing, Signer};
use ring_text::hex;

/// Maximum number of bytes of data in a status.
const SHOWN_DATA_MAX: usize = 256;

/// Returns the node's view of itself and of its ring, and its problems. `cut` is the number of datagrams that the link
/// has truncated, and `tcp_port` is the port at which it listens.
pub(super) fn status(
    interface: &str,
    machine: &Jitterbug,
    (cut, tcp_port): (u64, Option<u16>),
    signer: Option<&Signer<DatagramAddressing>>,
    findings: Vec<Finding>,
) -> Status {
    let snapshot = machine.snapshot();
    let data = machine.data();
    let (text, digits) = preview(data);
    let Verdict { health, troubles } = Verdict::from_findings(findings);
    let keys = key_ids(signer);
    let key_of = |node: &Node| {
        keys.get(&SocketAddr::new(node.ip, snapshot.udp_port))
            .copied()
    };
    Status {
        protocol: SYSTEM.to_owned(),
        interface: interface.to_owned(),
        address: snapshot.address.map(|address| address.to_string()),
        udp_port: snapshot.udp_port,
        tcp_port: snapshot.tcp_port.or(tcp_port),
        state: snapshot.state.name().to_owned(),
        token_id: snapshot.token_id,
        nodes: snapshot
            .nodes
            .iter()
            .map(|it| list_entry(it, key_of(&it.node)))
            .collect(),
        to_add: snapshot.to_add.iter().map(node).collect(),
        node_list_hash: snapshot.node_list_hash,
        lease_ms: u64::try_from(machine.lease().as_millis()).unwrap_or(u64::MAX),
        trust: trust_status(signer),
        missing_limits: missing_limits(),
        config: ConfigStatus::default(),
        health,
        troubles,
        data: text,
        data_hex: digits,
        data_len: data.len(),
        counters: counters(machine, cut, unproven_counts(signer)),
    }
}

fn list_entry(status: &NodeStatus, key: Option<u32>) -> EntryStatus {
    let NodeEntry { address, port } = node(&status.node);
    EntryStatus {
        address,
        port,
        key,
        penalty: Penalty {
            threshold: status.threshold,
            count: status.count,
        },
    }
}

fn node(node: &Node) -> NodeEntry {
    NodeEntry {
        address: node.ip.to_string(),
        port: node.port,
    }
}

/// Returns the first bytes of the data in two forms: in hexadecimal digits, and as text if all data are printable.
fn preview(data: &[u8]) -> (Option<String>, String) {
    let first = data.get(..SHOWN_DATA_MAX).unwrap_or(data);
    let is_text = data.iter().all(|byte| matches!(byte, b' '..=b'~'));
    let text = is_text.then(|| String::from_utf8_lossy(first).into_owned());
    (text, hex::encode(first))
}

fn counters(machine: &Jitterbug, cut: u64, unproven: BTreeMap<String, u64>) -> CountersStatus {
    let counters = machine.counters();
    let plain = counters
        .plain()
        .map(|(name, count)| (name.to_owned(), count));
    let dropped = Reason::ALL.map(|reason| {
        // A datagram that is longer than the link's buffers has bytes after its message.
        let more = if reason == Reason::Trailing { cut } else { 0 };
        (reason.key().to_owned(), counters.drop_count(reason) + more)
    });
    CountersStatus {
        plain: plain.collect(),
        dropped: BTreeMap::from(dropped),
        unproven,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ring_proto::jitterbug::{Jitterbug, Options};
    use serde_json::Value;

    use super::{preview, status};
    use ring_control::NodeStatus;

    #[test]
    fn data_is_shown_as_text_if_all_of_it_is_printable() {
        assert_eq!(preview(b""), (Some(String::new()), String::new()));
        assert_eq!(
            preview(b"12 "),
            (Some("12 ".to_owned()), "313220".to_owned())
        );
        for other in [&b"1\n"[..], b"\xc3\xa9", b"\x7f"] {
            assert_eq!(preview(other).0, None, "{other:?}");
        }
        let mut long = [b'1'; 1000];
        let (text, digits) = preview(&long);
        assert_eq!((text, digits), (Some("1".repeat(256)), "31".repeat(256)));
        long[999] = b'\n';
        assert_eq!(preview(&long).0, None);
    }

    #[test]
    fn a_status_has_the_keys_of_its_page_and_no_others() {
        let machine = Jitterbug::new(Options::default(), 1).unwrap();
        let status = NodeStatus::from(&status("eth0", &machine, (3, None), None, Vec::new()));
        let json: Value = status.json().decode().unwrap();
        let names = |of: &Value| {
            let keys = of.as_object().unwrap().keys().cloned();
            keys.collect::<BTreeSet<_>>()
        };
        let sorted = |words: &str| words.split_whitespace().map(str::to_owned).collect();
        let expected = "protocol interface address udp_port tcp_port state token_id nodes to_add node_list_hash \
            lease_ms trust missing_limits config health troubles data data_hex data_len counters";
        assert_eq!(names(&json), sorted(expected));
        let expected = "tr1_sent tr1_received tr2_sent tr2_received restores restores_won taken merged absorbed \
            passes_done passes_failed passes_unknown passes_aborted announcements stalls computes compute_failures \
            decisions decide_failures nodes_refused dropped unproven";
        assert_eq!(names(&json["counters"]), sorted(expected));
        assert_eq!(json["protocol"], "jitterbug");
        assert_eq!(json["counters"]["dropped"]["trailing"], 3);
        assert_eq!(names(&json["counters"]["dropped"]).len(), 21);
    }
}
