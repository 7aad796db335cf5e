//! The limits of daemons in units on a kernel that does not support all limits.

use anyhow::{Result, ensure};
use ring_segment::{Container, Test, tests};
use serde_json::{Value, json};

use super::rights::boot;

const NODES: [&str; 3] = ["eth0", "ftn-0", "jitterbug-eth0"];
/// Hides the kernel's Landlock from the daemons.
const HIDE_LANDLOCK: &str = "
    for unit in ringd ringd-ftn ringd-jitterbug; do
        mkdir -p /etc/systemd/system/$unit@.service.d
        printf '[Service]\\nSystemCallFilter=~landlock_create_ruleset\\n' \
            >/etc/systemd/system/$unit@.service.d/landlock.conf
    done";

pub(super) fn tests() -> Vec<Test> {
    tests![the_status_of_each_system_names_the_limits_that_the_kernel_does_not_support]
}

fn the_status_of_each_system_names_the_limits_that_the_kernel_does_not_support() -> Result<()> {
    let (complete, _segment) = boot(":")?;
    for node in NODES {
        check(&complete, node, &json!([]))?;
    }
    let (incomplete, _segment) = boot(HIDE_LANDLOCK)?;
    for node in NODES {
        check(&incomplete, node, &json!(["access to files"]))?;
        let page = incomplete.run(&["ringctl", "-i", node, "status"])?;
        let line = "\nSandbox      does not limit access to files\n";
        ensure!(page.contains(line), "{page}");
    }
    Ok(())
}

fn check(container: &Container, node: &str, missing: &Value) -> Result<()> {
    let status = container.run(&["ringctl", "-i", node, "status", "--json"])?;
    let status: Value = serde_json::from_str(&status)?;
    ensure!(status["missing_limits"] == *missing, "{status:#}");
    let metrics = container.run(&["ringctl", "-i", node, "metrics"])?;
    let count = missing.as_array().map_or(0, Vec::len);
    let line = format!("\nringd_missing_limits{{daemon=\"{node}\"}} {count}\n");
    ensure!(metrics.contains(&line), "{metrics}");
    Ok(())
}
