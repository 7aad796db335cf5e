//! Rings that form and count.

use anyhow::{Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::Value;

use super::stand::{Kind, NodeStand, UDP_PORT, addresses, count, counter};
use super::wire::Datagram;

pub(super) fn tests() -> Vec<Test> {
    tests![
        two_nodes_count_in_turns,
        twelve_nodes_become_one_ring,
        twelve_nodes_on_ipv6_become_one_ring,
        a_command_decides_which_data_continue,
        a_single_node_leads_and_admits_a_later_node,
        a_node_on_ipv6_sends_from_its_own_address_even_if_there_are_others,
        a_node_waits_for_an_address_and_gets_another_entry_with_another_address,
        a_token_with_a_hold_time_of_zero_still_rotates,
    ]
}

fn all_nodes(count: usize) -> Vec<usize> {
    (0..count).collect()
}

/// Forms a ring, and judges its messages after some rounds.
fn check_ring(kind: Kind, nodes: usize) -> Result<()> {
    let stand = NodeStand::new(kind, nodes, &[])?;
    let those = all_nodes(nodes);
    stand.wait_for_ring(&those)?;
    stand.wait_for_rounds(&those)?;
    let seen = stand.judge()?;
    for &index in &those {
        let own = stand.address(index);
        ensure!(
            seen.passes.iter().any(|pass| pass.from == own),
            "{own} has not passed the token"
        );
        ensure!(
            seen.passes.iter().any(|pass| pass.to == own),
            "{own} has not received the token"
        );
    }
    Ok(())
}

fn two_nodes_count_in_turns() -> Result<()> {
    let stand = NodeStand::new(Kind::Bridge, 2, &[])?;
    stand.wait_for_ring(&[0, 1])?;
    // A single node counts too.
    let status = stand.wait_for_count(0, stand.count(0)? + 10)?;
    ensure!(addresses(&status).len() == 2, "{status:#}");
    let seen = stand.judge()?;
    let (one, other) = (stand.address(0), stand.address(1));
    let (there, back) = (seen.count_passes(one, other), seen.count_passes(other, one));
    ensure!(
        there.abs_diff(back) <= 1 && there > 1,
        "{there} passes in one direction, but {back} in the other"
    );
    // A question goes to all nodes, and an answer goes to one node. All datagrams have the common port as source and
    // destination.
    for (sent, datagram) in &seen.datagrams {
        ensure!([sent.from_port, sent.to_port] == [UDP_PORT; 2], "{sent:?}");
        let to_all: std::net::IpAddr = "10.77.0.255".parse()?;
        let is_asked_of_all = sent.to == to_all;
        ensure!(
            is_asked_of_all || [one, other].contains(&sent.to),
            "{sent:?}"
        );
        ensure!(
            !is_asked_of_all || matches!(datagram, Datagram::Tr1 { .. }),
            "{sent:?}"
        );
    }
    Ok(())
}

fn twelve_nodes_on_ipv6_become_one_ring() -> Result<()> {
    check_ring(Kind::Ipv6, 12)
}

/// If the kernel chose the source address of a datagram, it would choose the newest address. The node would then take
/// its own message for a message of another node.
fn a_node_on_ipv6_sends_from_its_own_address_even_if_there_are_others() -> Result<()> {
    let stand = NodeStand::new(Kind::Ipv6, 1, &[])?;
    stand.wait_for_count(0, 3)?;
    let node = stand.segment().node(0);
    node.ns().ip("addr add fe80::99/64 dev eth0 nodad\n")?;
    let announcements = counter(&stand.wait_for_count(0, 0)?, "announcements");
    let more = |status: &Value| counter(status, "announcements") > announcements + 1;
    let status = stand.status_when(0, more)?;
    let own = [stand.address(0).to_string()];
    ensure!(addresses(&status) == own, "{status:#}");
    ensure!(
        counter(&status, "tr1_received") == 0,
        "the node has two entries for itself: {status:#}"
    );
    Ok(())
}

fn a_command_decides_which_data_continue() -> Result<()> {
    let larger = r#"[ "$(cat "$1")" -gt "$(cat "$2")" ]"#;
    let mut stand = NodeStand::new(Kind::Bridge, 2, &[("--decide", larger)])?;
    stand.wait_for_ring(&[0, 1])?;
    for index in 0..2 {
        let decides = |status: &Value| counter(status, "decisions") > 2;
        let status = stand.node(index).wait_for_status(WAIT_LIMIT, decides)?;
        ensure!(counter(&status, "decide_failures") == 0, "{status:#}");
    }
    stand.judge().map(drop)
}

fn twelve_nodes_become_one_ring() -> Result<()> {
    check_ring(Kind::Bridge, 12)
}

fn a_single_node_leads_and_admits_a_later_node() -> Result<()> {
    let mut stand = NodeStand::without_nodes(Kind::Bridge, 2)?;
    stand.add(0, &[])?;
    stand.wait_for_count(0, 3)?;
    let lonely = stand.node(0).status()?;
    ensure!(
        lonely["state"] == "leader" && addresses(&lonely).len() == 1,
        "{lonely:#}"
    );
    stand.add(1, &[])?;
    stand.wait_for_ring(&[0, 1])?;
    let status = stand.wait_for_count(1, count(&lonely)?)?;
    ensure!(
        counter(&status, "restores_won") == 0,
        "the node has another token: {status:#}"
    );
    stand.judge().map(drop)
}

fn a_node_waits_for_an_address_and_gets_another_entry_with_another_address() -> Result<()> {
    let mut stand = NodeStand::without_nodes(Kind::Bridge, 2)?;
    let ns = stand.segment().node(1).ns().clone();
    ns.ip("addr flush dev eth0\n")?;
    stand.add(0, &[])?;
    stand.add(1, &[])?;
    let silent = stand
        .node(1)
        .wait_for_status(WAIT_LIMIT, |status| status["state"] == "orphan")?;
    ensure!(
        silent["address"].is_null() && silent["tcp_port"].is_null(),
        "{silent:#}"
    );
    stand.wait_for_count(0, 3)?;
    let sent = stand.record().datagrams(UDP_PORT);
    ensure!(
        sent.iter().all(|sent| sent.node == 0),
        "the node sends without an address"
    );
    ns.ip("addr add 10.77.0.2/24 dev eth0\n")?;
    stand.wait_for_ring(&[0, 1])?;
    let port = stand.node(1).status()?["tcp_port"].clone();
    ns.ip("addr flush dev eth0\n")?;
    stand
        .node(1)
        .wait_for_status(WAIT_LIMIT, |status| status["address"].is_null())?;
    ns.ip("addr add 10.77.0.99/24 dev eth0\n")?;
    let moved = stand.node(1).wait_for_status(WAIT_LIMIT, |status| {
        status["state"] != "orphan" && addresses(status).len() == 3
    })?;
    ensure!(moved["tcp_port"] == port, "the port has changed: {moved:#}");
    ensure!(
        addresses(&moved).contains(&"10.77.0.2".to_owned()),
        "{moved:#}"
    );
    stand.judge().map(drop)
}

fn a_token_with_a_hold_time_of_zero_still_rotates() -> Result<()> {
    let stand = NodeStand::new(Kind::Bridge, 3, &[("--hold", "0ms")])?;
    stand.wait_for_ring(&[0, 1, 2])?;
    stand.wait_for_count(2, 200)?;
    stand.judge().map(drop)
}
