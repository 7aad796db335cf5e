//! Answers of a daemon to an operator's programs. The answers identify the daemon, and report whether it is in a ring.

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_segment::{
    Daemon, Layout, Node, Ring, Seen, Segment, SharedRing, Test, Timing, WAIT_LIMIT, binaries,
    tests,
};
use serde_json::Value;
use std::fs::{self};
use std::thread;

use super::environment::{HEARTBEAT, ringd_with_short_times};

pub(super) fn tests() -> Vec<Test> {
    tests![
        ringctl_finds_the_only_daemon_without_its_name,
        monitoring_learns_from_the_exit_code_whether_the_node_is_in_a_ring,
        monitoring_learns_that_a_machine_is_cut_off,
        if_several_daemons_run_the_user_must_name_one,
        if_several_daemons_run_ringctl_asks_the_only_one_that_has_the_command,
        a_daemon_finds_an_interface_by_its_other_names_and_waits_for_it,
        a_missing_daemon_is_reported,
        a_hanging_client_does_not_stop_the_ring,
        json_lines_are_json,
        each_change_gets_a_line,
    ]
}

/// Runs `ringctl` without `--socket`. Returns the exit code and all output of `ringctl`.
fn ringctl(node: &Node, arguments: &[&str]) -> Result<(Option<i32>, String)> {
    let mut command = std::process::Command::new(binaries().ringctl);
    let streams = [std::process::Stdio::piped(), std::process::Stdio::piped()];
    let [stdout, stderr] = streams;
    let child = node
        .ns()
        .spawn(command.args(arguments).stdout(stdout).stderr(stderr))?;
    let output = child.wait_with_output()?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8(text)?))
}

fn ringctl_finds_the_only_daemon_without_its_name() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    let daemon = ringd_with_short_times(node).default_places().spawn()?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("OWNER"))?;
    for arguments in [
        &["status"][..],
        &["status", "-i", "eth0"],
        &["-i", "eth0", "status"],
    ] {
        let (code, text) = ringctl(node, arguments)?;
        ensure!(
            code == Some(0) && text.contains("OWNER"),
            "{arguments:?}: {code:?}: {text}"
        );
        ensure!(text.contains(&node.mac().to_string()), "{text}");
    }
    ensure!(
        fs::read_dir("/var/lib/ringd")?.count() > 0,
        "the state directory is a different one"
    );
    Ok(())
}

/// Returns the exit code of `ringctl` that shows whether the node is in a ring.
fn in_ring(daemon: &Daemon) -> Result<i32> {
    let output = daemon.ringctl(&["status", "-q"])?;
    ensure!(
        output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
    output.status.code().context("the daemon was killed")
}

fn monitoring_learns_from_the_exit_code_whether_the_node_is_in_a_ring() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    let daemon = ringd_with_short_times(node).spawn()?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("OWNER"))?;
    ensure!(in_ring(&daemon)? == 0);
    node.ns().ip("link set eth0 down\n")?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["link"] != "up")?;
    ensure!(in_ring(&daemon)? == 5);
    let shown = daemon.ringctl(&["status"])?;
    ensure!(shown.status.code() == Some(5), "{shown:?}");
    ensure!(String::from_utf8(shown.stdout)?.contains("LOOSER"));
    node.ns().ip("link set eth0 up\n")?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    ensure!(in_ring(&daemon)? == 0);
    Ok(())
}

