//! An address that is unusable for a while: reports about the problem, and the recovery.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::Value;

use super::test_ring::{DatabaseKind, PORT, TestRing};

pub(crate) fn tests() -> Vec<Test> {
    tests![a_node_reports_a_lost_address_and_continues_when_it_returns]
}

fn a_node_reports_a_lost_address_and_continues_when_it_returns() -> Result<()> {
    let mut ring = TestRing::new(2, DatabaseKind::Sqlite, &[])?;
    ring.wait_for_ring(&[1, 2])?;
    let node = ring.segment().node(0).clone();
    let (ns, address) = (node.ns(), node.ip().context("it has an address")?);
    // When the kernel has destroyed the socket, the node cannot bind a new one without the address.
    ns.ip(&format!("address delete {address}/24 dev eth0\n"))?;
    let socket = format!("sport = :{PORT}");
    let mut destroy = Command::new("ss");
    destroy.args(["-K", "-u", "-a", &socket]);
    let destroyed = ns.run(|| destroy.output())??;
    ensure!(destroyed.status.success(), "{destroyed:?}");

    let trouble = format!(
        "cannot use {address}:{PORT}: this node sends and receives no datagrams; check that the machine has this \
         address"
    );
    ring.wait(1, |status| {
        let troubles = status["troubles"].as_array();
        troubles.is_some_and(|troubles| troubles.iter().any(|it| *it == *trouble))
    })?;
    for line in [
        format!("cannot receive at {address}:{PORT}"),
        // The node logs the cause only once.
        format!("cannot use {address}:{PORT}: Cannot assign requested address"),
    ] {
        ring.node(1)
            .wait_for_line(WAIT_LIMIT, |it| it.contains(&line))?;
    }

    ns.ip(&format!("address add {address}/24 dev eth0\n"))?;
    let line = format!("{address}:{PORT} works again");
    ring.node(1)
        .wait_for_line(WAIT_LIMIT, |it| it.contains(&line))?;
    ring.wait(1, |status| status["troubles"] == Value::Array(Vec::new()))?;
    ring.wait_for_ring(&[1, 2])
}
