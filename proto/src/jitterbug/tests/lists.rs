//! Lists (`docs/jitterbug/protocol/lists.md`).

use super::prelude::*;

fn nodes(rig: &Rig) -> Vec<Node> {
    rig.machine
        .snapshot()
        .nodes
        .iter()
        .map(|it| it.node)
        .collect()
}

fn moved_node(number: u8) -> Node {
    Node {
        port: 9999,
        ..node(number)
    }
}

#[test]
fn the_first_list_has_only_this_node_without_penalty_and_there_is_no_data() {
    let rig = Rig::orphan();
    assert_eq!(nodes(&rig), [node(1)]);
    let snapshot = rig.machine.snapshot();
    assert_eq!(snapshot.node_list_hash, hash(&[node(1)]));
    assert_eq!(
        (snapshot.nodes[0].threshold, snapshot.nodes[0].count),
        (0, 0)
    );
    assert_eq!((snapshot.to_add, rig.machine.data()), (vec![], &b""[..]));
}

#[test]
fn a_taken_list_is_the_received_one_then_the_old_one_then_this_node() {
    let mut rig = Rig::waiter(5);
    rig.receive_token(2, 9, &[3, 2].map(node), b"1");
    assert_eq!(nodes(&rig), [3, 2, 1].map(node));
    rig.pass();
    rig.receive_token(2, 9, &[5, 4, 2].map(node), b"1");
    assert_eq!(nodes(&rig), [5, 4, 2, 3, 1].map(node));
}

#[test]
fn a_taken_list_keeps_this_nodes_entry_and_corrects_its_port() {
    let mut rig = Rig::waiter(5);
    rig.receive_token(2, 9, &[node(2), moved_node(1), node(3)], b"1");
    assert_eq!(nodes(&rig), [2, 1, 3].map(node));
}

#[test]
fn taken_the_received_ports_count() {
    let mut rig = Rig::waiter(5);
    rig.receive_token(2, 9, &[2, 3].map(node), b"1");
    rig.pass();
    rig.receive_token(2, 9, &[node(1), moved_node(3), node(2)], b"1");
    assert_eq!(nodes(&rig), [node(1), moved_node(3), node(2)]);
}

#[test]
fn a_merge_appends_missing_nodes() {
    let mut rig = Rig::leader(5);
    rig.receive_token(2, 4, &[moved_node(1), node(3), node(2)], b"1");
    assert_eq!(nodes(&rig), [1, 3, 2].map(node));
}

#[test]
fn an_absorbed_list_adds_missing_nodes_to_to_add() {
    let (mut rig, stream) = Rig::giver();
    rig.acknowledge(stream);
    rig.receive_token(3, 4, &[moved_node(2), node(4), node(3)], b"");
    assert_eq!(nodes(&rig), [1, 2].map(node));
    assert_eq!(rig.machine.snapshot().to_add, [4, 3].map(node));
}

#[test]
fn only_a_leader_changes_its_list() {
    let mut rig = Rig::waiter(5);
    rig.receive_tr1(2, -1);
    rig.run(ms(2100));
    assert_eq!(rig.state(), State::Orphan);
    assert_eq!(nodes(&rig), [node(1)]);
}

#[test]
fn a_new_port_replaces_the_old_one_in_place() {
    let mut rig = Rig::leader_of(3);
    let stream = rig.refuse_until(3);
    rig.acknowledge(stream);
    rig.receive_datagram(2, &tr1(-1, 9999));
    rig.receive_token(3, 9, &[1, 2, 3].map(node), b"1");
    rig.next_candidate();
    assert_eq!(nodes(&rig), [node(1), moved_node(2), node(3)]);
}

#[test]
fn the_lists_have_at_most_max_nodes_addresses_and_more_are_counted() {
    let mut rig = Rig::leader_with(room_for(3), 5);
    for number in 2..=5 {
        rig.receive_tr1(number, -1);
    }
    assert_eq!(rig.machine.snapshot().to_add, [2, 3].map(node));
    assert_eq!(rig.machine.counters().nodes_refused, 2);
    assert!(
        rig.take_events()
            .contains(&Event::NodeRefused { node: node(5) })
    );
    rig.next_candidate();
    rig.receive_tr1(6, -1);
    assert_eq!(rig.machine.counters().nodes_refused, 3);
}

#[test]
fn a_list_that_is_full_still_learns_new_ports() {
    let mut rig = Rig::leader_with(room_for(2), 5);
    rig.add_node(2);
    let (stream, _) = rig.next_candidate();
    rig.receive_datagram(2, &tr1(-1, 9999));
    assert_eq!(rig.machine.counters().nodes_refused, 0);
    rig.close_by_kernel(stream, CloseReason::Refused);
    rig.run(ms(5000));
    assert_eq!(nodes(&rig), [node(1), moved_node(2)]);
}

#[test]
fn a_full_received_list_displaces_entries_of_to_add() {
    let mut rig = Rig::waiter_with(room_for(3));
    rig.receive_tr1(4, -1);
    rig.receive_tr1(5, -1);
    rig.receive_token(2, 9, &[2, 1].map(node), b"1");
    assert_eq!(nodes(&rig), [2, 1].map(node));
    assert_eq!(rig.machine.snapshot().to_add, [node(4)]);
    assert_eq!(rig.machine.counters().nodes_refused, 1);
}

#[test]
fn a_received_list_as_long_as_allowed_leaves_no_room_for_more() {
    let mut rig = Rig::waiter_with(room_for(2));
    rig.receive_token(2, 9, &[2, 3].map(node), b"1");
    assert_eq!(nodes(&rig), [2, 3].map(node));
    assert_eq!(rig.machine.counters().nodes_refused, 1);
    assert_eq!(
        rig.next_candidate().1,
        2,
        "without its own entry, the node begins at the front"
    );
}

#[test]
fn tp3_leaves_the_list_as_it_is() {
    let mut rig = Rig::waiter(5);
    rig.receive_token(2, 9, &[node(1)], b"1");
    assert_eq!(nodes(&rig), [node(1)]);
}
