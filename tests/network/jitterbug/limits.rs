//! Long lists, large data, and invalid input.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};

use anyhow::{Context, Result, ensure};
use ring_segment::{Test, WAIT_LIMIT, tests};
use serde_json::Value;

use super::judge::judge;
use super::peer::{Outcome, Peer};
use super::stand::{Kind, NodeStand, addresses, counter};
use super::wire::{Datagram, Entry};

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_list_with_five_thousand_unknown_addresses_adds_few_nodes_and_delays_no_pass,
        a_mebibyte_of_data_goes_around_the_ring,
        data_beyond_the_limit_are_refused_and_no_node_computes_them,
        invalid_datagrams_are_counted_by_their_reason_and_ignored,
        a_leader_answers_a_question,
    ]
}

/// Returns consecutive addresses from `first`. No node has any of these addresses.
fn strangers(first: Ipv4Addr, count: usize) -> Vec<Entry> {
    let addresses = (first.to_bits()..).take(count).map(Ipv4Addr::from_bits);
    addresses
        .map(|address| (IpAddr::from(address), 4711))
        .collect()
}

fn a_list_with_five_thousand_unknown_addresses_adds_few_nodes_and_delays_no_pass() -> Result<()> {
    const ON_THE_LINK: usize = 200;
    let mut stand = NodeStand::without_nodes(Kind::Bridge, 3)?;
    let peer = Peer::on(stand.segment().node(2))?;
    let options = [
        ("--renew-timeout", "1h"),
        ("--token-pass-timeout", "10s"),
        ("--tr-interval", "200ms"),
    ];
    stand.add(0, &options)?;
    stand.wait_for_count(0, 1)?;
    stand.add(1, &options)?;
    stand.wait_for_ring(&[0, 1])?;
    let first = stand.listener(0)?;
    let second = stand.listener(1)?;
    let mut list = vec![
        (first.ip(), first.port()),
        (second.ip(), second.port()),
        (peer.address(), 4711),
    ];
    list.extend(strangers(Ipv4Addr::new(10, 77, 0, 11), ON_THE_LINK));
    list.extend(strangers(Ipv4Addr::new(10, 99, 0, 1), 5_000));
    let outcome = peer.offer_token(first, i32::MAX, &list, b"1000000")?;
    ensure!(outcome == Outcome::Taken, "{outcome:?}");
    // A node accepts only addresses of its link into its list, and soon removes addresses that never answer.
    let knows =
        |status: &Value| (ON_THE_LINK / 2..=ON_THE_LINK + 3).contains(&addresses(status).len());
    for index in [0, 1] {
        let status = stand.node(index).wait_for_status(WAIT_LIMIT, knows)?;
        ensure!(status["data_len"] == 7, "{}", status["data"]);
    }
    let taken = |status: &Value| counter(status, "taken");
    let before = stand
        .node(0)
        .wait_for_status(WAIT_LIMIT, |_| true)
        .map(|it| taken(&it))?;
    stand
        .node(0)
        .wait_for_status(WAIT_LIMIT, |status| taken(status) > before + 5)?;
    let page = stand.node(0).ringctl(&["status"])?;
    let page = String::from_utf8(page.stdout)?;
    ensure!(
        page.contains("more: ringctl status --json lists all"),
        "{page}"
    );
    Ok(())
}

fn a_mebibyte_of_data_goes_around_the_ring() -> Result<()> {
    const DATA_LEN: usize = 1 << 20;
    let command = format!(
        r"read n || n=0; n=$((n + 1)); {{ printf '%08d\n' $n; yes 0123456 | head -c {}; }}",
        DATA_LEN - 9
    );
    // If both versions of the data have the same length, the ring continues with the received data.
    let options = [("--compute", command.as_str()), ("--decide", "longer")];
    let mut stand = NodeStand::new(Kind::Bridge, 3, &options)?;
    stand.wait_for_ring(&[0, 1, 2])?;
    for index in 0..3 {
        let status = stand.node(index).wait_for_status(WAIT_LIMIT, |status| {
            status["data_len"] == DATA_LEN && counter(status, "taken") > 2
        })?;
        ensure!(status["data"].is_null(), "{}", status["data"]);
        ensure!(status["data_hex"].as_str().map(str::len) == Some(512));
    }
    let raw = stand.node(0).ringctl(&["data", "get", "--raw"])?;
    ensure!(
        raw.status.success() && raw.stdout.len() == DATA_LEN,
        "{} bytes",
        raw.stdout.len()
    );
    let seen = judge(stand.record())?;
    let whole = seen
        .passes
        .iter()
        .filter(|pass| pass.data.len() == DATA_LEN);
    ensure!(whole.count() > 3, "the data have not gone around the ring");
    ensure!(
        seen.passes
            .iter()
            .all(|pass| [0, DATA_LEN].contains(&pass.data.len()))
    );
    Ok(())
}

