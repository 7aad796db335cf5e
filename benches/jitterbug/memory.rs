//! Measures the memory of a node with the longest list.

use std::net::Ipv4Addr;

use anyhow::Result;
use ring_codec::jitterbug::{MAX_NODES, Node};
use serde_json::Value;

use super::nodes::{self, Token, address_all, listener};
use super::real::fabric::{Fabric, Kind};

pub(crate) fn measure() -> Result<()> {
    let fabric = Fabric::new(Kind::Pair, 2)?;
    address_all(&fabric.places)?;
    let node = nodes::start(1, &fabric.places[1], &[])?;
    let status = nodes::wait_for_leader(&node)?;
    let resident = || ring_segment::proc::resident_kib(node.process.id());
    let before = resident()?;
    let to = listener(&status, 1)?;
    let own = Node {
        ip: to.ip(),
        port: to.port(),
    };
    let first = Ipv4Addr::new(172, 16, 0, 1).to_bits();
    let strangers = (first..).take(usize::try_from(MAX_NODES)? - 1);
    let strangers = strangers.map(|address| Node {
        ip: Ipv4Addr::from_bits(address).into(),
        port: 7000,
    });
    let strangers: Vec<Node> = strangers.collect();
    // A node accepts at most this many new nodes from one list.
    for some in strangers.chunks(256) {
        let list: Vec<Node> = std::iter::once(own).chain(some.iter().copied()).collect();
        let token = Token::new(1, &list, b"1");
        fabric.places[0].ns().run(|| token.give(to))??;
    }
    let after = resident()?;
    node.wait_for("the node has not accepted the list", |status: &Value| {
        status["nodes"].as_array().map(Vec::len) == Some(strangers.len() + 1)
    })?;
    let with_status = resident()?;
    println!(
        "\nResident: {before} KiB without a list, {after} KiB with a list of {}, \
         {with_status} KiB after a request of `status`.",
        strangers.len() + 1
    );
    Ok(())
}
