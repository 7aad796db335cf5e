use ring_control::NodeStatus;
use serde_json::json;

use super::super::view::View;
use super::NodeView;

fn view(change: impl FnOnce(&mut serde_json::Value)) -> NodeView {
    let entry = |address: &str, threshold: u32| {
        let penalty = json!({"threshold": threshold, "count": threshold});
        json!({"address": address, "port": 4711, "penalty": penalty})
    };
    let mut status = json!({
        "protocol": "jitterbug", "interface": "eth0", "address": "10.0.0.1", "udp_port": 57700, "tcp_port": 4711,
        "state": "leader", "token_id": 7, "nodes": [entry("10.0.0.1", 0), entry("10.0.0.2", 2)],
        "to_add": [{"address": "10.0.0.3", "port": 5}], "node_list_hash": -3, "data": "42", "data_hex": "3432",
        "data_len": 2, "counters": {"taken": 3, "merged": 0, "dropped": {"hash": 1, "late": 0}},
    });
    change(&mut status);
    let status: NodeStatus = serde_json::from_value(status).expect("it is JSON");
    NodeView::new(status).expect("it is a status")
}

fn page(view: &NodeView) -> String {
    let mut page = Vec::new();
    view.write_page(&mut page).expect("a vector takes all");
    String::from_utf8(page).expect("it is text")
}

#[test]
fn the_page_shows_state_list_and_counters() {
    let view = view(|_| ());
    let page = page(&view);
    for part in [
        "10.0.0.1, TCP port 4711, UDP port 57700",
        "leader: it has the token",
        "2 bytes, 42",
        "this node",
        "2 (2 skipped)",
        "To be added (1)",
        "taken",
        "dropped",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("merged") && !page.contains("late"), "{page}");
    assert_eq!(view.summary(), "leader token_id 7 nodes 2 data 42");
}

#[test]
fn the_page_shows_the_keys_of_the_nodes() {
    let signed = page(&view(|status| {
        status["trust"] = json!({"keys": [8, 7], "accepts_unsigned": true});
        status["nodes"][1]["key"] = json!(7);
    }));
    let line = "signs with 8, accepts unsigned messages, also verifies with 7";
    assert!(
        signed.contains(line) && signed.contains("key 7"),
        "{signed}"
    );
    let silent = page(&view(|status| {
        status["trust"] = json!({"keys": [8], "accepts_unsigned": false});
    }));
    assert!(silent.contains("  unsigned\n"), "{silent}");
    assert!(!page(&view(|_| ())).contains("unsigned"));
}

#[test]
fn binary_data_are_shown_in_digits_and_cut() {
    let view = view(|status| {
        status["data"] = json!(null);
        status["data_hex"] = json!("ff".repeat(256));
        status["data_len"] = json!(300);
    });
    let page = page(&view);
    assert!(page.contains("300 bytes, hexadecimal ffff"), "{page}");
    assert!(page.contains('…'), "{page}");
}

#[test]
fn the_obstacle_of_a_node_without_a_ring_is_named() {
    let orphan = view(|status| status["state"] = json!("orphan"));
    assert!(
        orphan
            .obstacle(false)
            .is_some_and(|why| why.text.contains("no ring"))
    );
    let lonely = view(|status| {
        status["state"] = json!("orphan");
        status["address"] = json!(null);
    });
    assert!(
        lonely
            .obstacle(false)
            .is_some_and(|why| why.text.contains("eth0 has no address"))
    );
    assert!(page(&lonely).contains("it waits for an address"));
}