/// The machine owns a token, but hears none of the other members.
fn monitoring_learns_that_a_machine_is_cut_off() -> Result<()> {
    let timing = Timing::tolerant(HEARTBEAT);
    let mut ring = Ring::start(Segment::bridge(3)?, 3, timing, binaries())?;
    ring.wait_until_formed()?;
    ring.segment.cut(2)?;
    let alone = |status: &Value| status["state"] == "OWNER" && status["deaf"] == true;
    ring.daemons[2].wait_for_status(WAIT_LIMIT, alone)?;
    ensure!(in_ring(&ring.daemons[2])? == 5);
    for other in &ring.daemons[..2] {
        other.wait_for_status(WAIT_LIMIT, |status| {
            status["state"] == "OWNER" || status["state"] == "WAITER"
        })?;
        ensure!(in_ring(other)? == 0);
    }
    ring.segment.heal(2)?;
    ring.daemons[2].wait_for_status(WAIT_LIMIT, |status| status["deaf"] == false)?;
    ring.wait_until_formed()?;
    ensure!(in_ring(&ring.daemons[2])? == 0);
    // If all other members have left, the remaining member is a complete ring.
    for other in &mut ring.daemons[1..] {
        other.signal(Signal::SIGTERM)?;
        ensure!(other.wait_exit(WAIT_LIMIT)?.success());
    }
    ring.daemons[0].wait_for_status(WAIT_LIMIT, alone)?;
    ensure!(in_ring(&ring.daemons[0])? == 0);
    Ok(())
}

fn if_several_daemons_run_the_user_must_name_one() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    node.ns()
        .ip("link add veth1 type veth peer name veth2\nlink set veth1 up\nlink set veth2 up\n")?;
    let names = ["eth0", "veth1"];
    let start = |name: &str| {
        ringd_with_short_times(node)
            .interface(name)
            .default_places()
            .spawn()
    };
    let daemons = names.map(start).into_iter().collect::<Result<Vec<_>>>()?;
    for daemon in &daemons {
        daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("OWNER"))?;
    }
    let (code, text) = ringctl(node, &["status"])?;
    ensure!(code == Some(4), "{code:?}: {text}");
    ensure!(names.iter().all(|name| text.contains(name)), "{text}");
    let (code, text) = ringctl(node, &["status", "--json", "-i", "veth1"])?;
    ensure!(code == Some(0), "{code:?}: {text}");
    let status: Value = serde_json::from_str(&text)?;
    ensure!(status["interface"] == "veth1", "{status:#}");
    Ok(())
}

fn if_several_daemons_run_ringctl_asks_the_only_one_that_has_the_command() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    let list = "/etc/ringd/ftn.servers";
    fs::create_dir_all("/etc/ringd")?;
    node.ns()
        .ip("addr add 192.0.2.1/24 dev eth0\nlink set lo up\n")?;
    fs::write(list, "192.0.2.1:7301\n")?;
    let server = node.ringd(binaries()).subcommand("ftn");
    let server = server.option("--servers", list).option("--index", "0");
    let server = server.option("--grace", "0s").default_places().spawn()?;
    server.wait_for_line(WAIT_LIMIT, |line| line.contains("leader"))?;
    let (code, text) = ringctl(node, &["run", "--", "true"])?;
    ensure!(
        code == Some(3) && text.contains("only ftn-0 runs"),
        "{code:?}: {text}"
    );
    let ring = ringd_with_short_times(node).default_places().spawn()?;
    ring.wait_for_line(WAIT_LIMIT, |line| line.contains("OWNER"))?;
    for arguments in [
        &["once", "nightly", "--every", "20h", "--", "true"][..],
        &["token", "run", "nightly", "--", "true"],
        &["data", "set", "x"],
    ] {
        let (code, text) = ringctl(node, arguments)?;
        ensure!(code == Some(0), "{arguments:?}: {code:?}: {text}");
    }
    let (code, text) = ringctl(node, &["status"])?;
    ensure!(code == Some(4), "{code:?}: {text}");
    Ok(())
}

