//! Clients of the control socket that flood it, send garbage, or do not read.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ring_segment::{Daemon, Test, tests};
use serde_json::{Value, json};

use crate::locks::{PATIENCE, connect, shared_ring};

const STATUS: &[u8] = b"{\"request\":\"status\"}\n";
/// How many requests a flood sends without waiting for an answer.
const AHEAD: usize = 64;
/// The most bytes of a request, with its newline.
const MOST: usize = 4096;
/// How often each nuisance does what it does, at the least.
const ROUNDS: usize = 20;

pub fn tests() -> Vec<Test> {
    tests![
        clients_that_send_garbage_flood_or_do_not_read_disturb_nobody,
        a_watcher_that_reads_too_slowly_is_let_go,
        clients_that_keep_the_daemon_waiting_are_let_go_and_those_with_a_lock_are_not,
        what_is_no_request_is_answered_with_an_error,
        nothing_is_written_to_a_file_that_ends_no_control_group,
    ]
}

fn open(socket: &Path) -> Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// All that comes until it is hung up.
fn read_all(mut stream: &UnixStream) -> Result<String> {
    let mut said = Vec::new();
    match stream.read_to_end(&mut said) {
        // It hangs up before all that was sent is read.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        read => drop(read.context("it does not hang up")?),
    }
    Ok(String::from_utf8(said)?)
}

/// Waits until the daemon has hung up, and reads nothing.
fn is_let_go(stream: &UnixStream, within: Duration) -> Result<bool> {
    let mut seen = [PollFd::new(stream.as_fd(), PollFlags::empty())];
    poll(&mut seen, PollTimeout::try_from(within)?)?;
    Ok(seen[0]
        .revents()
        .is_some_and(|seen| seen.contains(PollFlags::POLLHUP)))
}

/// Whether it has hung up already.
fn is_gone(stream: &UnixStream) -> bool {
    is_let_go(stream, Duration::ZERO).unwrap_or(false)
}

/// Many requests at once, each of which is answered.
fn flood(stream: UnixStream) -> Result<()> {
    let mut reader = BufReader::new(stream);
    reader.get_mut().write_all(&STATUS.repeat(AHEAD))?;
    for n in 0..AHEAD {
        let said = answer(&mut reader)?;
        ensure!(said.get("status").is_some(), "{said} after {n}");
    }
    Ok(())
}

/// Bytes of all values, and lines that never end.
fn garbage(mut stream: UnixStream) -> Result<()> {
    let bytes: Vec<u8> = (0..=u8::MAX).rev().collect();
    stream.write_all(&bytes)?;
    stream.write_all(b"\n")?;
    // The daemon may have had enough of it.
    let _ = stream.write_all(&bytes.repeat(64));
    let _ = stream.shutdown(Shutdown::Write);
    let said = read_all(&stream)?;
    ensure!(said.starts_with("{\"error\":"), "{said:?}");
    Ok(())
}

/// Half a request, and gone.
fn half(mut stream: UnixStream) -> Result<()> {
    Ok(stream.write_all(&STATUS[..STATUS.len() / 2])?)
}

/// Somebody who locks and unlocks all the time, until `is_over`. A lock that is lost ends as well as
/// one that is given back: the machine may have been too busy for it.
fn work(daemon: &Daemon, is_over: impl Fn() -> bool) -> Result<()> {
    let mut client = connect(daemon)?;
    while !is_over() {
        client.lock("in spite of all")?;
        client.hears("granted")?;
        client.unlock_or_lose()?;
    }
    Ok(())
}

fn clients_that_send_garbage_flood_or_do_not_read_disturb_nobody() -> Result<()> {
    let ring = shared_ring(3)?;
    let daemon = &ring.daemons[0];
    let socket = daemon.control();
    // They have nothing read of what happens.
    let lazy: Vec<_> = (0..4).map(|_| watcher(&socket)).collect::<Result<_>>()?;
    let nuisances: [fn(UnixStream) -> Result<()>; 3] = [flood, garbage, half];
    thread::scope(|scope| {
        let nuisances = nuisances.map(|nuisance| {
            let socket = &socket;
            scope.spawn(move || (0..ROUNDS).try_for_each(|_| nuisance(open(socket)?)))
        });
        let by = Instant::now() + PATIENCE;
        let is_over = || {
            let all_ended = nuisances.iter().all(thread::ScopedJoinHandle::is_finished);
            all_ended && lazy.iter().all(is_gone) || Instant::now() > by
        };
        let worked = work(daemon, is_over);
        for nuisance in nuisances {
            nuisance.join().expect("it does not panic")?;
        }
        worked
    })?;
    ensure!(
        lazy.iter().all(is_gone),
        "one that never reads is still there"
    );
    ring.check()
}

