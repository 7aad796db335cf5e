//! Names of machines in all outputs in which people read addresses.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use ring_segment::{Layout, Ring, Test, Timing, binaries, limit, tests};
use serde_json::Value;
use tempfile::NamedTempFile;

use crate::locks::program::Running;
use crate::locks::{WAIT_LIMIT, connect, form_with, ringctl, wait_until_holder_is_known};

pub(super) fn tests() -> Vec<Test> {
    tests![
        names_of_the_hosts_file_are_shown_with_each_address,
        host_names_of_the_machines_are_shown_with_each_address,
        machines_with_one_host_name_are_told_apart_by_their_addresses,
        a_name_of_the_hosts_file_has_priority_over_announced_names,
    ]
}

/// Returns a ring of machines with these host names. A member counts as silent after 3.2 s.
fn form_named(host_names: &'static [&str]) -> Result<Ring> {
    let count = host_names.len();
    let segment = Layout::new(count).addresses().bridge()?;
    let timing = Timing::stall_tolerant(Duration::from_millis(25));
    let next = AtomicUsize::new(0);
    let ring = Ring::start_with(segment, count, timing, binaries(), move |ringd| {
        ringd.host_name(host_names[next.fetch_add(1, Ordering::Relaxed)])
    })?;
    ring.wait_until_formed()?;
    for daemon in &ring.daemons {
        daemon.wait_for_status(WAIT_LIMIT, |status| {
            let members = status["members"].as_array();
            let names = members.map(|it| it.iter().map(|member| member["name"].as_str()));
            names.is_some_and(|it| it.eq(host_names.iter().map(|&name| Some(name))))
        })?;
    }
    Ok(ring)
}

fn host_names_of_the_machines_are_shown_with_each_address() -> Result<()> {
    let mut ring = form_named(&["db1", "db2.lab"])?;
    let [one, two] = [0, 1].map(|at| ring.macs()[at]);
    let named = format!("{two} (db2.lab)");
    let [first, second] = [0, 1].map(|at| &ring.daemons[at]);
    let line = Running::start(&mut ringctl(first, &["watch"]))?.line();
    let number = line.split(' ').next().unwrap_or_default();
    // This watch begins without a status, so that its names come from the events.
    let later = ["watch", "--from", &(number.parse::<u64>()? + 1).to_string()];
    let mut watch = Running::start(&mut ringctl(first, &later))?;
    let mut json_watch = Running::start(&mut ringctl(first, &[&later[..], &["--json"]].concat()))?;
    let mut holder = connect(second)?;
    holder.lock("backup")?;
    holder.expect("granted")?;
    wait_until_holder_is_known(first, "backup")?;

    let status = first.ringctl(&["status"])?;
    let page = String::from_utf8_lossy(&status.stdout).into_owned();
    for line in [
        format!("Interface    eth0, MAC {one} (db1)\n"),
        format!("Owner        {named}\n"),
    ] {
        ensure!(page.contains(&line), "{line} in {page}");
    }
    let status = first.status()?;
    ensure!(status["owner_name"] == "db2.lab", "{status}");
    let refused = first.ringctl(&["run", "-n", "--", "true"])?;
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(errors.contains(&format!("held by {named}")), "{errors}");
    first.wait_for_line(WAIT_LIMIT, |line| {
        line.contains(&format!("member {named} added"))
    })?;
    let named_lock = ["run", "--name", "index", "--", "sh", "-c", "read line"];
    let mut command = ringctl(second, &named_lock);
    let mut running = Running::start(command.stdin(Stdio::piped()))?;
    let mut locks = String::new();
    limit::wait_until("a named lock in the list", || {
        let output = first.ringctl(&["locks"]);
        locks = output.map_or_else(
            |error| error.to_string(),
            |it| String::from_utf8_lossy(&it.stdout).into_owned(),
        );
        locks.contains("index")
    });
    ensure!(locks.contains(&named), "{locks}");
    running.close_input();

    // A host name chooses a member, in any spelling. The token does not move earlier, because a program holds it.
    let yielded = second.ringctl(&["yield", "DB1"])?;
    ensure!(yielded.status.success(), "{yielded:?}");
    holder.expect("lost")?;

    ring.daemons[1].kill()?;
    ring.daemons[0].wait_for_line(WAIT_LIMIT, |line| {
        line.contains(&format!("member {named} is silent"))
    })?;
    while !watch.line().contains(&format!(" member {named}")) {}
    loop {
        let message: Value = serde_json::from_str(&json_watch.line())?;
        let event = &message["event"];
        if event["member"] == two.to_string() {
            ensure!(event["member_name"] == "db2.lab", "{event}");
            break;
        }
    }
    Ok(())
}

