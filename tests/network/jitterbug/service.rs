//! The systemd unit, installed as the page describes, under a live systemd.

use anyhow::{Context, Result, ensure};
use ring_segment::{Container, Layout, Test, WAIT_LIMIT, binaries, tests};
use serde_json::Value;

use super::stand::UDP_PORT;
use crate::recipes::pages::{JITTERBUG_OPERATE, block};

const UNIT: &str = "ringd-jitterbug@eth0";

pub(super) fn tests() -> Vec<Test> {
    tests![the_unit_leads_without_capabilities_and_ends_when_it_is_stopped]
}

fn the_unit_leads_without_capabilities_and_ends_when_it_is_stopped() -> Result<()> {
    let segment = Layout::new(1).addresses().bridge()?;
    let container = Container::boot(segment.node(0), binaries())?;
    container.write("/usr/local/bin/sudo", 0o755, "#!/bin/sh\nexec \"$@\"\n")?;
    let recipe = block(
        JITTERBUG_OPERATE,
        "sudo install -m 644 systemd/ringd.sysusers",
    )?;
    container.sh(recipe.trim_end())?;
    container.wait_for(UNIT, "StatusText", WAIT_LIMIT, |text| text == "in the ring")?;
    let ask = "setpriv --reuid=nobody --regid=ringd-jitterbug --clear-groups ringctl -i jitterbug-eth0 status --json";
    let status: Value = serde_json::from_str(&container.sh(ask)?)?;
    ensure!(
        status["state"] == "leader" && status["udp_port"] == UDP_PORT,
        "{status:#}"
    );

    let node = "ringctl -i jitterbug-eth0";
    container.sh(&format!("{node} run --label report -- true"))?;
    container.wait_for_line(WAIT_LIMIT, |line| line.contains("exit code 0"))?;
    let holds: Value = serde_json::from_str(&container.sh(&format!("{node} history --json"))?)?;
    ensure!(
        holds[0]["program"] == "report" && holds[0]["exit"] == 0,
        "{holds:#}"
    );

    let pid = container.show(UNIT, "MainPID")?;
    let status = container.run(&["cat", &format!("/proc/{pid}/status")])?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(str::trim).context("no field")
    };
    for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
        ensure!(u64::from_str_radix(field(set)?, 16)? == 0, "{status}");
    }
    ensure!(!field("Uid:")?.split_whitespace().any(|uid| uid == "0"));

    container.run(&["systemctl", "stop", UNIT])?;
    ensure!(container.show(UNIT, "Result")? == "success");
    container.wait_for_line(WAIT_LIMIT, |line| line.contains("left the ring"))?;
    ensure!(
        !container
            .path("/run/ringd-jitterbug/jitterbug-eth0.sock")
            .exists()
    );
    Ok(())
}
