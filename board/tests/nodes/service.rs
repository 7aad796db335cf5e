//! Tests of the systemd unit. The tests install the unit as docs/board/operate.md describes, and run it under a real
//! systemd.

use std::net::{Ipv4Addr, TcpStream};

use anyhow::{Context, Result, ensure};
use ring_control::NoRequest;
use ring_segment::{Container, Layout, Segment, Test, WAIT_LIMIT, check_rights, tests};
use serde_json::{Value, json};

use super::http::{connect_from, exchange, request};
use super::logins::{PASSWORD, basic};
use super::test_ring::binaries;

const UNIT: &str = "ring-board@1";
const PAGE: &str = include_str!("../../../docs/board/operate.md");
const RECIPE: &str = "sudo install -m 644 systemd/ring-board.sysusers";
const ADDRESS: &str = "192.0.2.1";

pub(crate) fn tests() -> Vec<Test> {
    tests![the_unit_serves_without_any_right_and_ends_when_it_is_stopped]
}

/// This test takes three seconds, because it boots a container.
fn the_unit_serves_without_any_right_and_ends_when_it_is_stopped() -> Result<()> {
    let segment = Layout::new(1).addresses().bridge()?;
    let ip = segment.node(0).ip().context("it has an address")?;
    let container = Container::boot(segment.node(0), binaries())?;
    container.write("/usr/local/bin/sudo", 0o755, "#!/bin/sh\nexec \"$@\"\n")?;
    let recipe = PAGE.split("```sh\n").find(|it| it.starts_with(RECIPE));
    let recipe = recipe.and_then(|it| it.split("```").next());
    // The last line of the recipe shows the status, which needs a ring.
    let recipe = recipe.context("the page has it")?;
    let (recipe, look) = recipe.trim_end().rsplit_once('\n').context("lines")?;
    ensure!(recipe.contains(ADDRESS), "{recipe}");
    // The command asks for the password on standard input, because the recipe has no terminal here.
    let recipe = recipe.replace(ADDRESS, &ip.to_string());
    container.sh(&format!("{{\n{recipe}\n}} <<END\n{PASSWORD}\nEND\n"))?;
    wait_for_member(&container)?;
    let page = container.sh(look)?;
    ensure!(page.contains("MEMBER"), "{page}");
    let ask = "setpriv --reuid=nobody --regid=ringd-board --clear-groups ringctl -i board-1 status --json";
    let status: Value = serde_json::from_str(&container.sh(ask)?)?;
    ensure!(
        status["members"] == json!([1]) && status["database"] == "up",
        "{status:#}"
    );
    for (headers, code) in [("", 401), (basic(PASSWORD).as_str(), 200)] {
        let request = request("GET /ring", headers, "");
        let stream = container_page(&segment, ip)?;
        let answer = exchange(stream, request.as_bytes())?;
        ensure!(answer.status == code, "{answer:?}");
    }
    // Other users cannot read the file of the database.
    let mode = container.run(&["stat", "--format=%U %a", "/var/lib/ringd-board/board.db"])?;
    ensure!(mode.trim() == "ringd-board 600", "{mode}");

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

    container.sh("install -m 644 systemd/ringd-exporter@.service /etc/systemd/system/")?;
    container.run(&["systemctl", "daemon-reload"])?;
    check_rights::<NoRequest>(&container, "/run/ringd-board/board-1.sock", &[])?;

    check_missing_limits(&container)?;
    container.run(&["systemctl", "stop", UNIT])?;
    ensure!(container.show(UNIT, "Result")? == "success");
    container.wait_for_line(WAIT_LIMIT, |line| line.contains("left the ring"))?;
    ensure!(!container.path("/run/ringd-board/board-1.sock").exists());
    Ok(())
}

fn wait_for_member(container: &Container) -> Result<()> {
    let is_member = |text: &str| text == "MEMBER, coordinator";
    container.wait_for(UNIT, "StatusText", WAIT_LIMIT, is_member)?;
    Ok(())
}

/// Checks that the status names the limits that the kernel does not support. Then the node has no Landlock.
fn check_missing_limits(container: &Container) -> Result<()> {
    let missing = || -> Result<Value> {
        let status = container.run(&["ringctl", "-i", "board-1", "status", "--json"])?;
        Ok(serde_json::from_str::<Value>(&status)?["missing_limits"].take())
    };
    ensure!(missing()? == json!([]));
    let filter = "[Service]\nSystemCallFilter=~landlock_create_ruleset\n";
    container.edit(&format!("{UNIT}.service"), filter)?;
    container.run(&["systemctl", "restart", UNIT])?;
    wait_for_member(container)?;
    ensure!(missing()? == json!(["access to files"]));
    Ok(())
}

/// Connects to the page on the machine of a segment's only node.
fn container_page(segment: &Segment, ip: Ipv4Addr) -> Result<TcpStream> {
    let node = segment.node(0);
    let stream = node
        .ns()
        .run(|| connect_from((ip, 8080).into(), ip, WAIT_LIMIT))??;
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    Ok(stream)
}
