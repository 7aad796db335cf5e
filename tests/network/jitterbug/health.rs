//! Rings with troubles, and the reports of a monitor.

use std::process::Command;

use anyhow::{Result, ensure};
use ring_segment::{Test, tests};
use serde_json::Value;

use super::stand::{Kind, NodeStand};

pub(super) fn tests() -> Vec<Test> {
    tests![
        nodes_with_different_netmasks_report_that_they_are_alone,
        a_node_whose_tcp_packets_are_blocked_is_named,
        a_node_without_an_address_is_critical,
    ]
}

/// Waits until a node's health is `health` for a reason that contains `words`. Then checks the monitor's output.
fn wait_for_health(stand: &NodeStand, index: usize, health: &str, words: &str) -> Result<()> {
    let says = |trouble: &Value| trouble.as_str().is_some_and(|it| it.contains(words));
    stand.status_when(index, |status| {
        let mut troubles = status["troubles"].as_array().into_iter().flatten();
        status["health"] == health && troubles.any(says)
    })?;
    let output = stand.ringctl(index, &["status", "--check"])?;
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    let (word, code) = match health {
        "degraded" => ("WARNING", 1),
        _ => ("CRITICAL", 2),
    };
    ensure!(output.status.code() == Some(code), "{output:?}");
    ensure!(
        line.starts_with(&format!("RINGD {word} - ")) && line.contains(words),
        "{line}"
    );
    Ok(())
}

fn is_healthy(stand: &NodeStand, index: usize) -> Result<()> {
    stand.status_when(index, |status| status["health"] == "healthy")?;
    Ok(())
}

fn nodes_with_different_netmasks_report_that_they_are_alone() -> Result<()> {
    let mut stand = NodeStand::without_nodes(Kind::Bridge, 2)?;
    let (ip, ns) = (stand.address(1), stand.segment().node(1).ns().clone());
    let set_prefix = |prefix: u8| {
        ns.ip(&format!(
            "addr flush dev eth0\naddr add {ip}/{prefix} broadcast + dev eth0\n"
        ))
    };
    set_prefix(30)?;
    stand.add(0, &[])?;
    stand.add(1, &[])?;
    for index in [0, 1] {
        wait_for_health(
            &stand,
            index,
            "degraded",
            "compare the addresses and netmasks",
        )?;
    }
    set_prefix(24)?;
    stand.wait_for_ring(&[0, 1])?;
    is_healthy(&stand, 0)?;
    is_healthy(&stand, 1)
}

fn a_node_whose_tcp_packets_are_blocked_is_named() -> Result<()> {
    let stand = NodeStand::new(Kind::Bridge, 2, &[])?;
    stand.wait_for_ring(&[0, 1])?;
    is_healthy(&stand, 0)?;
    tc(&stand, 1, "qdisc add dev eth0 clsact")?;
    // This filter drops packets with protocol 6, TCP.
    let protocol_is_tcp = "4,48 0 0 23,21 0 1 6,6 0 0 2,6 0 0 4294967295,";
    let filter = "filter add dev eth0 egress bpf direct-action bytecode";
    tc_with(&stand, 1, filter, &[protocol_is_tcp])?;
    // One node leads. The other node hears the leader, and waits for the token.
    for index in [0, 1] {
        stand.status_when(index, |status| {
            let troubles = status["troubles"].to_string();
            status["health"] != "healthy" && troubles.contains("let TCP")
        })?;
    }
    tc(&stand, 1, "qdisc del dev eth0 clsact")?;
    is_healthy(&stand, 0)?;
    is_healthy(&stand, 1)
}

fn tc(stand: &NodeStand, index: usize, arguments: &str) -> Result<()> {
    tc_with(stand, index, arguments, &[])
}

fn tc_with(stand: &NodeStand, index: usize, arguments: &str, more: &[&str]) -> Result<()> {
    let mut tc = Command::new("tc");
    tc.args(arguments.split_whitespace()).args(more);
    let ended = stand.segment().node(index).ns().spawn(&mut tc)?.wait()?;
    ensure!(ended.success(), "tc {arguments}: {ended}");
    Ok(())
}

fn a_node_without_an_address_is_critical() -> Result<()> {
    let stand = NodeStand::new(Kind::Bridge, 1, &[])?;
    let ns = stand.segment().node(0).ns().clone();
    ns.ip("addr flush dev eth0\n")?;
    wait_for_health(&stand, 0, "critical", "eth0 has no address")
}
