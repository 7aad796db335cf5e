//! Peers that misuse connections.

use std::io::{ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::time::Instant;

use anyhow::{Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, limit, tests};
use serde_json::Value;

use super::peer::{Outcome, Peer};
use super::stand::{Kind, NodeStand, counter};

const PORT: u16 = 4711;

pub(super) fn tests() -> Vec<Test> {
    tests![
        peers_that_are_silent_or_send_slowly_keep_no_node_from_the_token,
        a_candidate_that_never_reads_costs_only_its_own_turn,
    ]
}

fn peers_that_are_silent_or_send_slowly_keep_no_node_from_the_token() -> Result<()> {
    let mut stand = NodeStand::without_nodes(Kind::Bridge, 3)?;
    let peer = Peer::on(stand.segment().node(2))?;
    let options = [("--token-pass-timeout", "2s")];
    for index in [0, 1] {
        stand.add(index, &options)?;
    }
    stand.wait_for_ring(&[0, 1])?;
    let (node, other) = (stand.listener(0)?, stand.listener(1)?);
    // The peer opens more connections than a node serves, and more connections than a node has slots. Each connection
    // comes from a separate address, because a node keeps one connection per address.
    let mut silent = Vec::new();
    for last in 101..=140 {
        let from = Ipv4Addr::new(10, 77, 0, last);
        let ns = stand.segment().node(2).ns();
        ns.ip(&format!("addr add {from}/24 dev eth0\n"))?;
        for _ in 0..5 {
            silent.extend(peer.connect_from(from, node)?);
        }
    }
    ensure!(
        silent.len() > 50,
        "the node accepted only {} connections",
        silent.len()
    );
    stand.wait_for_rounds(&[0, 1])?;
    for mut stream in silent {
        let end = stream.read(&mut [0; 64]);
        let is_closed = match &end {
            Ok(count) => *count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        };
        ensure!(is_closed, "a silent peer keeps its connection: {end:?}");
    }
    let list = [node, other].map(|at| (at.ip(), at.port()));
    let give_up = Instant::now() + WAIT_LIMIT;
    loop {
        let outcome = peer.offer_slowly(node, i32::MAX, &list, b"1000000");
        if matches!(outcome, Ok(Outcome::Taken)) {
            break;
        }
        ensure!(Instant::now() < give_up, "{outcome:?}");
    }
    for index in [0, 1] {
        stand.wait_for_count(index, 1_000_001)?;
    }
    Ok(())
}

fn a_candidate_that_never_reads_costs_only_its_own_turn() -> Result<()> {
    const DATA_LEN: usize = 1 << 20;
    let command = format!("head -c {DATA_LEN} /dev/zero");
    let options = [
        ("--compute", command.as_str()),
        ("--decide", "longer"),
        ("--token-pass-timeout", "1s"),
    ];
    let mut stand = NodeStand::without_nodes(Kind::Bridge, 3)?;
    let peer = Peer::on(stand.segment().node(2))?;
    for index in [0, 1] {
        stand.add(index, &options)?;
    }
    stand.wait_for_ring(&[0, 1])?;
    for index in [0, 1] {
        stand.status_when(index, |status| status["data_len"] == DATA_LEN)?;
    }
    let listener = peer.listen(PORT)?;
    // A leader adds a node that asks for the token to its list, and offers it the token.
    let [high, low] = PORT.to_be_bytes();
    for index in [0, 1] {
        peer.send(
            stand.address(index),
            &[0x01, 0xff, 0xff, 0xff, 0xff, high, low],
        )?;
    }
    let is_offered = limit::is_readable(&listener, Instant::now() + WAIT_LIMIT);
    ensure!(is_offered, "no node offers the peer the token");
    let (mut stream, giver) = listener.accept()?;
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    let offered = stream.read(&mut [0; 64])?;
    ensure!(offered > 0, "the peer gets no offer");
    // The peer answers that it has the list, and reads nothing until the pass ends.
    stream.write_all(&[0x41])?;
    let index = usize::from(giver.ip() != stand.address(0));
    let is_over =
        |status: &Value| counter(status, "passes_failed") + counter(status, "passes_unknown") > 0;
    stand.status_when(index, is_over)?;
    let mut rest = Vec::new();
    let end = stream.read_to_end(&mut rest);
    ensure!(
        end.is_err() && rest.len() < DATA_LEN,
        "{} bytes, then {end:?}",
        rest.len()
    );
    for index in [0, 1] {
        let before = counter(&stand.status_when(index, |_| true)?, "taken");
        stand.status_when(index, |status| counter(status, "taken") > before + 2)?;
    }
    Ok(())
}