fn a_daemon_finds_an_interface_by_its_other_names_and_waits_for_it() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let node = segment.node(0);
    let other = "a-name-longer-than-fifteen-bytes";
    let waiting = ringd_with_short_times(node)
        .interface(other)
        .flag("--wait-for-interface")
        .through(["setsid"]);
    let daemon = waiting.default_places().spawn()?;
    daemon.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("waiting for the interface: there is no interface")
    })?;
    // A reload does not end a daemon that waits.
    daemon.signal(Signal::SIGHUP)?;
    node.ns()
        .ip(&format!("link property add dev eth0 altname {other}\n"))?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("reload it again"))?;
    daemon.wait_for_line(WAIT_LIMIT, |line| line.contains("OWNER"))?;
    for name in ["eth0", other] {
        let (code, text) = ringctl(node, &["status", "--json", "-i", name])?;
        ensure!(code == Some(0), "{code:?}: {text}");
        let status: Value = serde_json::from_str(&text)?;
        ensure!(status["interface"] == "eth0", "{status:#}");
    }
    // Both names mean the same ring.
    let mut second = ringd_with_short_times(node)
        .interface("eth0")
        .default_places()
        .spawn()?;
    ensure!(second.wait_exit(WAIT_LIMIT)?.code() == Some(6));
    Ok(())
}

fn a_missing_daemon_is_reported() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let (code, text) = ringctl(segment.node(0), &["status", "-i", "nowhere0"])?;
    ensure!(
        code == Some(3) && text.contains("nowhere0"),
        "{code:?}: {text}"
    );
    ensure!(!text.contains("panicked"), "{text}");
    Ok(())
}

fn a_hanging_client_does_not_stop_the_ring() -> Result<()> {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    let timing = Timing::stall_tolerant(HEARTBEAT);
    let ring = SharedRing::on(Layout::new(2), timing, binaries(), &[])?;
    let path = ring.daemons[0].control();
    // Some clients send nothing, some send half a request, some never read, and some send garbage.
    let mut clients = Vec::new();
    for number in 0..40 {
        let Ok(mut client) = UnixStream::connect(&path) else {
            continue;
        };
        client.set_nonblocking(true)?;
        match number % 4 {
            0 => {}
            1 => drop(client.write(&[0, 0, 0])),
            2 => drop(client.write(&[0xff; 4096])),
            _ => {
                // The loop ends when neither the daemon nor the socket's buffer accepts more bytes.
                while client.write(b"{\"status\":null}\n").is_ok() {}
            }
        }
        clients.push(client);
    }
    let from = ring_segment::now();
    thread::sleep(2 * timing.waiter_timeout());
    ring_segment::invariants::check_one_owner(&ring.segment.capture().frames(), from)?;
    let goes_round = |frames: &[Seen]| {
        let since = frames.partition_point(|seen| seen.at < from);
        (ring_segment::invariants::tenures(&frames[since..]).len() > 5).then_some(())
    };
    ring.segment.capture().wait_until(WAIT_LIMIT, goes_round)?;
    drop(clients);
    ring.statuses()?;
    Ok(())
}

fn json_lines_are_json() -> Result<()> {
    let segment = Segment::bridge(1)?;
    let mut daemon = ringd_with_short_times(segment.node(0))
        .option("--log-format", "json")
        .flag("-v")
        .spawn()?;
    daemon.wait_for_status(WAIT_LIMIT, |status| status["state"] == "OWNER")?;
    daemon.signal(Signal::SIGTERM)?;
    ensure!(daemon.wait_exit(WAIT_LIMIT)?.success());
    let lines = daemon.output();
    ensure!(lines.len() >= 3, "{lines:?}");
    for line in &lines {
        let value: Value =
            serde_json::from_str(line).with_context(|| format!("no JSON: {line}"))?;
        ensure!(value.is_object(), "{line}");
    }
    Ok(())
}

fn each_change_gets_a_line() -> Result<()> {
    let timing = Timing::tolerant(HEARTBEAT);
    let mut ring = Ring::start(Segment::bridge(2)?, 1, timing, binaries())?;
    // The first node is certain to be elected only while no other node runs.
    ring.daemons[0].wait_for_line(WAIT_LIMIT, |line| line.contains("-> OWNER"))?;
    ring.join()?;
    ring.wait_until_formed()?;
    let other = ring.macs()[1].to_string();
    let first = &ring.daemons[0];
    first.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("member") && line.contains(&other)
    })?;
    ring.daemons[1].signal(Signal::SIGTERM)?;
    first.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("leaving") && line.contains(&other)
    })?;
    Ok(())
}
