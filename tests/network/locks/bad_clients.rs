//! Clients of the control socket that flood it, send garbage, or do not read.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg, setsockopt, sockopt};
use ring_segment::{Daemon, Segment, Test, tests};
use serde_json::{Value, json};

use crate::locks::crashes::CLOSES_ALL;
use crate::locks::scene::{LockScene, holder};
use crate::locks::{WAIT_LIMIT, connect, form, shared_ring};

const STATUS: &[u8] = b"{\"request\":\"status\"}\n";
/// Number of requests that a flooding client sends before it reads the answers.
const FLOOD_REQUESTS: usize = 64;
/// Maximum length of a request in bytes, including its newline.
const REQUEST_LEN_MAX: usize = 4096;
/// Minimum number of attempts of each misbehaving client.
const ROUNDS_MIN: usize = 20;

pub(super) fn tests() -> Vec<Test> {
    tests![
        clients_that_send_garbage_or_floods_or_do_not_read_disturb_no_other_client,
        the_daemon_disconnects_a_watcher_that_reads_too_slowly,
        the_daemon_disconnects_clients_that_keep_it_waiting_except_clients_with_a_lock,
        an_invalid_request_is_answered_with_an_error,
        the_daemon_does_not_write_to_a_file_that_ends_no_control_group,
        a_descriptor_that_closes_slowly_delays_no_client,
        descriptors_that_close_slowly_do_not_disable_the_end_of_control_groups,
    ]
}

fn open(socket: &Path) -> Result<UnixStream> {
    let stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(WAIT_LIMIT))?;
    stream.set_write_timeout(Some(WAIT_LIMIT))?;
    Ok(stream)
}

/// Reads until the daemon closes the connection.
fn read_all(mut stream: &UnixStream) -> Result<String> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        // The daemon may close the connection before it has read everything.
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        read => drop(read.context("the daemon does not close the connection")?),
    }
    Ok(String::from_utf8(bytes)?)
}

/// Waits until the daemon closes the connection, without reading any bytes.
fn wait_for_hang_up(stream: &UnixStream, within: Duration) -> Result<bool> {
    let mut seen = [PollFd::new(stream.as_fd(), PollFlags::empty())];
    poll(&mut seen, PollTimeout::try_from(within)?)?;
    Ok(seen[0]
        .revents()
        .is_some_and(|seen| seen.contains(PollFlags::POLLHUP)))
}

fn has_hung_up(stream: &UnixStream) -> bool {
    wait_for_hang_up(stream, Duration::ZERO).unwrap_or(false)
}

/// Sends many requests at once. The daemon must answer each request.
fn flood(stream: UnixStream) -> Result<()> {
    let mut reader = BufReader::new(stream);
    reader.get_mut().write_all(&STATUS.repeat(FLOOD_REQUESTS))?;
    for n in 0..FLOOD_REQUESTS {
        let answer = next_answer(&mut reader)?;
        ensure!(answer.get("status").is_some(), "{answer} after {n}");
    }
    Ok(())
}

/// Sends bytes of all values, and lines that never end.
fn send_garbage(mut stream: UnixStream) -> Result<()> {
    let bytes: Vec<u8> = (0..=u8::MAX).rev().collect();
    stream.write_all(&bytes)?;
    stream.write_all(b"\n")?;
    // The daemon may already have closed the connection.
    let _ = stream.write_all(&bytes.repeat(64));
    let _ = stream.shutdown(Shutdown::Write);
    let answers = read_all(&stream)?;
    ensure!(answers.starts_with("{\"error\":"), "{answers:?}");
    Ok(())
}

fn send_half_request(mut stream: UnixStream) -> Result<()> {
    Ok(stream.write_all(&STATUS[..STATUS.len() / 2])?)
}

/// Locks and unlocks until `is_over` returns `true`. The loss of a lock is no failure, because a busy machine may renew
/// the lease too late.
fn lock_repeatedly(daemon: &Daemon, is_over: impl Fn() -> bool) -> Result<()> {
    let mut client = connect(daemon)?;
    while !is_over() {
        client.lock("in spite of bad clients")?;
        client.expect("granted")?;
        client.unlock_or_lose()?;
    }
    Ok(())
}

fn clients_that_send_garbage_or_floods_or_do_not_read_disturb_no_other_client() -> Result<()> {
    let ring = shared_ring(3)?;
    let daemon = &ring.daemons[0];
    let socket = daemon.control();
    // These watchers never read.
    let lazy: Vec<_> = (0..4).map(|_| watcher(&socket)).collect::<Result<_>>()?;
    let nuisances: [fn(UnixStream) -> Result<()>; 3] = [flood, send_garbage, send_half_request];
    thread::scope(|scope| {
        let nuisances = nuisances.map(|nuisance| {
            let socket = &socket;
            scope.spawn(move || (0..ROUNDS_MIN).try_for_each(|_| nuisance(open(socket)?)))
        });
        let by = Instant::now() + WAIT_LIMIT;
        let is_over = || {
            let all_ended = nuisances.iter().all(thread::ScopedJoinHandle::is_finished);
            all_ended && lazy.iter().all(has_hung_up) || Instant::now() > by
        };
        let worked = lock_repeatedly(daemon, is_over);
        for nuisance in nuisances {
            nuisance.join().expect("the thread does not panic")?;
        }
        worked
    })?;
    ensure!(
        lazy.iter().all(has_hung_up),
        "a client that never reads is still connected"
    );
    ring.check()
}

