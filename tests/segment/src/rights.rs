//! Checks the rights of the users of a daemon under systemd: monitors may read everything, but may not change anything.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_control::jitterbug::JitterbugRequest;
use ring_control::lab2::RingRequest;
use ring_control::{MONITOR_GROUP, NodeName, Request, Right, SystemRequest, monitor_socket_path};

use crate::container::Container;
use crate::limit::WAIT_LIMIT;

/// The address of the exporter.
const EXPORTER: &str = "127.0.0.1:9464";
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Arguments of `ringctl watch`, and commands that wait for its first line, which is the state of the node.
const WATCH: &str = "watch >/tmp/watched &
    for _ in $(seq 600); do grep ' now ' /tmp/watched && break; sleep 0.1; done
    kill $!";
/// A part of the error message for a user who may not use a socket.
const DENIAL: &str = "ermission denied";
/// A part of the answer to a request for which the client has no right.
const REFUSAL: &str = "this socket only answers questions";

/// Checks the rights at the daemon with this control socket. `O` is the type of the requests of its system. `reading`
/// contains commands of `ringctl` that only read, in addition to the commands that all systems know. The container has
/// the users of the units, and the unit of the exporter.
pub fn check_rights<O: SystemRequest>(
    container: &Container,
    control: &str,
    reading: &[&str],
) -> Result<()> {
    let node = NodeName::from_socket_path(Path::new(control)).context("a control socket")?;
    let node = node.to_string();
    check_commands(container, &node, reading)?;
    check_requests::<O>(&container.path(control))?;
    check_exporter(container, &node)
}

/// Runs `ringctl` as a user without rights, except that the user is a member of `group`.
fn ringctl(container: &Container, group: &str, node: &str, command: &str) -> Result<Output> {
    let become_it = format!("setpriv --reuid=nobody --regid={group} --clear-groups");
    container.output(&[
        "sh",
        "-c",
        &format!("{become_it} ringctl -i {node} {command}"),
    ])
}

fn output(done: Output) -> String {
    String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned()
}

fn check_commands(container: &Container, node: &str, reading: &[&str]) -> Result<()> {
    let run = |group, command| ringctl(container, group, node, command);
    for command in [
        "status",
        "status --json",
        "status --check",
        "metrics",
        "top -n 1",
    ]
    .iter()
    .chain(reading)
    {
        // A stalled daemon may report trouble, which has no relation to rights.
        let seen = output(run(MONITOR_GROUP, command)?);
        let is_refused = seen.contains(DENIAL) || seen.contains(REFUSAL);
        ensure!(!is_refused, "{command}: {seen}");
        let seen = output(run("nogroup", command)?);
        ensure!(seen.contains(DENIAL), "{command}: {seen}");
    }
    let watched = run(MONITOR_GROUP, WATCH)?;
    ensure!(!watched.stdout.is_empty(), "{watched:?}");
    for command in [
        "run -n true",
        "lock --pipe </dev/null | cat",
        "once nightly --every 20h -n true",
        "yield",
        "pause",
        "resume",
        "forget 02:00:00:00:00:01",
        "data set x",
    ] {
        let seen = output(run(MONITOR_GROUP, command)?);
        ensure!(seen.contains(DENIAL), "{command}: {seen}");
    }
    Ok(())
}

/// Sends each request that exists in any system to the monitor socket.
fn check_requests<O: SystemRequest>(control: &Path) -> Result<()> {
    let ring = Request::<RingRequest>::examples().map(|it| serde_json::to_string(&it));
    let jitterbug = Request::<JitterbugRequest>::examples().map(|it| serde_json::to_string(&it));
    for line in ring.chain(jitterbug) {
        let line = line?;
        // A request that the system cannot read is refused too.
        let right = serde_json::from_str::<Request<O>>(&line).map(|it| it.right());
        let answer = answer(&monitor_socket_path(control), &line)?;
        let is_right = match right {
            Ok(Right::Read) => !answer.contains(REFUSAL),
            Ok(Right::Act) => answer.contains(REFUSAL),
            Err(_) => answer.starts_with("{\"error\""),
        };
        ensure!(is_right, "{line}: {answer}");
    }
    Ok(())
}

fn answer(socket: &Path, request: &str) -> Result<String> {
    let mut stream = UnixStream::connect(socket).context("no process listens")?;
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    writeln!(stream, "{request}")?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(line)
}

/// Checks that the unit of the exporter needs no right to act.
fn check_exporter(container: &Container, node: &str) -> Result<()> {
    let unit = container.run(&["systemd-escape", "--template=ringd-exporter@.service", node])?;
    let unit = unit.trim();
    container.run(&["systemctl", "start", unit])?;
    let groups = container.show(unit, "SupplementaryGroups")?;
    ensure!(groups == MONITOR_GROUP, "{groups}");
    let scrape = || -> Result<String> {
        let mut stream = TcpStream::connect(EXPORTER)?;
        stream.set_read_timeout(Some(WAIT_LIMIT))?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    // A stalled daemon may not answer at first.
    let up = format!("ringd_up{{daemon=\"{node}\"}} 1\n");
    let deadline = Instant::now() + WAIT_LIMIT;
    loop {
        let metrics = container.node().ns().run(scrape)?;
        if matches!(&metrics, Ok(text) if text.contains(&up)) {
            break;
        }
        ensure!(Instant::now() < deadline, "{metrics:?}");
        thread::sleep(POLL_INTERVAL);
    }
    container.run(&["systemctl", "stop", unit]).map(drop)
}
