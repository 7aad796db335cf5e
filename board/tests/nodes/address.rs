//! An address that cannot be used for a while: what is said of it, and that the node goes on as soon as it can be.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use ring_segment::{PATIENCE, Test, tests};
use serde_json::Value;

use super::stand::{Kind, PORT, Stand};

pub(crate) fn tests() -> Vec<Test> {
    tests![a_node_that_has_lost_its_address_says_so_and_goes_on_with_it]
}

fn a_node_that_has_lost_its_address_says_so_and_goes_on_with_it() -> Result<()> {
    let mut stand = Stand::new(2, Kind::Sqlite, &[])?;
    stand.wait_for_ring(&[1, 2])?;
    let node = stand.segment().node(0).clone();
    let (ns, address) = (node.ns(), node.ip().context("it has an address")?);
    // Without its address the socket cannot be bound again, once the kernel has taken it away.
    ns.ip(&format!("address delete {address}/24 dev eth0\n"))?;
    let socket = format!("sport = :{PORT}");
    let mut destroy = Command::new("ss");
    destroy.args(["-K", "-u", "-a", &socket]);
    let destroyed = ns.run(|| destroy.output())??;
    ensure!(destroyed.status.success(), "{destroyed:?}");

    let trouble = format!("cannot use {address}:{PORT}: no datagrams are sent or received");
    let says_so = |status: &Value| status["troubles"] == Value::from([trouble.as_str()]);
    stand.wait(1, says_so)?;
    for line in [
        format!("cannot receive at {address}:{PORT}"),
        // Why it is not there again, once.
        format!("cannot use {address}:{PORT}: Cannot assign requested address"),
    ] {
        stand
            .node(1)
            .wait_for_line(PATIENCE, |it| it.contains(&line))?;
    }

    ns.ip(&format!("address add {address}/24 dev eth0\n"))?;
    let line = format!("{address}:{PORT} works again");
    stand
        .node(1)
        .wait_for_line(PATIENCE, |it| it.contains(&line))?;
    stand.wait(1, |status| status["troubles"] == Value::Array(Vec::new()))?;
    stand.wait_for_ring(&[1, 2])
}
