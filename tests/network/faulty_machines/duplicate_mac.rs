//! Two stations with the same MAC address.

use anyhow::{Result, ensure};
use ring_segment::{Daemon, Layout, Test, binaries, now, tests};
use serde_json::Value;

use super::watcher::Watcher;
use super::{HEARTBEAT, WAIT_LIMIT, timing};

pub(super) fn tests() -> Vec<Test> {
    tests![two_stations_with_one_address_are_reported_once]
}

fn two_stations_with_one_address_are_reported_once() -> Result<()> {
    let segment = Layout::new(3).addresses().bridge()?;
    let nodes = segment.nodes();
    let shared = nodes[1].mac().to_string();
    nodes[2]
        .ns()
        .ip(&format!("link set eth0 address {shared}\n"))?;
    let daemons = nodes
        .iter()
        .map(|node| node.ringd(binaries()).spawn())
        .collect::<Result<Vec<_>>>()?;
    let mut watchers = Watcher::of_started(&daemons[..1])?;
    let names = |line: &str| line.contains("two stations have the MAC") && line.contains(&shared);
    let line = daemons[0].wait_for_line(WAIT_LIMIT, names)?;
    for node in &nodes[1..] {
        let ip = node.ip().map(|ip| ip.to_string()).unwrap_or_default();
        ensure!(line.contains(&ip), "{line}");
    }
    let itself = |line: &str| line.contains("has this node's MAC");
    let is_shown = |daemon: &Daemon, names: fn(&str) -> bool| {
        daemon.wait_for_status(WAIT_LIMIT, |status| {
            let troubles = status["troubles"].as_array();
            troubles.is_some_and(|all| all.iter().filter_map(Value::as_str).any(names))
        })
    };
    is_shown(&daemons[0], |trouble| trouble.contains("two stations"))?;
    for daemon in &daemons[1..] {
        daemon.wait_for_line(WAIT_LIMIT, itself)?;
        is_shown(daemon, itself)?;
    }
    for watcher in &mut watchers {
        let event = watcher.expect_event("address_shared")?;
        ensure!(event["member"] == shared.as_str(), "{event}");
    }
    // The daemon logs no second line about the two stations during many heartbeats.
    let since = now();
    let many = 20 * HEARTBEAT;
    segment
        .capture()
        .wait_for(many + timing().waiter_timeout(), |seen| {
            seen.at > since + many
        })?;
    let lines = daemons[0].output();
    let count_lines = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    ensure!(count_lines("two stations") == 1, "{lines:#?}");
    ensure!(count_lines("has ip") <= 8, "{lines:#?}");
    Ok(())
}
