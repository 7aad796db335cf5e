//! A daemon that may open no more files: its ring goes on, and it rests.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_segment::{
    Daemon, PATIENCE, Segment, Test, Timing, binaries, is_claim, is_heartbeat, tests,
};

const HEARTBEAT: Duration = Duration::from_millis(100);
/// The kernel's unit of processor time, as `/proc` has it.
const TICK: Duration = Duration::from_millis(10);
/// Heartbeats that a measurement takes.
const HEARTBEATS: usize = 10;

pub(super) fn tests() -> Vec<Test> {
    tests![
        clients_leave_the_ring_the_files_that_it_needs,
        who_cannot_open_a_file_rests_and_serves_again_later,
    ]
}

/// The token rests between its turns, so that those who watch and do not read may stay.
fn timing() -> Timing {
    Timing::patient(HEARTBEAT).idle_hold(HEARTBEAT)
}

/// A client that may stay as long as it likes, since it watches.
fn watcher(daemon: &Daemon) -> Result<UnixStream> {
    let mut stream = UnixStream::connect(daemon.control()).context("nobody listens")?;
    stream.set_read_timeout(Some(PATIENCE))?;
    // One that there is no room for may have been told so, and left, by now.
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

/// The processor time that a daemon has taken.
fn cpu(daemon: &Daemon) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", daemon.pid()))?;
    // Fields 14 and 15; the second is in brackets and may hold anything.
    let fields = stat.rsplit_once(')').context("no process's state")?.1;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u32 = ticks.map(|field| field.parse().unwrap_or(0)).sum();
    Ok(TICK * ticks)
}

/// That a daemon takes little of the processor's time while the ring's heartbeats go on.
fn rests(daemon: &Daemon, segment: &Segment) -> Result<()> {
    let (before, start) = (cpu(daemon)?, Instant::now());
    for _ in 0..HEARTBEATS {
        let mark = segment.capture().mark();
        segment.capture().wait_from(mark, PATIENCE, is_heartbeat)?;
    }
    let (took, passed) = (cpu(daemon)?.saturating_sub(before), start.elapsed());
    ensure!(took < passed / 4, "{took:?} of {passed:?}");
    Ok(())
}

fn clients_leave_the_ring_the_files_that_it_needs() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let start = |at: usize| segment.node(at).ringd(binaries()).timing(&timing());
    let limited = start(0).through(["prlimit", "--nofile=96:96"]).spawn()?;
    let other = start(1).spawn()?;
    for daemon in [&limited, &other] {
        daemon.wait_for_status(PATIENCE, |status| {
            status["members"]
                .as_array()
                .is_some_and(|all| all.len() == 2)
        })?;
    }
    // More than it may have files, and more than wait to be accepted at a time.
    let clients: Vec<_> = (0..150).map(|_| watcher(&limited)).collect::<Result<_>>()?;
    let last = clients.last().context("there are clients")?;
    let answer = first_line(last)?;
    ensure!(answer.contains("clients; try again later"), "{answer}");

    let flap = "link set eth0 down\nlink set eth0 up\n";
    segment.node(0).ns().ip(flap)?;
    limited.wait_for_line(PATIENCE, |line| line.contains("eth0 is up"))?;
    let mark = segment.capture().mark();
    segment
        .capture()
        .wait_from(mark, PATIENCE, |seen| seen.port == 0 && is_claim(seen))?;
    rests(&limited, &segment)
}

fn who_cannot_open_a_file_rests_and_serves_again_later() -> Result<()> {
    let segment = Segment::bridge(2)?;
    let start = |at: usize| segment.node(at).ringd(binaries()).timing(&timing());
    let (limited, other) = (start(0).spawn()?, start(1).spawn()?);
    other.wait_for_status(PATIENCE, |status| {
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
        all.find(|fd| !open.contains(fd)).context("one is free")
    };
    let free = first_free()?;
    limit(free)?;
    let client = watcher(&limited)?;
    limited.wait_for_line(PATIENCE, |line| {
        line.contains("clients of the control socket have to wait")
    })?;
    rests(&limited, &segment)?;
    // Its link comes back meanwhile, and not even the descriptor that it had for that is left.
    segment.node(0).ns().ip("link set eth0 down\n")?;
    // If it hears of that before it fails to receive, its socket is still open, and none is left to look with.
    limited.wait_for_line(PATIENCE, |line| {
        line.contains("eth0 is down") || line.contains("cannot look up eth0")
    })?;
    limit(first_free()?)?;
    segment.node(0).ns().ip("link set eth0 up\n")?;
    limited.wait_for_line(PATIENCE, |line| {
        line.contains("Too many open files") && line.contains("ringd retries every")
    })?;
    rests(&limited, &segment)?;
    let from = limited.output().len();
    limit(free + 64)?;
    limited.wait_for_line_from(from, PATIENCE, |line| line.contains("eth0 is up"))?;
    let answer = first_line(&client)?;
    ensure!(answer.contains("snapshot"), "{answer}");
    Ok(())
}
