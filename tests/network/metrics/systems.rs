//! The metrics of daemons of other systems.

use std::fs;

use anyhow::{Context, Result, ensure};
use ring_segment::{Layout, Test, WAIT_LIMIT, binaries, tests};

use super::metrics;

pub(super) fn tests() -> Vec<Test> {
    tests![
        a_server_of_the_token_service_has_metrics,
        a_node_of_jitterbug_has_metrics,
    ]
}

fn a_server_of_the_token_service_has_metrics() -> Result<()> {
    let segment = Layout::new(1).addresses().bridge()?;
    let node = segment.node(0);
    node.wait_for_link()?;
    let folder = tempfile::tempdir_in("/run")?;
    let list = folder.path().join("servers");
    let ip = node.ip().context("the node has an address")?;
    fs::write(&list, format!("{ip}:7301\n"))?;
    let server = node
        .ringd(binaries())
        .subcommand("ftn")
        .option("--servers", &list)
        .option("--index", "0")
        .option("--grace", "0s")
        .spawn()?;
    server.wait_for_status(WAIT_LIMIT, |status| status["state"] == "READY")?;
    let metrics = metrics(&server)?;
    for (metric, labels, value) in [
        ("ringd_up", &[][..], 1),
        ("ringd_build_info", &["system=\"ftn\""], 1),
        ("ringd_ftn_serving", &[], 1),
        ("ringd_ftn_leader", &[], 1),
        ("ringd_ftn_servers", &["state=\"READY\""], 1),
        ("ringd_ftn_servers", &["state=\"DOWN\""], 0),
        ("ringd_ftn_tokens", &[], 0),
        ("ringd_ftn_memory_max_bytes", &[], 268_435_456),
    ] {
        ensure!(
            metrics.count(metric, labels)? == value,
            "{metric} {labels:?}"
        );
    }
    Ok(())
}

fn a_node_of_jitterbug_has_metrics() -> Result<()> {
    let segment = Layout::new(1).addresses().bridge()?;
    let node = segment.node(0);
    node.wait_for_link()?;
    let daemon = node
        .ringd(binaries())
        .subcommand("jitterbug")
        .without_state()
        .flag("eth0")
        .spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "leader")?;
    let metrics = metrics(&daemon)?;
    for (metric, labels, value) in [
        ("ringd_up", &[][..], 1),
        ("ringd_build_info", &["system=\"jitterbug\""], 1),
        ("ringd_jitterbug_state", &["state=\"leader\""], 1),
        ("ringd_jitterbug_state", &["state=\"orphan\""], 0),
        ("ringd_jitterbug_nodes", &[], 1),
        ("ringd_events_total", &["event=\"restores_won\""], 1),
    ] {
        ensure!(
            metrics.count(metric, labels)? == value,
            "{metric} {labels:?}"
        );
    }
    Ok(())
}
