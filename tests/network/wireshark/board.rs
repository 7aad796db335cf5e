//! A recording of a board.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use ring_codec::andrews;
use ring_segment::{Binaries, Layout, Segment, Test, WAIT_LIMIT, program, tests};

use super::corpora::decode_andrews;
use super::expected;
use super::live::{DecodedRecord, check_record, decode_datagrams, decode_streams};
use crate::record::Record;

const BOARD_PORT: u16 = 7_400;

pub(super) fn tests() -> Vec<Test> {
    tests![messages_of_a_board_are_dissected_as_the_codec_decodes_them]
}

/// Returns the programs of a board.
fn board_binaries() -> Binaries {
    Binaries {
        ringd: program("ring-board"),
        ringctl: program("ringctl"),
    }
}

/// Starts the nodes of a board one after another, kills the coordinator, and waits for a new one.
fn use_board(segment: &Segment, folder: &Path) -> Result<()> {
    let mut list = String::new();
    for (id, node) in (1..).zip(segment.nodes()) {
        let ip = node.ip().context("it has an address")?;
        writeln!(list, "{id},{ip},{BOARD_PORT},8080")?;
        node.ns().ip("link set lo up\n")?;
    }
    fs::write(folder.join("nodes.csv"), list)?;
    let mut nodes = Vec::new();
    for (id, node) in (1..).zip(segment.nodes()) {
        node.wait_for_link()?;
        let database = format!("sqlite://{}/board.db", folder.display());
        let ring_board = node
            .ringd(board_binaries())
            .subcommand(&format!("--id={id}"))
            .without_state()
            .option("--nodes", folder.join("nodes.csv"))
            .option("--database", database)
            .option("--http", "127.0.0.1:8080")
            .option("--ack-timeout", "600ms")
            .option("--token-timeout", "2s")
            .option("--hold", "10ms");
        nodes.push(ring_board.spawn()?);
    }
    let has_members = |status: &serde_json::Value, count: usize| {
        status["members"].as_array().map(Vec::len) == Some(count) && status["health"] != "critical"
    };
    for node in &nodes {
        node.wait_for_status(WAIT_LIMIT, |status| has_members(status, 3))?;
    }
    let status = nodes[0].status()?;
    let coordinator = status["coordinator"].as_u64().context("no coordinator")?;
    nodes[usize::try_from(coordinator)? - 1].kill()?;
    let left = (1..=3).find(|id| *id != coordinator).context("a node")?;
    nodes[usize::try_from(left)? - 1].wait_for_status(WAIT_LIMIT, |status| {
        status["coordinator"].as_u64() != Some(coordinator) && has_members(status, 2)
    })?;
    Ok(())
}

fn messages_of_a_board_are_dissected_as_the_codec_decodes_them() -> Result<()> {
    let segment = Layout::new(3).addresses().bridge()?;
    let record = Record::start(&segment)?;
    let folder = tempfile::tempdir_in("/run")?;
    use_board(&segment, folder.path())?;
    let datagrams = decode_datagrams(&record.datagrams_both_ways(BOARD_PORT), |sent| {
        let frame = andrews::Frame::decode_datagram(&sent.bytes)?;
        Ok(expected::andrews::fields(&frame))
    })?;
    let streams = decode_streams(&record, |port| port == BOARD_PORT, decode_andrews);
    check_record(&record, "andrews", &DecodedRecord { datagrams, streams })
}
