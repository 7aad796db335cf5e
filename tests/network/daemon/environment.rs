//! Environments in which a daemon cannot work. Each environment causes a specific error message and exit code.

use anyhow::{Context, Result, ensure};
use ring_segment::{Daemon, Node, Ringd, Segment, Test, Timing, WAIT_LIMIT, binaries, proc, tests};
use serde_json::json;
use std::fs::{self};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub(super) const HEARTBEAT: Duration = Duration::from_millis(100);

pub(super) fn tests() -> Vec<Test> {
    tests![
        the_error_names_a_missing_interface_and_the_existing_interfaces,
        an_interface_that_is_not_ethernet_is_refused,
        a_daemon_waits_for_an_interface_that_is_down,
        a_missing_permission_is_explained,
        a_user_with_only_the_necessary_capability_can_run_a_daemon,
        the_clock_is_known_where_proc_shows_only_processes,
        a_daemon_raises_its_priority_if_it_may,
        a_second_daemon_on_the_interface_is_refused,
        a_second_daemon_is_refused_although_it_sees_other_files,
        an_unprivileged_user_cannot_keep_a_daemon_from_starting,
        constants_that_cannot_work_are_refused,
        wrong_usage_is_refused,
        macvlan_interfaces_form_a_ring,
    ]
}

pub(super) fn ringd_with_short_times(node: &Node) -> Ringd {
    node.ringd(binaries()).timing(&Timing::tolerant(HEARTBEAT))
}

/// Waits for the daemon's exit. Checks its exit code and its error, and checks that it did not panic.
pub(super) fn check_exit(daemon: &mut Daemon, code: i32, words: &[&str]) -> Result<()> {
    let status = daemon.wait_exit(WAIT_LIMIT)?;
    // The daemon's last output may arrive after its exit.
    let says = |line: &str| words.iter().all(|word| line.contains(word));
    let line = daemon.wait_for_line(WAIT_LIMIT, says)?;
    ensure!(
        status.code() == Some(code),
        "the daemon exited with {status}: {line}"
    );
    let output = daemon.output().join("\n");
    ensure!(!output.contains("panicked"), "{output}");
    Ok(())
}

fn the_error_names_a_missing_interface_and_the_existing_interfaces() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = ringd_with_short_times(segment.node(0))
        .interface("eth7")
        .spawn()?;
    check_exit(&mut daemon, 3, &["eth7", "eth0"])
}

fn an_interface_that_is_not_ethernet_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    node.ns().ip("link set lo up\n")?;
    let mut daemon = ringd_with_short_times(node).interface("lo").spawn()?;
    check_exit(&mut daemon, 4, &["lo", "not an Ethernet"])
}

fn a_daemon_waits_for_an_interface_that_is_down() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    node.ns().ip("link set eth0 down\n")?;
    let daemon = ringd_with_short_times(node).spawn()?;
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("eth0") && line.contains("down")
    })?;
    let status = daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "LOOSER")?;
    ensure!(status["link"] != "up", "{status:#}");
    ensure!(segment.capture().mark() == 0, "the daemon has sent a frame");
    node.ns().ip("link set eth0 up\n")?;
    daemon.wait_for_status(WAIT_LIMIT, |status| {
        status["state"] == "OWNER" && status["link"] == "up"
    })?;
    Ok(())
}

fn a_missing_permission_is_explained() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let without = [
        "setpriv",
        "--bounding-set",
        "-net_raw",
        "--inh-caps",
        "-net_raw",
    ];
    let mut daemon = ringd_with_short_times(segment.node(0))
        .through(without)
        .spawn()?;
    check_exit(
        &mut daemon,
        5,
        &["eth0", "CAP_NET_RAW", "sudo", "setcap cap_net_raw+ep"],
    )
}

fn a_user_with_only_the_necessary_capability_can_run_a_daemon() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let only = [
        "setpriv",
        "--bounding-set",
        "-all,+net_raw",
        "--inh-caps",
        "-all,+net_raw",
    ];
    let daemon = ringd_with_short_times(segment.node(0))
        .through(only)
        .spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    Ok(())
}

/// The systemd unit hides the other files of `/proc` in the same way.
fn the_clock_is_known_where_proc_shows_only_processes() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mount = "mount -t proc -o subset=pid proc /proc && exec \"$@\"";
    let through = ["unshare", "--mount", "sh", "-c", mount, "sh"];
    let daemon = ringd_with_short_times(segment.node(0))
        .through(through)
        .spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    let grant = daemon.ask(&json!({"request": "lock"}), "granted")?;
    ensure!(grant["clock"]["offset_ns"].is_i64(), "{grant}");
    Ok(())
}

fn a_daemon_raises_its_priority_if_it_may() -> Result<()> {
    let segment = Segment::bridge(1)?;
    // Nice values are relative. The shell may fail to lower its nice value, which the test ignores.
    let own = Command::new("nice").output()?;
    let own: i32 = String::from_utf8(own.stdout)?.trim().parse()?;
    let allowed = Command::new("nice")
        .args(["-n", &(-10 - own).to_string(), "nice"])
        .stderr(Stdio::null())
        .output()?;
    let allowed = String::from_utf8(allowed.stdout)?;
    let daemon = ringd_with_short_times(segment.node(0)).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |_| true)?;
    let nice = proc::nice(format!("{0}/task/{0}", daemon.pid()))?;
    ensure!(
        nice.to_string() == allowed.trim(),
        "the daemon runs at nice {nice} instead of {allowed}"
    );
    Ok(())
}

