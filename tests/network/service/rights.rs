//! The rights of monitors at the daemons of three systems, under a live systemd and with real users.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_control::jitterbug::JitterbugRequest;
use ring_control::lab2::RingRequest;
use ring_control::{NoRequest, monitor_socket_path};
use ring_segment::{
    Container, Daemon, Layout, Segment, Test, WAIT_LIMIT, binaries, check_rights, tests,
};
use serde_json::{Value, json};

use crate::locks::ringctl;

/// Installs all units, and starts a daemon of each system.
const START: &str = "
    for unit in ringd-ftn ringd-jitterbug ringd-exporter; do
        install -m 644 systemd/$unit@.service /etc/systemd/system/
    done
    mkdir -p /etc/ringd
    echo ADDRESS:7301 >/etc/ringd/ftn.servers
    systemctl daemon-reload
    systemctl start ringd@eth0 ringd-ftn@0 ringd-jitterbug@eth0";

pub(super) fn tests() -> Vec<Test> {
    tests![
        monitors_read_all_systems_and_change_none,
        without_the_group_the_units_start_and_their_groups_read,
        a_unit_that_hides_the_group_starts_and_reports_this_once,
        monitors_take_no_places_of_programs_that_lock,
    ]
}

pub(super) fn boot(before: &str) -> Result<(Container, Segment)> {
    let segment = Layout::new(1).addresses().bridge()?;
    let container = Container::boot(segment.node(0), binaries())?;
    container.install_service()?;
    container.sh(before)?;
    let ip = segment.node(0).ip().context("the node has an address")?;
    let at_once = "[Service]\nEnvironment=\"RINGD_FTN_OPTIONS=--grace 0s\"\n";
    container.write(
        "/etc/systemd/system/ringd-ftn@.service.d/grace.conf",
        0o644,
        at_once,
    )?;
    container.sh(&START.replace("ADDRESS", &ip.to_string()))?;
    for (unit, state) in [
        ("ringd@eth0", "the only member of its ring"),
        ("ringd-ftn@0", "leads, READY"),
        ("ringd-jitterbug@eth0", "in the ring"),
    ] {
        container.wait_for(unit, "StatusText", WAIT_LIMIT, |text| text == state)?;
    }
    Ok((container, segment))
}

fn monitors_read_all_systems_and_change_none() -> Result<()> {
    let (container, _segment) = boot(":")?;
    let ring = ["locks --json", "data get", "wait OWNER"];
    check_rights::<RingRequest>(&container, "/run/ringd/eth0.sock", &ring)?;
    check_rights::<NoRequest>(&container, "/run/ringd-ftn/ftn-0.sock", &[])?;
    check_rights::<JitterbugRequest>(
        &container,
        "/run/ringd-jitterbug/jitterbug-eth0.sock",
        &["data get", "wait leader"],
    )?;
    // A node with two sockets counts once.
    let several =
        "setpriv --reuid=nobody --regid=ringd-monitor --clear-groups ringctl status 2>&1 || :";
    let several = container.sh(several)?;
    ensure!(
        several.ends_with("choose one with -i eth0 or -i ftn-0 or -i jitterbug-eth0\n"),
        "{several}"
    );
    let status = status(&container, "eth0")?;
    ensure!(status["paused"] == false, "{status:#}");
    check_sources_of_options(&container)?;
    check_doctor_without_a_ring(&container)
}

/// Returns the status of a node. Its health may be critical: after a stall, the only member makes a new token.
fn status(container: &Container, node: &str) -> Result<Value> {
    let status = container.sh(&format!("ringctl -i {node} status --json || [ $? = 5 ]"))?;
    Ok(serde_json::from_str(&status)?)
}