fn data_beyond_the_limit_are_refused_and_no_node_computes_them() -> Result<()> {
    let mut stand = NodeStand::without_nodes(Kind::Bridge, 2)?;
    let peer = Peer::on(stand.segment().node(1))?;
    let command = "cat; printf 12345";
    stand.add(0, &[("--max-data", "12"), ("--compute", command)])?;
    let node = stand.listener(0)?;
    let full =
        |status: &Value| status["data"] == "1234512345" && counter(status, "compute_failures") > 2;
    stand.node(0).wait_for_status(WAIT_LIMIT, full)?;
    let list = [(peer.address(), 4711)];
    let outcome = peer.offer_token(node, i32::MAX, &list, b"1234567890123");
    ensure!(!matches!(outcome, Ok(Outcome::Taken)), "{outcome:?}");
    let status = stand.node(0).wait_for_status(WAIT_LIMIT, |status| {
        status["counters"]["dropped"]["data"] == 1
    })?;
    ensure!(status["data"] == "1234512345", "{status:#}");
    let outcome = peer.offer_token(node, i32::MAX, &list, b"123456789012")?;
    ensure!(outcome == Outcome::Taken, "{outcome:?}");
    stand
        .node(0)
        .wait_for_status(WAIT_LIMIT, |status| status["data"] == "123456789012")?;
    Ok(())
}

fn invalid_datagrams_are_counted_by_their_reason_and_ignored() -> Result<()> {
    let mut stand = NodeStand::without_nodes(Kind::Bridge, 2)?;
    let peer = Peer::on(stand.segment().node(1))?;
    stand.add(0, &[])?;
    let node = stand.listener(0)?;
    stand.wait_for_count(0, 2)?;
    let datagrams: [(&str, &[u8]); 7] = [
        ("truncated", &[0x01, 0, 0]),
        ("version", &[0x02, 0, 0, 0, 1, 0, 1]),
        ("type", &[0x81, 0, 0, 0, 1, 0, 1]),
        // A TR1 may end with terms. The terms in this datagram are incomplete.
        ("truncated", &[0x01, 0, 0, 0, 1, 0, 1, 9]),
        ("token", &[0x01, 0, 0, 0, 0, 0, 1]),
        ("port", &[0x01, 0, 0, 0, 1, 0, 0]),
        ("transport", &[0x31]),
    ];
    for (_, bytes) in datagrams {
        peer.send(node.ip(), bytes)?;
    }
    // This datagram is longer than the receive buffer.
    peer.send(node.ip(), &[1; 9000])?;
    let streams: [(&str, &[u8]); 4] = [
        ("not_leader", &[0x21, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
        ("order", &[0x61, 0, 0, 0, 1]),
        ("transport", &[0x01, 0, 0, 0, 1, 0, 1]),
        ("version", &[0x20, 0, 0, 0, 1, 0, 0, 0, 0]),
    ];
    for (reason, bytes) in streams {
        let mut stream = peer.connect(node)?;
        stream.write_all(bytes)?;
        let read = stream.read(&mut [0]);
        ensure!(read.is_err(), "{reason}: {read:?} instead of a reset");
    }
    let expected = [
        ("truncated", 2),
        ("version", 2),
        ("type", 1),
        ("trailing", 1),
        ("token", 1),
        ("port", 1),
        ("transport", 2),
        ("not_leader", 1),
        ("order", 1),
    ];
    let is_counted = |status: &Value| {
        let dropped = &status["counters"]["dropped"];
        expected
            .iter()
            .all(|(reason, count)| dropped[*reason] == *count)
    };
    let status = stand.node(0).wait_for_status(WAIT_LIMIT, is_counted)?;
    ensure!(
        addresses(&status).len() == 1 && status["to_add"] == Value::Array(Vec::new()),
        "{status:#}"
    );
    Ok(())
}

fn a_leader_answers_a_question() -> Result<()> {
    let mut stand = NodeStand::without_nodes(Kind::Bridge, 2)?;
    let peer = Peer::on(stand.segment().node(1))?;
    stand.add(0, &[])?;
    let node = stand.listener(0)?;
    let status = stand
        .node(0)
        .wait_for_status(WAIT_LIMIT, |status| status["state"] == "leader")?;
    let id = i32::try_from(status["token_id"].as_i64().context("no id")?)?;
    peer.send(node.ip(), &[0x01, 0xff, 0xff, 0xff, 0xff, 0x12, 0x67])?;
    peer.expect(|from, datagram| from == node.ip() && datagram == Datagram::Tr2 { id })?;
    // From now on the node knows the sender of the question, and tries to reach it.
    let status = stand
        .node(0)
        .wait_for_status(WAIT_LIMIT, |status| addresses(status).len() == 2)?;
    ensure!(status["nodes"][1]["port"] == 0x1267, "{status:#}");
    stand
        .node(0)
        .wait_for_status(WAIT_LIMIT, |status| counter(status, "passes_failed") > 0)?;
    Ok(())
}