fn a_second_daemon_on_the_interface_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut first = ringd_with_short_times(segment.node(0)).spawn()?;
    first.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    let mut second = ringd_with_short_times(segment.node(0)).spawn()?;
    check_exit(&mut second, 6, &["eth0", "another ringd"])?;
    ensure!(first.poll_running()?, "the first daemon was disturbed");
    first.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    // The lock must not outlive the process that holds it.
    first.kill()?;
    second.start()?;
    second.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    Ok(())
}

fn a_second_daemon_is_refused_although_it_sees_other_files() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut first = ringd_with_short_times(segment.node(0)).spawn()?;
    first.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    // The second daemon is like a daemon in a container that shares the network, or like a daemon of a user with a
    // different directory.
    let elsewhere = "mkdir -p /run/ringd && mount -t tmpfs tmpfs /run/ringd && exec \"$@\"";
    let elsewhere = ["unshare", "--mount", "sh", "-c", elsewhere, "sh"];
    let mut second = ringd_with_short_times(segment.node(0))
        .through(elsewhere)
        .spawn()?;
    check_exit(&mut second, 6, &["eth0", "another ringd"])?;
    ensure!(first.poll_running()?, "the first daemon was disturbed");
    // While the link is down, neither daemon can receive. When the link is up, both daemons could receive.
    segment.node(0).ns().ip("link set eth0 down\n")?;
    first.wait_for_status(WAIT_LIMIT, |status| status["link"] != "up")?;
    second.start()?;
    second.wait_for_status(WAIT_LIMIT, |status| status["link"] != "up")?;
    segment.node(0).ns().ip("link set eth0 up\n")?;
    let both = [&first, &second];
    let is_out = |daemon: &&Daemon| {
        let status = daemon.status();
        status.is_ok_and(|status| status["link"] == "is in use by another ringd")
    };
    let give_up = Instant::now() + WAIT_LIMIT;
    while !both.iter().any(is_out) {
        ensure!(
            Instant::now() < give_up,
            "both daemons run on one interface"
        );
        thread::sleep(Duration::from_millis(10));
    }
    second.kill()?;
    first.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    Ok(())
}

fn an_unprivileged_user_cannot_keep_a_daemon_from_starting() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    // Any user may bind any abstract socket name. Any user may also connect to sockets and lock files whose modes
    // permit this.
    let name = SocketAddr::from_abstract_name("ringd/eth0")?;
    let _occupied = node.ns().run(|| UnixListener::bind_addr(&name))??;
    let daemon = ringd_with_short_times(node).spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    for entry in fs::read_dir("/run/ringd")? {
        let entry = entry?;
        let mode = entry.metadata()?.mode() & 0o777;
        ensure!(mode == 0o600, "{}: {mode:o}", entry.path().display());
    }
    Ok(())
}

fn constants_that_cannot_work_are_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let cases: [(&[&str], &str); 11] = [
        (&["--heartbeat", "0ms"], "heartbeat"),
        (&["--heartbeat", "10us"], "set --heartbeat 1ms or more"),
        (&["--take-timeout", "10us"], "set --take-timeout"),
        (&["--take-timeout", "0ns"], "take-timeout"),
        (&["--take-attempts", "0"], "take-attempts"),
        (&["--waiter-intervals", "0"], "waiter-intervals"),
        (&["--waiter-intervals", "1"], "waiter-intervals"),
        (&["--answer-intervals", "3"], "answer-intervals"),
        (
            &["--heartbeat", "10ms", "--take-timeout", "20ms"],
            "a failed handover of 70ms",
        ),
        (&["--ethertype", "0x0800"], "0x0800"),
        (&["--max-members", "1"], "max-members"),
    ];
    for (arguments, word) in cases {
        let ringd = segment.node(0).ringd(binaries());
        let ringd = arguments
            .iter()
            .fold(ringd, |ringd, argument| ringd.flag(argument));
        check_exit(&mut ringd.spawn()?, 2, &[word]).with_context(|| format!("{arguments:?}"))?;
    }
    ensure!(
        segment.capture().mark() == 0,
        "a refused daemon has sent a frame"
    );
    Ok(())
}

fn wrong_usage_is_refused() -> Result<()> {
    let segment = Segment::bridge(1)?;
    for argument in [
        "--heartbeat=100",
        "--heartbeat=fast",
        "--frequency=1ms",
        "--ethertype=zz",
    ] {
        let mut daemon = segment.node(0).ringd(binaries()).flag(argument).spawn()?;
        let option = argument.split('=').next().unwrap_or(argument);
        check_exit(&mut daemon, 2, &[option]).with_context(|| argument.to_owned())?;
    }
    Ok(())
}

fn macvlan_interfaces_form_a_ring() -> Result<()> {
    let segment = Segment::bridge(2)?;
    for node in segment.nodes() {
        node.ns()
            .ip("link add mv0 link eth0 type macvlan mode bridge\n\
             link set mv0 up\n")?;
    }
    let start = |node: &Node| ringd_with_short_times(node).interface("mv0").spawn();
    let daemons = segment
        .nodes()
        .iter()
        .map(start)
        .collect::<Result<Vec<_>>>()?;
    for daemon in &daemons {
        daemon.wait_for_status(WAIT_LIMIT, |status| {
            let members = status["members"].as_array();
            members.is_some_and(|members| members.len() == 2) && !status["owner"].is_null()
        })?;
    }
    let frames = segment.capture().frames();
    ring_segment::invariants::check_all(&frames)?;
    let macs: Vec<_> = segment.nodes().iter().map(Node::mac).collect();
    ensure!(
        frames.iter().all(|seen| !macs.contains(&seen.src)),
        "the frame's MAC is not the MAC of the macvlan"
    );
    Ok(())
}