/// Starts a watch; the test does not read its output.
fn watcher(socket: &Path) -> Result<UnixStream> {
    let mut stream = open(socket)?;
    stream.write_all(b"{\"request\":\"watch\"}\n")?;
    Ok(stream)
}

/// The watcher reads an event from time to time, so it is never silent for long. However, the daemon sends far more
/// events than the watcher reads.
fn the_daemon_disconnects_a_watcher_that_reads_too_slowly() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let watcher = watcher(&daemon.control())?;
    let by = Instant::now() + WAIT_LIMIT;
    let worked = lock_repeatedly(daemon, || {
        let mut few = [0; 64];
        (&watcher).read_exact(&mut few).is_err() || has_hung_up(&watcher) || Instant::now() > by
    });
    ensure!(has_hung_up(&watcher), "the client is still connected");
    worked
}

fn the_daemon_disconnects_clients_that_keep_it_waiting_except_clients_with_a_lock() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let (mut holder, mut waiter) = (connect(daemon)?, connect(daemon)?);
    holder.lock("holder")?;
    holder.expect("granted")?;
    waiter.lock("waiter")?;
    let silent = open(&daemon.control())?;
    let mut halves = open(&daemon.control())?;
    halves.write_all(&STATUS[..STATUS.len() / 2])?;
    let asks = open(&daemon.control())?;
    asks.set_nonblocking(true)?;
    while (&asks).write(STATUS).is_ok() {}
    for client in [&silent, &halves, &asks] {
        ensure!(
            wait_for_hang_up(client, WAIT_LIMIT)?,
            "a watcher is still connected"
        );
    }
    let status = daemon.status()?;
    ensure!(status["clients"][0]["label"] == "holder", "{status}");
    holder.unlock()?;
    waiter.expect("granted").map(drop)
}

fn an_invalid_request_is_answered_with_an_error() -> Result<()> {
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
        let answer = next_answer(&mut client)?;
        ensure!(answer["error"].is_string(), "{shown:?}: {answer}");
    }
    // The daemon keeps the connection until a line is too long.
    client.get_mut().write_all(STATUS)?;
    let answer = next_answer(&mut client)?;
    ensure!(answer["status"]["interface"] == "eth0", "{answer}");
    client.get_mut().write_all(&[b' '; REQUEST_LEN_MAX + 1])?;
    let answer = next_answer(&mut client)?;
    ensure!(answer["error"].is_string(), "{answer}");
    ensure!(
        wait_for_hang_up(client.get_ref(), WAIT_LIMIT)?,
        "the client is still connected"
    );
    Ok(())
}

/// A holder may pass a descriptor of `cgroup.kill`. With this file, the daemon can end the holder's control group. The
/// daemon must not write to any other file, because the daemon may have more permissions than the client.
fn the_daemon_does_not_write_to_a_file_that_ends_no_control_group() -> Result<()> {
    let ring = shared_ring(2)?;
    let daemon = &ring.daemons[0];
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("cgroup.kill");
    let file = File::create(&path)?;
    let bind = json!({"request": "bind"});
    let mut early = connect(daemon)?;
    early.send_with_file(&bind, &file)?;
    early.expect("error")?;
    let mut holder = connect(daemon)?;
    holder.lock("holder")?;
    holder.expect("granted")?;
    holder.send(&bind)?;
    holder.expect("error")?;
    holder.send_with_file(&bind, &file)?;
    holder.expect("error")?;
    drop(holder);
    let mut next = connect(daemon)?;
    next.lock("next")?;
    next.expect("granted")?;
    ensure!(fs::read(&path)?.is_empty(), "the file was written to");
    next.unlock()
}

/// Returns a connection that takes a day to close, and its peer on a second machine. The peer never reads.
fn slow_to_close(segment: &Segment) -> Result<(TcpStream, TcpStream)> {
    const A_DAY: i32 = 86_400;
    let ip = segment.node(0).ip().context("the node has an IP")?;
    let listener = segment.node(0).ns().run(|| TcpListener::bind((ip, 0)))??;
    let address = listener.local_addr()?;
    let mut stream = segment.node(1).ns().run(|| TcpStream::connect(address))??;
    let (other, _) = listener.accept()?;
    stream.set_nonblocking(true)?;
    while stream.write(&[0; 16_384]).is_ok() {}
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: A_DAY,
    };
    setsockopt(&stream, sockopt::Linger, &linger)?;
    Ok((stream, other))
}