/// One that has begun to watch and will not read.
fn watcher(socket: &Path) -> Result<UnixStream> {
    let mut stream = open(socket)?;
    stream.write_all(b"{\"request\":\"watch\"}\n")?;
    Ok(stream)
}

/// It takes an event now and then, so that it is never silent for long, and far fewer than there are.
fn a_watcher_that_reads_too_slowly_is_let_go() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let watcher = watcher(&daemon.control())?;
    let by = Instant::now() + PATIENCE;
    let worked = work(daemon, || {
        let mut few = [0; 64];
        (&watcher).read_exact(&mut few).is_err() || is_gone(&watcher) || Instant::now() > by
    });
    ensure!(is_gone(&watcher), "it is still there");
    worked
}

fn clients_that_keep_the_daemon_waiting_are_let_go_and_those_with_a_lock_are_not() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let (mut holder, mut waiter) = (connect(daemon)?, connect(daemon)?);
    holder.lock("holder")?;
    holder.hears("granted")?;
    waiter.lock("waiter")?;
    let silent = open(&daemon.control())?;
    let mut halves = open(&daemon.control())?;
    halves.write_all(&STATUS[..STATUS.len() / 2])?;
    let asks = open(&daemon.control())?;
    asks.set_nonblocking(true)?;
    while (&asks).write(STATUS).is_ok() {}
    for client in [&silent, &halves, &asks] {
        ensure!(is_let_go(client, PATIENCE)?, "one is still there");
    }
    let status = daemon.status()?;
    ensure!(status["clients"][0]["label"] == "holder", "{status}");
    holder.unlock()?;
    waiter.hears("granted").map(drop)
}

fn what_is_no_request_is_answered_with_an_error() -> Result<()> {
    let ring = shared_ring(2)?;
    let mut client = BufReader::new(open(&ring.daemons[0].control())?);
    let long = format!("{{\"request\":\"lock\",\"label\":\"{}\"}}", "x".repeat(256));
    let lines: [&[u8]; 8] = [
        b"",
        b"status",
        b"\"status\"",
        b"{\"request\":\"statuses\"}",
        b"{\"request\":\"lock\",\"wait_ms\":-1}",
        b"[1, 2, 3]",
        b"\xff\xfe\x00",
        long.as_bytes(),
    ];
    for line in lines {
        let shown = String::from_utf8_lossy(line);
        client.get_mut().write_all(&[line, b"\n"].concat())?;
        let said = answer(&mut client)?;
        ensure!(said["error"].is_string(), "{shown:?}: {said}");
    }
    // It goes on all the same, until a line has no end.
    client.get_mut().write_all(STATUS)?;
    let said = answer(&mut client)?;
    ensure!(said["status"]["interface"] == "eth0", "{said}");
    client.get_mut().write_all(&[b' '; MOST + 1])?;
    let said = answer(&mut client)?;
    ensure!(said["error"].is_string(), "{said}");
    ensure!(is_let_go(client.get_ref(), PATIENCE)?, "it is still there");
    Ok(())
}

/// Who holds the lock may hand over what ends a control group. The daemon may write where others may not.
fn nothing_is_written_to_a_file_that_ends_no_control_group() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("cgroup.kill");
    let file = File::create(&path)?;
    let bind = json!({"request": "bind"});
    let mut early = connect(daemon)?;
    early.say_with(&bind, &file)?;
    early.hears("error")?;
    let mut holder = connect(daemon)?;
    holder.lock("holder")?;
    holder.hears("granted")?;
    holder.say(&bind)?;
    holder.hears("error")?;
    holder.say_with(&bind, &file)?;
    holder.hears("error")?;
    drop(holder);
    let mut next = connect(daemon)?;
    next.lock("next")?;
    next.hears("granted")?;
    ensure!(fs::read(&path)?.is_empty(), "it was written to");
    next.unlock()
}

fn answer(client: &mut impl BufRead) -> Result<Value> {
    let mut line = String::new();
    client.read_line(&mut line)?;
    serde_json::from_str(&line).with_context(|| format!("{line:?} is no JSON"))
}
