//! A daemon that has reached its limit of open files. The daemon's ring must continue, and the daemon must use little
//! CPU time.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{
    Daemon, Segment, Test, Timing, WAIT_LIMIT, binaries, is_claim, is_heartbeat, proc, tests,
};

const HEARTBEAT: Duration = Duration::from_millis(100);
const HEARTBEATS: usize = 10;

pub(super) fn tests() -> Vec<Test> {
    tests![
        clients_leave_the_ring_the_files_that_it_needs,
        a_daemon_without_descriptors_uses_little_cpu_and_serves_again_later,
    ]
}

/// Returns constants that make the token rest. So the daemon sends few events, and watchers that do not read stay
/// connected.
fn timing() -> Timing {
    Timing::tolerant(HEARTBEAT).idle_hold(HEARTBEAT)
}

/// Connects a client that watches events. A watcher may stay connected for any time.
fn connect_watcher(daemon: &Daemon) -> Result<UnixStream> {
    let mut stream = UnixStream::connect(daemon.control()).context("no process listens")?;
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    // A daemon at its limit may already have refused the connection.
    match stream.write_all(b"{\"request\":\"watch\"}\n") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(stream),
    }
}

fn first_line(stream: &UnixStream) -> Result<String> {
    let mut line = String::new();
    BufReader::new(stream)
        .read_line(&mut line)
        .context("no answer")?;
    Ok(line)
}

/// Checks that a daemon uses little CPU time while the heartbeats of the ring continue.
fn check_rests(daemon: &Daemon, segment: &Segment) -> Result<()> {
    let (before, start) = (proc::cpu_time(daemon.pid())?, Instant::now());
    for _ in 0..HEARTBEATS {
        let mark = segment.capture().mark();
        segment
            .capture()
            .wait_from(mark, WAIT_LIMIT, is_heartbeat)?;
    }
    let (took, passed) = (
        proc::cpu_time(daemon.pid())?.saturating_sub(before),
        start.elapsed(),
    );
    ensure!(took < passed / 4, "{took:?} of {passed:?}");
    Ok(())
}

fn clients_leave_the_ring_the_files_that_it_needs() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let start = |at: usize| segment.node(at).ringd(binaries()).timing(&timing());
    let limited = start(0).through(["prlimit", "--nofile=96:96"]).spawn()?;
    let other = start(1).spawn()?;
    for daemon in [&limited, &other] {
        daemon.wait_for_status(WAIT_LIMIT, |status| {
            status["members"]
                .as_array()
                .is_some_and(|all| all.len() == 2)
        })?;
    }
    // The number exceeds the daemon's limit of files and its backlog of connections together.
    let clients: Vec<_> = (0..150)
        .map(|_| connect_watcher(&limited))
        .collect::<Result<_>>()?;
    let last = clients.last().context("status has no clients")?;
    let answer = first_line(last)?;
    ensure!(answer.contains("clients; try again later"), "{answer}");

    let flap = "link set eth0 down\nlink set eth0 up\n";
    segment.node(0).ns().ip(flap)?;
    limited.wait_for_line(WAIT_LIMIT, |line| line.contains("eth0 is up"))?;
    let mark = segment.capture().mark();
    segment
        .capture()
        .wait_from(mark, WAIT_LIMIT, |seen| seen.port == 0 && is_claim(seen))?;
    check_rests(&limited, &segment)
}

fn a_daemon_without_descriptors_uses_little_cpu_and_serves_again_later() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let start = |at: usize| segment.node(at).ringd(binaries()).timing(&timing());
    let (limited, other) = (start(0).spawn()?, start(1).spawn()?);
    other.wait_for_status(WAIT_LIMIT, |status| {
        status["members"]
            .as_array()
            .is_some_and(|all| all.len() == 2)
    })?;
    let limit = |limit: usize| -> Result<()> {
        let status = Command::new("prlimit")
            .args(["--pid", &limited.pid().to_string()])
            .arg(format!("--nofile={limit}:"))
            .status()?;
        ensure!(
            status.success(),
            "prlimit of util-linux ended with {status}"
        );
        Ok(())
    };
    let first_free = || -> Result<usize> {
        let open = fs::read_dir(format!("/proc/{}/fd", limited.pid()))?
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect::<BTreeSet<usize>>();
        let mut all = 0..=open.len();
        all.find(|fd| !open.contains(fd))
            .context("a descriptor is free")
    };
    let free = first_free()?;
    limit(free)?;
    let client = connect_watcher(&limited)?;
    limited.wait_for_line(WAIT_LIMIT, |line| line.contains("clients have to wait"))?;
    check_rests(&limited, &segment)?;
    // The link comes back while no descriptor is left for its socket.
    segment.node(0).ns().ip("link set eth0 down\n")?;
    // If the daemon learns of the change before a receive fails, it keeps the socket, and no descriptor is left to
    // query the link.
    limited.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("eth0 is down") || line.contains("cannot look up eth0")
    })?;
    limit(first_free()?)?;
    segment.node(0).ns().ip("link set eth0 up\n")?;
    limited.wait_for_line(WAIT_LIMIT, |line| {
        line.contains("Too many open files") && line.contains("the daemon retries every")
    })?;
    check_rests(&limited, &segment)?;
    let from = limited.output().len();
    limit(free + 64)?;
    limited.wait_for_line_from(from, WAIT_LIMIT, |line| line.contains("eth0 is up"))?;
    let answer = first_line(&client)?;
    ensure!(answer.contains("snapshot"), "{answer}");
    Ok(())
}
