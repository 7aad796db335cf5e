//! The systemd unit, installed as the page describes, under a live systemd.

use anyhow::{Context, Result, ensure};
use ring_segment::{Container, Layout, Segment, Test, WAIT_LIMIT, binaries, tests};
use serde_json::Value;

use super::stand::PORT;
use crate::recipes::pages::{TOKENS_OPERATE, block};

const UNIT: &str = "ringd-ftn@0";
const CHANGELOG: &str = include_str!("../../../CHANGELOG.md");

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_unit_serves_without_capabilities_and_leaves_when_it_is_stopped,
        systemd_does_not_restart_a_server_that_is_not_in_its_list,
        a_server_reports_the_missing_state_of_an_earlier_version_and_the_recipe_moves_it,
    ]
}

/// A machine with systemd. The commands of the page installed the service for one server on this machine. The server is
/// not started yet.
struct ServiceScene {
    container: Container,
    /// Commands that start the server and print its status.
    start: String,
    status: String,
    _segment: Segment,
}

impl ServiceScene {
    fn new(options: &str) -> Result<Self> {
        let segment = Layout::new(1).addresses().bridge()?;
        let container = Container::boot(segment.node(0), binaries())?;
        container.write("/usr/local/bin/sudo", 0o755, "#!/bin/sh\nexec \"$@\"\n")?;
        let recipe = block(TOKENS_OPERATE, "sudo install -m 644 systemd/ringd.sysusers")?;
        let ip = segment.node(0).ip().context("the node has an address")?;
        ensure!(recipe.contains(" a:7301 b:7301 c:7301 "), "{recipe}");
        let recipe = recipe.replace(" a:7301 b:7301 c:7301 ", &format!(" {ip}:{PORT} "));
        let lines: Vec<&str> = recipe.lines().collect();
        let [setup @ .., start, status] = &lines[..] else {
            anyhow::bail!("{recipe}");
        };
        container.sh(&setup.join("\n"))?;
        let options = format!("[Service]\nEnvironment=\"RINGD_FTN_OPTIONS={options}\"\n");
        container.edit(&format!("{UNIT}.service"), &options)?;
        Ok(Self {
            container,
            start: (*start).to_owned(),
            status: (*status).to_owned(),
            _segment: segment,
        })
    }
}

fn the_unit_serves_without_capabilities_and_leaves_when_it_is_stopped() -> Result<()> {
    let scene = ServiceScene::new("--grace 0s")?;
    let container = &scene.container;
    container.sh(&scene.start)?;
    container.wait_for(UNIT, "StatusText", WAIT_LIMIT, |text| {
        text == "leads, READY"
    })?;
    let page = container.sh(&scene.status)?;
    ensure!(page.contains("READY, serves its tokens"), "{page}");
    for other in ["run -- true", "yield", "forget 02:00:00:00:00:01"] {
        let text = container.sh(&format!("ringctl -i ftn-0 {other} 2>&1 || :"))?;
        ensure!(text.contains("for tokens use"), "{other}: {text}");
    }
    let mut complaints = container.journal();
    let words = [
        "Unknown key",
        "Unknown section",
        "ignoring",
        "Failed to",
        "deprecated",
    ];
    complaints
        .retain(|line| line.contains("ringd-ftn@") && words.iter().any(|it| line.contains(it)));
    ensure!(complaints.is_empty(), "{}", complaints.join("\n"));

    let pid = container.show(UNIT, "MainPID")?;
    let status = container.run(&["cat", &format!("/proc/{pid}/status")])?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(str::trim).context("no field")
    };
    for set in ["CapEff:", "CapPrm:", "CapBnd:"] {
        ensure!(u64::from_str_radix(field(set)?, 16)? == 0, "{status}");
    }
    ensure!(field("NoNewPrivs:")? == "1" && field("Seccomp:")? == "2");
    ensure!(!field("Uid:")?.split_whitespace().any(|uid| uid == "0"));

    // The checks cover the permissions of the control socket and of the state file.
    let ask =
        "setpriv --reuid=nobody --regid=ringd-ftn --clear-groups ringctl -i ftn-0 status --json";
    let status: Value = serde_json::from_str(&container.sh(ask)?)?;
    ensure!(status["health"] != "critical", "{status:#}");
    let stored = container.path("/var/lib/ringd-ftn/ftn-0.state");
    ensure!(stored.metadata()?.len() > 0);

    container.run(&["systemctl", "stop", UNIT])?;
    ensure!(container.show(UNIT, "Result")? == "success");
    container.wait_for_line(WAIT_LIMIT, |line| line.contains("left the servers"))?;
    ensure!(!container.path("/run/ringd-ftn/ftn-0.sock").exists());
    Ok(())
}

fn systemd_does_not_restart_a_server_that_is_not_in_its_list() -> Result<()> {
    let scene = ServiceScene::new("--index 1")?;
    let container = &scene.container;
    let started = container.output(&["systemctl", "start", UNIT])?;
    ensure!(!started.status.success(), "the service has started");
    container.wait_for(UNIT, "ActiveState", WAIT_LIMIT, |state| state == "failed")?;
    ensure!(container.show(UNIT, "ExecMainStatus")? == "2");
    ensure!(container.show(UNIT, "NRestarts")? == "0");
    container.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("names none of the 1 servers")
    })?;
    Ok(())
}

fn a_server_reports_the_missing_state_of_an_earlier_version_and_the_recipe_moves_it() -> Result<()>
{
    let scene = ServiceScene::new("--grace 0s")?;
    let container = &scene.container;
    let configuration = || -> Result<u64> {
        container.wait_for(UNIT, "StatusText", WAIT_LIMIT, |text| {
            text == "leads, READY"
        })?;
        let status: Value =
            serde_json::from_str(&container.run(&["ringctl", "-i", "ftn-0", "status", "--json"])?)?;
        status["configuration"].as_u64().context("a number")
    };
    container.sh(&scene.start)?;
    let before = configuration()?;
    // Creates the state file of an earlier version.
    container.sh(&format!(
        "systemctl stop {UNIT} && mkdir -p /var/lib/ringd && mv /var/lib/ringd-ftn/ftn-0.state /var/lib/ringd \
         && rmdir /var/lib/ringd-ftn && chown -R ringd: /var/lib/ringd && chmod 750 /var/lib/ringd"
    ))?;
    let started = container.output(&["systemctl", "start", UNIT])?;
    ensure!(
        !started.status.success(),
        "the service has started although its state is missing"
    );
    let by_hand = container.output(&[
        "ringd",
        "ftn",
        "--servers",
        "/etc/ringd/ftn.servers",
        "--index",
        "0",
    ])?;
    let errors = String::from_utf8(by_hand.stderr)?;
    ensure!(
        by_hand.status.code() == Some(9) && errors.contains("/var/lib/ringd/ftn-0.state"),
        "{}: {errors}",
        by_hand.status
    );
    let recipe = CHANGELOG.split("```sh\n").nth(1);
    let recipe = recipe.and_then(|it| it.split("```").next());
    container.sh(recipe.context("the page has the recipe")?.trim_end())?;
    container.run(&["systemctl", "start", UNIT])?;
    let after = configuration()?;
    ensure!(after > before, "the number went from {before} to {after}");
    Ok(())
}
