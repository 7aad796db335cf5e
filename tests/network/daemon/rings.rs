//! Several rings on one interface, with different EtherTypes.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use ring_segment::{Daemon, Node, Segment, Test, Timing, WAIT_LIMIT, binaries, tests};
use serde_json::Value;

const HEARTBEAT: Duration = Duration::from_millis(100);
/// The default EtherType, and a second EtherType.
const ETHERTYPES: [&str; 2] = ["0x88b5", "0x88b6"];
/// Names of the rings with these EtherTypes.
const NAMES: [&str; 2] = ["eth0", "eth0:0x88b6"];

pub(super) fn tests() -> Vec<Test> {
    tests![
        two_rings_share_an_interface,
        a_second_daemon_of_one_of_several_rings_is_refused,
    ]
}

fn start(node: &Node, ethertype: &str) -> Result<Daemon> {
    let ringd = node
        .ringd(binaries())
        .timing(&Timing::stall_tolerant(HEARTBEAT));
    let ringd = ringd.option("--ethertype", ethertype);
    // Only the first daemon uses the default directories.
    let ringd = match node.index() {
        0 => ringd.default_places(),
        _ => ringd,
    };
    ringd.spawn()
}

fn ringctl(node: &Node, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(binaries().ringctl);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = node.ns().spawn(&mut command)?;
    child.wait_with_output().context("cannot wait for ringctl")
}

fn status(node: &Node, ring: &str) -> Result<Value> {
    let output = ringctl(node, &["-i", ring, "status", "--json"])?;
    let text = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).with_context(|| format!("no status: {text}"))
}

fn two_rings_share_an_interface() -> Result<()> {
    let segment = Segment::bridge(3)?;
    let node = segment.node(0);
    // Each ring has one more member.
    let daemons = ETHERTYPES
        .iter()
        .zip([1, 2])
        .map(|(ethertype, other)| {
            Ok([
                start(node, ethertype)?,
                start(segment.node(other), ethertype)?,
            ])
        })
        .collect::<Result<Vec<_>>>()?;
    for [_, other] in &daemons {
        other.wait_for_status(WAIT_LIMIT, |status| {
            let members = status["members"].as_array();
            members.is_some_and(|all| all.len() == 2)
        })?;
    }
    for ((ring, ethertype), [_, other]) in NAMES.iter().zip(ETHERTYPES).zip(&daemons) {
        let status = status(node, ring)?;
        ensure!(status["constants"]["ethertype"] == ethertype, "{status:#}");
        let members = status["members"].to_string();
        ensure!(
            members.contains(&other.node().mac().to_string()),
            "{members}"
        );
        ensure!(status["members"].as_array().map(Vec::len) == Some(2));
        let state = format!("/var/lib/ringd/{ring}.state");
        ensure!(Path::new(&state).exists(), "there is no {state}");
    }
    // Takes a lock of one ring, and under this lock a lock of the other ring.
    let [first, second] = NAMES;
    let inner = [binaries().ringctl, "-i", second, "run", "--", "true"];
    let both = ringctl(node, &[&["-i", first, "run", "--"][..], &inner].concat())?;
    ensure!(both.status.success(), "{both:?}");
    // The user must name the ring.
    let output = ringctl(node, &["status"])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(4), "{errors}");
    ensure!(
        NAMES
            .iter()
            .all(|name| errors.contains(&format!("-i {name}"))),
        "{errors}"
    );
    Ok(())
}

fn a_second_daemon_of_one_of_several_rings_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    let running = ETHERTYPES.map(|ethertype| start(node, ethertype));
    for daemon in &running {
        let daemon = daemon.as_ref().map_err(|error| anyhow!("{error:#}"))?;
        daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("-> OWNER"))?;
    }
    for (ethertype, ring) in ETHERTYPES.into_iter().zip(NAMES) {
        let mut second = start(node, ethertype)?;
        let ended = second.wait_exit(WAIT_LIMIT)?;
        ensure!(ended.code() == Some(6), "ringd exited with {ended}");
        second.wait_for_line(WAIT_LIMIT, |line| {
            line.contains(ring) && line.contains("in use")
        })?;
    }
    Ok(())
}
