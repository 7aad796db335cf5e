//! A second system, run by the daemon's host: datagrams, connections, a job, a durable record, and commands
//! from `ringctl`.

mod errand;
mod node;
mod process;

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use ring_note::Version;
use ring_note::wire::{self, Announcement, Header, MAX_NOTE};
use ring_segment::{Layout, PATIENCE, Segment, Test, limit, tests};

use errand::an_errand_needs_no_daemon;
use node::PORT;
pub use process::run_if_asked;
use process::{Node, start, start_with_period};

pub fn tests() -> Vec<Test> {
    tests![
        a_note_reaches_every_node_and_survives_their_death,
        a_status_without_a_page_is_shown_as_it_is_and_its_exit_code_tells,
        a_watch_shows_any_systems_events,
        a_job_waits_for_nothing_but_the_worker,
        a_mebibyte_is_fetched_and_read_over_the_control_socket,
        peers_that_dribble_or_never_read_or_say_nothing_keep_nobody_from_it,
        a_forged_note_is_verified_and_not_shown,
        an_editor_is_ended_for_what_is_written_later,
        another_thread_gets_into_the_loop,
        an_errand_needs_no_daemon,
        a_node_ends_when_it_is_told_to,
    ]
}

fn segment(nodes: usize) -> Result<Segment> {
    Layout::new(nodes).addresses().bridge()
}

/// A node on each of a segment's machines.
fn all(segment: &Segment) -> Result<Vec<Node>> {
    segment.nodes().iter().map(start).collect()
}

fn address(segment: &Segment, index: usize) -> Result<SocketAddr> {
    let ip = segment.node(index).ip().context("it has an ip")?;
    Ok(SocketAddr::from((ip, PORT)))
}