fn send_with(client: &UnixStream, bytes: &[u8], descriptor: impl AsFd) -> Result<()> {
    let descriptors = [descriptor.as_fd().as_raw_fd()];
    let with = [ControlMessage::ScmRights(&descriptors)];
    let bytes = [IoSlice::new(bytes)];
    sendmsg::<()>(client.as_raw_fd(), &bytes, &with, MsgFlags::empty(), None)?;
    Ok(())
}

/// If a receiver reads the bytes of a message but not its descriptors, the kernel closes the descriptors. The receiver
/// waits until the kernel has closed the descriptors.
fn a_descriptor_that_closes_slowly_delays_no_client() -> Result<()> {
    let ring = form(2)?;
    let daemon = &ring.daemons[0];
    let mut others = Vec::new();
    // Sends a descriptor, and closes the test's copy. After this step, only the daemon has a copy.
    let mut hand_over = |client: UnixStream, bytes: &[u8], nested: bool, goes: bool| {
        let (slow, other) = slow_to_close(&ring.segment)?;
        others.push(other);
        daemon.signal(Signal::SIGSTOP)?;
        if nested {
            let (near, far) = UnixStream::pair()?;
            send_with(&far, b"x", &slow)?;
            send_with(&client, bytes, near)?;
        } else {
            send_with(&client, bytes, &slow)?;
        }
        drop(slow);
        let stays = (!goes).then_some(client);
        daemon.signal(Signal::SIGCONT)?;
        anyhow::Ok(stays)
    };
    // The descriptors arrive with a request, with half a request, and with bytes that make the daemon close the
    // connection.
    let long = [&[b'x'; 2 * REQUEST_LEN_MAX][..], STATUS].concat();
    for bytes in [STATUS, &STATUS[..5], &long] {
        let client = open(&daemon.control())?;
        let client = hand_over(client, bytes, false, false)?;
        let answers = read_all(&client.context("the client stays connected")?)?;
        ensure!(answers.contains("\"error\""), "{answers}");
    }
    // One descriptor arrives when its client disconnects, and one is inside another descriptor.
    hand_over(open(&daemon.control())?, STATUS, false, true)?;
    let mut holder = BufReader::new(open(&daemon.control())?);
    holder.get_mut().write_all(b"{\"request\":\"lock\"}\n")?;
    expect_answer(&mut holder, "granted")?;
    let same = holder.get_ref().try_clone()?;
    hand_over(same, b"{\"request\":\"bind\"}\n", true, false)?;
    expect_answer(&mut holder, "done")?;
    holder.get_mut().write_all(b"{\"request\":\"unlock\"}\n")?;
    expect_answer(&mut holder, "unlocked")?;

    let start = Instant::now();
    daemon.status()?;
    lock_repeatedly(daemon, || start.elapsed() > Duration::from_secs(1))
}

/// Checks the kind of the next answer, and skips renewals.
fn expect_answer(client: &mut impl BufRead, kind: &str) -> Result<()> {
    loop {
        let answer = next_answer(client)?;
        if answer.get("renewed").is_none() {
            ensure!(answer.get(kind).is_some(), "{answer} instead of {kind}");
            return Ok(());
        }
    }
}

fn descriptors_that_close_slowly_do_not_disable_the_end_of_control_groups() -> Result<()> {
    let scene = LockScene::new()?;
    let daemon = scene.first();
    let mut client = BufReader::new(open(&daemon.control())?);
    client.get_mut().write_all(b"{\"request\":\"lock\"}\n")?;
    expect_answer(&mut client, "granted")?;
    let mut others = Vec::new();
    for _ in 0..20 {
        let (slow, other) = slow_to_close(&scene.ring.segment)?;
        others.push(other);
        send_with(client.get_ref(), b"{\"request\":\"bi", &slow)?;
        // When the daemon answers, it has read the earlier bytes, because it reads bytes in order.
        daemon.status()?;
        drop(slow);
        client.get_mut().write_all(b"nd\"}\n")?;
        expect_answer(&mut client, "error")?;
    }
    client.get_mut().write_all(b"{\"request\":\"unlock\"}\n")?;
    expect_answer(&mut client, "unlocked")?;

    let mut run = scene.start_work(&[], CLOSES_ALL)?;
    let next = scene.start_next()?;
    let keeper = holder(daemon)?;
    kill(keeper, Signal::SIGSTOP)?;
    run.signal(Signal::SIGKILL)?;
    run.expect_signal(Signal::SIGKILL)?;
    kill(keeper, Signal::SIGKILL)?;
    next.check_begins_alone()
}

fn next_answer(client: &mut impl BufRead) -> Result<Value> {
    let mut line = String::new();
    client.read_line(&mut line)?;
    serde_json::from_str(&line).with_context(|| format!("{line:?} is not JSON"))
}