fn machines_with_one_host_name_are_told_apart_by_their_addresses() -> Result<()> {
    let ring = form_named(&["web", "web", "db1"])?;
    let [one, two] = [0, 1].map(|at| ring.macs()[at]);
    let daemon = &ring.daemons[2];
    let status = daemon.ringctl(&["status", "--json"])?;
    let status: Value = serde_json::from_slice(&status.stdout)?;
    for (at, mac) in [(0, one), (1, two)] {
        let member = &status["members"][at];
        let is_told_apart = member["mac"] == mac.to_string() && member["name"] == "web";
        ensure!(is_told_apart, "{status}");
    }
    let refused = daemon.ringctl(&["forget", "web"])?;
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(
        errors.contains("several members of the ring are called 'web'"),
        "{errors}"
    );
    Ok(())
}

fn a_name_of_the_hosts_file_has_priority_over_announced_names() -> Result<()> {
    let _hosts = use_hosts_file("10.77.0.2 web")?;
    let ring = form_named(&["web", "web"])?;
    let refused = ring.daemons[0].ringctl(&["forget", "web"])?;
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    let is_second = errors.contains(&ring.macs()[1].to_string());
    ensure!(is_second && errors.contains("is alive"), "{errors}");
    Ok(())
}

/// Replaces the file with the names of machines for this test.
fn use_hosts_file(lines: &str) -> Result<NamedTempFile> {
    let mut hosts = NamedTempFile::new()?;
    writeln!(hosts, "127.0.0.1 localhost\n{lines}")?;
    let mut mount = Command::new("mount");
    mount.arg("--bind").arg(hosts.path()).arg("/etc/hosts");
    ensure!(mount.status()?.success(), "the hosts file is in place");
    Ok(hosts)
}

fn names_of_the_hosts_file_are_shown_with_each_address() -> Result<()> {
    let _hosts = use_hosts_file("10.77.0.1 alpha\n10.77.0.2 beta")?;
    // With this heartbeat a member counts as silent after 3.2 s.
    let mut ring = form_with(2, Timing::stall_tolerant(Duration::from_millis(25)))?;
    let named = format!("{} (beta)", ring.macs()[1]);
    let [alpha, beta] = [0, 1].map(|at| &ring.daemons[at]);
    let once = ["once", "nightly", "--every", "1h", "--", "true"];
    Running::start(&mut ringctl(beta, &once))?.expect_code(0)?;
    let mut holder = connect(beta)?;
    holder.lock("backup")?;
    holder.expect("granted")?;
    wait_until_holder_is_known(alpha, "backup")?;

    let status = alpha.ringctl(&["status"])?;
    let page = String::from_utf8_lossy(&status.stdout).into_owned();
    ensure!(page.contains(&format!("Owner        {named}\n")), "{page}");
    ensure!(page.contains(&format!(" ago on {named}, every")), "{page}");
    let refused = alpha.ringctl(&["run", "-n", "--", "true"])?;
    let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(errors.contains(&format!("held by {named}")), "{errors}");
    let mut watch = Running::start(&mut ringctl(alpha, &["watch"]))?;
    let line = watch.line();
    ensure!(line.contains(&format!(" owner {named}, ")), "{line}");
    let mut again = Running::start(&mut ringctl(alpha, &once))?;
    let errors = again.errors();
    ensure!(errors.contains(&named), "{errors}");
    again.expect_code(0)?;
    holder.unlock()?;

    ring.daemons[1].kill()?;
    ring.daemons[0].wait_for_line(WAIT_LIMIT, |line| {
        line.contains(&named) && line.contains(" is silent")
    })?;
    let check = ring.daemons[0].ringctl(&["status", "--check"])?;
    let line = String::from_utf8_lossy(&check.stdout).into_owned();
    ensure!(line.contains(&named), "{line}");
    Ok(())
}