/// The units set options of `ringd-ftn@0` and `ringd-jitterbug@eth0` on the command line.
fn check_sources_of_options(container: &Container) -> Result<()> {
    for (node, option, value) in [
        (
            "ftn-0",
            "grace",
            json!({"value": "0s", "source": "command_line"}),
        ),
        (
            "ftn-0",
            "max-clients",
            json!({"value": null, "source": "default"}),
        ),
        (
            "jitterbug-eth0",
            "hold",
            json!({"value": "100ms", "source": "default"}),
        ),
        (
            "jitterbug-eth0",
            "wait-for-interface",
            json!({"value": "true", "source": "command_line"}),
        ),
    ] {
        let status = status(container, node)?;
        let found = &status["config"]["options"][option];
        ensure!(*found == value, "{node} {option}: {found}");
    }
    Ok(())
}

/// Without a name, `ringctl doctor` examines the only daemon of a machine, of any system.
fn check_doctor_without_a_ring(container: &Container) -> Result<()> {
    let examine = || container.sh("code=0; ringctl doctor 2>&1 || code=$?; echo code $code");
    let choice = examine()?;
    ensure!(
        choice.contains("-i eth0 or -i ftn-0") && choice.ends_with("code 4\n"),
        "{choice}"
    );
    container.sh("systemctl stop ringd@eth0 ringd-jitterbug@eth0")?;
    // A stalled daemon may be in trouble.
    let found = examine()?;
    ensure!(
        found.ends_with("code 0\n") || found.ends_with("code 1\n"),
        "{found}"
    );
    Ok(())
}

fn without_the_group_the_units_start_and_their_groups_read() -> Result<()> {
    let (container, _segment) = boot("sed -i /ringd-monitor/d /etc/group /etc/gshadow")?;
    for (node, group) in [
        ("eth0", "ringd"),
        ("ftn-0", "ringd-ftn"),
        ("jitterbug-eth0", "ringd-jitterbug"),
    ] {
        let command = format!(
            "setpriv --reuid=nobody --regid={group} --clear-groups ringctl -i {node} status"
        );
        container.sh(&command)?;
    }
    let journal = container.journal();
    ensure!(
        !journal.iter().any(|line| line.contains("ringd-monitor")),
        "{journal:#?}"
    );
    Ok(())
}

/// Units of earlier versions have this setting.
fn a_unit_that_hides_the_group_starts_and_reports_this_once() -> Result<()> {
    let (container, _segment) = boot(
        "mkdir -p /etc/systemd/system/ringd-ftn@.service.d
         printf '[Service]\\nPrivateUsers=yes\\n' >/etc/systemd/system/ringd-ftn@.service.d/users.conf",
    )?;
    let denied = "cannot let the group ringd-monitor use the monitor socket /run/ringd-ftn/ftn-0";
    container.wait_for_line(WAIT_LIMIT, |line| line.contains(denied))?;
    // The daemon checks its sockets once per second.
    thread::sleep(Duration::from_secs(2));
    let lines = container.journal();
    let lines = lines.iter().filter(|line| line.contains(denied)).count();
    ensure!(lines == 1, "{lines}");
    let status = "setpriv --reuid=nobody --regid=ringd-ftn --clear-groups ringctl -i ftn-0 status";
    container.sh(status).map(drop)
}

fn watch(daemon: &Daemon) -> Result<(UnixStream, String)> {
    let mut stream = UnixStream::connect(monitor_socket_path(&daemon.control()))?;
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    // A daemon without a free place answers and closes the connection before it reads.
    let _ = stream.write_all(b"{\"request\":\"watch\"}\n");
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    Ok((stream, line))
}

fn monitors_take_no_places_of_programs_that_lock() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let daemon = segment.node(0).ringd(binaries()).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    let mut watchers = Vec::new();
    let refusal = loop {
        let (stream, line) = watch(&daemon)?;
        if !line.starts_with("{\"snapshot\"") {
            break line;
        }
        watchers.push(stream);
    };
    ensure!(refusal.contains("clients; try again later"), "{refusal}");
    ensure!(watchers.len() == 64, "{}", watchers.len());
    let run = ringctl(&daemon, &["run", "-n", "--", "true"]).output()?;
    ensure!(run.status.success(), "{run:?}");
    Ok(())
}