/// A connection from one machine to the node on another.
fn connect(segment: &Segment, from: usize, to: usize) -> Result<TcpStream> {
    let to = address(segment, to)?;
    let stream = segment.node(from).ns().run(|| TcpStream::connect(to))??;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn a_note_reaches_every_node_and_survives_their_death() -> Result<()> {
    let segment = segment(3)?;
    let mut nodes = all(&segment)?;
    nodes[0].write("the first")?;
    for node in &nodes {
        node.wait_for("the first")?;
    }
    for node in &mut nodes {
        node.kill()?;
    }
    nodes[2].start()?;
    nodes[2].wait_for("the first")?;
    // A version counts on from what was stored.
    nodes[2].write("the second")?;
    nodes[0].start()?;
    nodes[0].wait_for("the second")?;
    let refused = nodes[0].ringctl(&["yield"])?;
    let why = String::from_utf8_lossy(&refused.stderr);
    ensure!(why.contains("a note has no such thing"), "{why}");
    let refused = nodes[0].ringctl(&["wait", "OWNER"])?;
    let why = String::from_utf8_lossy(&refused.stderr);
    ensure!(
        why.contains("a node of note has no states to wait for"),
        "{why}"
    );
    Ok(())
}

/// `ringctl` has no page for a note: it shows what the node says of itself.
fn a_status_without_a_page_is_shown_as_it_is_and_its_exit_code_tells() -> Result<()> {
    let segment = segment(1)?;
    let node = start(segment.node(0))?;
    for arguments in [&["status"][..], &["status", "--json"], &["status", "-q"]] {
        let without_note = node.ringctl(arguments)?;
        ensure!(without_note.status.code() == Some(5), "{without_note:?}");
    }
    node.write("a note")?;
    node.wait_for("a note")?;
    let page = node.ringctl(&["status"])?;
    let text = String::from_utf8_lossy(&page.stdout);
    ensure!(page.status.code() == Some(0), "{page:?}");
    for line in [
        "system       note\n",
        "health       healthy\n",
        "length       6\n",
    ] {
        ensure!(text.contains(line), "{text}");
    }
    ensure!(text.contains("\ncounters\n"), "{text}");
    let json = node.ringctl(&["status", "--json"])?;
    ensure!(json.status.code() == Some(0), "{json:?}");
    let text = String::from_utf8_lossy(&json.stdout);
    // Its keys, in the order in which it gives them.
    let keys = ["system", "health", "place", "version", "up_ns", "length"];
    let places: Vec<_> = keys
        .iter()
        .map(|key| text.find(&format!("  \"{key}\": ")))
        .collect();
    ensure!(places.is_sorted() && places[0].is_some(), "{text}");
    let quiet = node.ringctl(&["status", "-q"])?;
    ensure!(
        quiet.status.code() == Some(0) && quiet.stdout.is_empty(),
        "{quiet:?}"
    );
    Ok(())
}

fn a_watch_shows_any_systems_events() -> Result<()> {
    let segment = segment(1)?;
    let node = start(segment.node(0))?;
    for json in [false, true] {
        let mut watch = node.watch(json)?;
        let first = watch.next_line()?;
        let begins = if json {
            "{\"snapshot\":{\"number\":"
        } else {
            " now system note health critical "
        };
        ensure!(first.contains(begins), "{first}");
        node.write("a note")?;
        let event = watch.next_line()?;
        let says = if json {
            "\"length_of_name\":"
        } else {
            " this node has seen "
        };
        ensure!(event.contains(says), "{event}");
    }
    Ok(())
}

/// A client's command causes a job, and then nothing happens that would wake the node.
fn a_job_waits_for_nothing_but_the_worker() -> Result<()> {
    let segment = segment(1)?;
    let node = start_with_period(segment.node(0), Duration::from_secs(3600))?;
    let mut client = UnixStream::connect(node.control())?;
    client.write_all(b"{\"request\":\"data_set\",\"hex\":\"61\"}\n")?;
    client.set_read_timeout(Some(Duration::from_millis(10)))?;
    let give_up = Instant::now() + PATIENCE;
    // The end of the connection would wake it.
    let mut is_open = true;
    while !node.stored().exists() {
        ensure!(Instant::now() < give_up, "it stores nothing");
        is_open &= !matches!(client.read(&mut [0; 64]), Ok(0));
    }
    ensure!(is_open, "the job waited until the client had gone");
    Ok(())
}

fn a_mebibyte_is_fetched_and_read_over_the_control_socket() -> Result<()> {
    let segment = segment(2)?;
    let mut nodes = all(&segment)?;
    let much: Vec<u8> = (0..=250).cycle().take(MAX_NOTE).collect();
    nodes[0].kill()?;
    fs::write(nodes[0].first(), &much)?;
    nodes[0].start()?;
    let give_up = Instant::now() + PATIENCE;
    loop {
        let read = nodes[1].ringctl(&["data", "get", "--raw"])?;
        ensure!(read.status.success(), "{read:?}");
        if read.stdout == much {
            break;
        }
        ensure!(read.stdout.is_empty(), "a part of it is shown");
        ensure!(Instant::now() < give_up, "it does not come");
    }
    Ok(())
}

fn peers_that_dribble_or_never_read_or_say_nothing_keep_nobody_from_it() -> Result<()> {
    let segment = segment(3)?;
    let mut author = start(segment.node(0))?;
    author.kill()?;
    fs::write(author.first(), vec![7; MAX_NOTE])?;
    author.start()?;
    author.wait_for_shown(MAX_NOTE)?;
    // More than are served, and than there are slots. One that is let go at once may learn of that before it
    // learns that it was connected.
    let connect = || connect(&segment, 1, 0);
    let is_let_go = |made: &Result<TcpStream>| {
        let error = made.as_ref().err().and_then(|error| error.downcast_ref());
        error.is_some_and(|error: &io::Error| error.kind() == ErrorKind::ConnectionReset)
    };
    let silent = (0..300).map(|_| connect()).filter(|made| !is_let_go(made));
    let silent: Vec<TcpStream> = silent.collect::<Result<_>>()?;
    let reader = start(segment.node(2))?;
    reader.wait_for_shown(MAX_NOTE)?;
    for mut stream in silent {
        let end = stream.read(&mut [0; 64]);
        let is_closed = match &end {
            Ok(count) => *count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        };
        ensure!(is_closed, "who said nothing was not let go: {end:?}");
    }
    // One that asks and reads nothing, and one that asks a byte at a time.
    let mut asks = connect()?;
    let request = wire::request(Version::default());
    asks.write_all(&request)?;
    let mut dribbles = connect()?;
    dribbles.set_nodelay(true)?;
    for byte in request {
        dribbles.write_all(&[byte])?;
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut note = Vec::new();
    dribbles.read_to_end(&mut note)?;
    ensure!(
        note.len() == wire::HEADER + MAX_NOTE,
        "{} bytes",
        note.len()
    );
    author.wait_for_status("transfers", 0)?;
    // It was cut off: what is left is no whole note.
    let mut rest = Vec::new();
    let end = asks.read_to_end(&mut rest);
    ensure!(end.is_err(), "{} bytes and an end", rest.len());
    Ok(())
}

fn a_forged_note_is_verified_and_not_shown() -> Result<()> {
    let segment = segment(2)?;
    let victim = start(segment.node(0))?;
    let from = address(&segment, 1)?;
    let ns = segment.node(1).ns();
    let listener = ns.run(|| TcpListener::bind(from))??;
    let socket = ns.run(|| UdpSocket::bind((from.ip(), 0)))??;
    let version = Version {
        number: 7,
        author: 2,
    };
    let announcement = Announcement {
        version,
        port: PORT,
    };
    listener.set_nonblocking(true)?;
    let give_up = Instant::now() + PATIENCE;
    // Announced again until somebody asks: the node may not listen yet.
    let mut stream = loop {
        socket.send_to(&announcement.encode(), address(&segment, 0)?)?;
        if limit::is_readable(listener.as_fd(), Instant::now() + Duration::from_millis(50)) {
            break listener.accept()?.0;
        }
        ensure!(Instant::now() < give_up, "nobody asks for it");
    };
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut request = [0; wire::REQUEST];
    stream.read_exact(&mut request)?;
    ensure!(wire::requested(&request) == Some(version), "{request:?}");
    let header = Header {
        version,
        sum: 0,
        len: 4,
    };
    stream.write_all(&header.encode())?;
    stream.write_all(b"evil")?;
    drop(stream);
    victim.wait_for_counter("fetch_corrupt")?;
    ensure!(victim.note()?.is_empty(), "it is shown");
    Ok(())
}

/// A job that is a program, with what it has started.
fn an_editor_is_ended_for_what_is_written_later() -> Result<()> {
    let segment = segment(1)?;
    let mut node = start(segment.node(0))?;
    node.kill()?;
    let started = node.folder().join("started");
    let line = "read -r text; case $text in slow) sleep 1000 & echo $! >FILE.new; mv FILE.new FILE; \
                wait;; esac; echo \"edited $text\"";
    fs::write(
        node.editor(),
        line.replace("FILE", &started.display().to_string()),
    )?;
    node.start()?;
    node.write("quick")?;
    node.wait_for("edited quick\n")?;
    node.write("slow")?;
    let give_up = Instant::now() + PATIENCE;
    while !started.exists() {
        ensure!(Instant::now() < give_up, "the editor does not start");
        std::thread::sleep(Duration::from_millis(1));
    }
    let child = fs::read_to_string(&started)?;
    node.write("quick again")?;
    node.wait_for("edited quick again\n")?;
    node.wait_for_counter("dropped")?;
    let child = format!("/proc/{}/cmdline", child.trim());
    let command = fs::read(&child).unwrap_or_default();
    ensure!(command.is_empty(), "what the editor has started still runs");
    Ok(())
}

/// Nothing else happens that would wake the node.
fn another_thread_gets_into_the_loop() -> Result<()> {
    let segment = segment(1)?;
    let node = start_with_period(segment.node(0), Duration::from_secs(3600))?;
    UnixStream::connect(node.desk())?.write_all(b"left there")?;
    let give_up = Instant::now() + PATIENCE;
    while !node.stored().exists() {
        ensure!(Instant::now() < give_up, "it stores nothing");
        std::thread::sleep(Duration::from_millis(1));
    }
    node.wait_for("left there")
}

fn a_node_ends_when_it_is_told_to() -> Result<()> {
    let segment = segment(1)?;
    let mut node = start(segment.node(0))?;
    let socket = node.control();
    ensure!(socket.exists(), "it has no control socket");
    node.signal(Signal::SIGTERM)?;
    let end = node.wait_exit()?;
    ensure!(end.success(), "it ended with {end}");
    ensure!(!socket.exists(), "it has left its control socket behind");
    Ok(())
}
