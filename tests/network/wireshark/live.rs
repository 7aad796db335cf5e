//! Recordings of running daemons. The dissectors get no ports, so they must recognize the messages.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::Signal;
use regex::Regex;
use ring_codec::{StreamState, ftn, jitterbug, lab2};
use ring_segment::{
    Daemon, Layout, Message, Ring, Segment, Test, Timing, WAIT_LIMIT, binaries, tests, write_pcap,
};
use serde_json::json;

use super::corpora::{Decoded, check, decode_jitterbug};
use super::expected::{self, LABELS};
use super::page;
use super::tshark::{Fields, Packet, Tshark};

use crate::locks::program::Running;
use crate::locks::ringctl;
use crate::recipes::pages::{WIRESHARK, block};
use crate::record::{Record, Sent};

/// Period of heartbeats. With a shorter period, a busy machine may end the locks of this test.
const HEARTBEAT: Duration = Duration::from_millis(100);
/// A frame that has the EtherType of rings, and that receivers refuse.
const REFUSED_FRAME: [u8; 22] = [
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5, 99, 0, 2, 0, 0, 0, 0, 1,
];

pub(super) fn tests() -> Vec<Test> {
    tests![frames_of_a_ring_are_dissected_as_the_codec_decodes_them,]
}

/// Runs `ringctl` to its end.
fn run(daemon: &Daemon, arguments: &[&str]) -> Result<()> {
    let output = ringctl(daemon, arguments).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ringctl {arguments:?}: {errors}");
    Ok(())
}

/// Forms a ring, and uses every kind of message except the rare ones.
fn use_ring() -> Result<Ring> {
    let names = ["db1", "db2", "db3"];
    let segment = Layout::new(names.len()).addresses().bridge()?;
    let next = AtomicUsize::new(0);
    let timing = Timing::stall_tolerant(HEARTBEAT);
    let mut ring = Ring::start_with(segment, names.len(), timing, binaries(), move |ringd| {
        let index = next.fetch_add(1, Ordering::Relaxed);
        ringd.host_name(names[index % names.len()])
    })?;
    ring.wait_until_formed()?;
    let [first, second, third] = &mut ring.daemons[..] else {
        bail!("three daemons");
    };
    run(first, &["data", "set", "hello"])?;
    run(first, &["once", "nightly", "--every", "20h", "--", "true"])?;
    let mut holder = hold(first, &[])?;
    let mut waiter = Running::start(&mut ringctl(second, &["run", "--", "true"]))?;
    wait_for_frame(&ring.segment, |message| *message == Message::WantToken)?;
    release(&mut holder)?;
    waiter.expect_code(0)?;
    let measure = json!({"request": "measure", "probes": 4, "span_ms": 20});
    first.ask(&measure, "survey")?;
    run(second, &["pause"])?;
    run(second, &["resume"])?;
    third.kill()?;
    first.wait_for_status(WAIT_LIMIT, |status| {
        status["members"][2]["state"] == "silent"
    })?;
    run(first, &["forget", "db3"])?;
    let mut holder = hold(first, &["--name", "backup"])?;
    third.start()?;
    wait_for_frame(&ring.segment, |message| {
        matches!(message, Message::LocksQuestion { .. })
    })?;
    release(&mut holder)?;
    second.signal(Signal::SIGTERM)?;
    second.wait_exit(WAIT_LIMIT)?;
    Ok(ring)
}

/// Starts a program that holds the token or a named lock.
fn hold(daemon: &Daemon, options: &[&str]) -> Result<Running> {
    let line = ["--", "sh", "-c", "echo works; read end"];
    let mut command = ringctl(daemon, &[&["run"], options, &line].concat());
    let mut holder = Running::start(command.stdin(Stdio::piped()))?;
    holder.expect_line("works")?;
    Ok(holder)
}

fn release(holder: &mut Running) -> Result<()> {
    holder.write_input("\n")?;
    holder.expect_code(0)
}

fn wait_for_frame(segment: &Segment, wanted: impl Fn(&Message) -> bool) -> Result<()> {
    let capture = segment.capture();
    capture.wait_for(WAIT_LIMIT, |seen| wanted(&seen.message))?;
    Ok(())
}

fn frames_of_a_ring_are_dissected_as_the_codec_decodes_them() -> Result<()> {
    let ring = use_ring()?;
    let tshark = Tshark::new()?;
    let file = tshark.path("ring.pcap");
    let seen = ring.segment.capture().frames();
    let mut frames: Vec<_> = seen.iter().map(|it| (it.at, &it.bytes[..])).collect();
    frames.push((ring_segment::now(), &REFUSED_FRAME));
    write_pcap(&file, frames.iter().copied())?;
    let packets = tshark.dissect(&file, &tshark.fields("lab2")?, &[])?;
    ensure!(packets.len() == frames.len(), "{} packets", packets.len());
    let mut kinds = BTreeSet::new();
    for (packet, (_, bytes)) in packets.iter().zip(&frames) {
        let decoded = match lab2::Frame::decode(bytes) {
            Ok(frame) => {
                kinds.insert(frame.message.kind());
                (expected::lab2::fields(&frame, bytes), None)
            }
            Err(error) => (Fields::default(), Some(error)),
        };
        check(packet, &decoded).with_context(|| format!("{bytes:02x?}"))?;
    }
    let mut missing = lab2::Kind::ALL.to_vec();
    missing.retain(|kind| !kinds.contains(kind));
    ensure!(missing.is_empty(), "no frames of {missing:?}");
    check_explanations(&packets)?;
    check_filters(&tshark, &file, "lab2")?;
    check_commands(&ring.segment)
}

/// Checks that the lines of the page are explanations of frames, except for their numbers and names.
fn check_explanations(packets: &[Packet]) -> Result<()> {
    let number = Regex::new(r"\b(([0-9a-f]{2}:){5}[0-9a-f]{2}|[0-9]+)\b")?;
    let name = Regex::new(r"\bdb[0-9]\b")?;
    let pattern = |text: &str| {
        let text = number.replace_all(text, "N");
        let text = name.replace_all(&text, "NAME");
        // Frames have data only after a program has set the data.
        text.replace(", N bytes of data", "")
    };
    let shown: BTreeSet<_> = packets.iter().map(|packet| pattern(&packet.info)).collect();
    for line in page::explanations() {
        ensure!(
            shown.contains(&pattern(line)),
            "no frame like {line:?}: {shown:?}"
        );
    }
    Ok(())
}

/// Checks that each filter of the page for this protocol finds a message.
fn check_filters(tshark: &Tshark, file: &Path, protocol: &str) -> Result<()> {
    let filters = page::filters(protocol);
    ensure!(!filters.is_empty(), "the page has no filter of {protocol}");
    for filter in filters {
        let file = file.to_str().context("a plain path")?;
        let found = tshark.run(&["-n", "-r", file, "-Y", filter])?;
        ensure!(!found.is_empty(), "{filter} finds no message");
    }
    Ok(())
}

/// Runs the commands of the page on a machine of a ring.
fn check_commands(segment: &Segment) -> Result<()> {
    let tshark = Tshark::new()?;
    let capture = tshark.path("ring.pcap");
    let path = capture.to_str().context("a plain path")?;
    let record = block(WIRESHARK, "sudo tcpdump")?
        .replace("sudo ", "")
        .replace("/tmp/ring.pcap", path);
    let output = segment
        .node(0)
        .ns()
        .run(|| Command::new("sh").args(["-c", &record]).output())??;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{record}: {errors}");
    let read = block(WIRESHARK, "tshark -r")?.replace("/tmp/ring.pcap", path);
    let arguments: Vec<_> = read.split_whitespace().skip(1).collect();
    let text = tshark.run(&arguments)?;
    let frames = text.lines().filter(|line| line.contains(" LAB2 ")).count();
    ensure!(frames == 200, "{frames} frames:\n{text}");
    Ok(())
}

/// The messages that the codec decodes in a recording.
pub(super) struct DecodedRecord {
    pub datagrams: Vec<Fields>,
    /// Messages of each direction by its sender, as in [`Packet::sender`].
    pub streams: HashMap<String, Decoded>,
}

pub(super) fn decode_datagrams(
    sent: &[Sent],
    decode: impl FnMut(&Sent) -> Result<Fields>,
) -> Result<Vec<Fields>> {
    sent.iter().map(decode).collect()
}

pub(super) fn decode_streams(
    record: &Record,
    is_listener: impl Fn(u16) -> bool,
    decode: impl Fn(&[u8], StreamState) -> Decoded,
) -> HashMap<String, Decoded> {
    let mut all = HashMap::new();
    // tshark numbers the connections in the same order.
    for (number, stream) in record.streams().iter().enumerate() {
        if !is_listener(stream.to.port()) {
            continue;
        }
        for (address, side) in [
            (stream.from.ip(), &stream.giver),
            (stream.to.ip(), &stream.candidate),
        ] {
            let state = match side.ended {
                Some(_) => StreamState::Ended,
                None => StreamState::Open,
            };
            all.insert(format!("{address} {number}"), decode(&side.bytes, state));
        }
    }
    all
}

/// Checks that tshark shows the messages of a recording.
pub(super) fn check_record(record: &Record, protocol: &str, decoded: &DecodedRecord) -> Result<()> {
    let tshark = Tshark::new()?;
    let file = tshark.path("record.pcap");
    record.save(&file)?;
    let mut datagrams = Vec::new();
    let mut streams: HashMap<String, Packet> = HashMap::new();
    // Error messages of ICMP contain datagrams, too.
    let options = ["-Y", "not icmp and not icmpv6"];
    for packet in tshark.dissect(&file, &tshark.fields(protocol)?, &options)? {
        let is_datagram = packet.sender.ends_with(' ');
        if packet.fields.is_empty() {
            continue;
        }
        if is_datagram {
            datagrams.push(packet);
        } else {
            let stream = streams.entry(packet.sender.clone()).or_default();
            stream.fields.append(&packet.fields);
        }
    }
    ensure!(!datagrams.is_empty(), "no datagrams");
    ensure!(
        datagrams.len() == decoded.datagrams.len(),
        "{} datagrams of {}",
        datagrams.len(),
        decoded.datagrams.len()
    );
    for (packet, fields) in datagrams.iter().zip(&decoded.datagrams) {
        fields
            .check(&packet.fields, &LABELS)
            .with_context(|| packet.info.clone())?;
    }
    for (sender, decoded) in &decoded.streams {
        let stream = streams.remove(sender).unwrap_or_default();
        check(&stream, decoded).with_context(|| format!("stream {sender}"))?;
    }
    ensure!(streams.is_empty(), "only tshark shows {:?}", streams.keys());
    check_filters(&tshark, &file, protocol)
}

/// Checks a recording of servers of the token service.
pub(crate) fn check_token_service(record: &Record, port: u16) -> Result<()> {
    let mut pieces = HashMap::new();
    let (mut kinds, mut has_joined) = (BTreeSet::new(), false);
    let datagrams = decode_datagrams(&record.datagrams_both_ways(port), |sent| {
        let datagram = ftn::Datagram::decode(&sent.bytes)?;
        kinds.insert(datagram.message().kind());
        let mut fields = expected::ftn::fields(&datagram);
        if let ftn::Message::Part {
            content,
            part,
            parts,
            bytes,
        } = datagram.message()
        {
            let key = (sent.from, sent.from_port, sent.to, sent.to_port, content);
            let message: &mut Vec<Option<Vec<u8>>> = pieces.entry(key).or_default();
            message.resize(usize::try_from(parts)?, None);
            let is_new = message[usize::try_from(part)?].is_none();
            message[usize::try_from(part)?] = Some(bytes.to_vec());
            // The dissector shows the joined message only in the frame of its last piece.
            if is_new && message.iter().all(Option::is_some) {
                let whole = message.iter().flatten().flatten().copied();
                let whole: Vec<u8> = whole.collect();
                fields.append(&expected::ftn::fields(&ftn::Datagram::decode(&whole)?));
                has_joined = true;
            }
        }
        Ok(fields)
    })?;
    let mut missing = ftn::Kind::ALL.to_vec();
    missing.retain(|kind| !kinds.contains(kind));
    ensure!(missing.is_empty(), "no datagrams of {missing:?}");
    ensure!(has_joined, "no message was sent in parts");
    let streams = HashMap::new();
    check_record(record, "ftn", &DecodedRecord { datagrams, streams })
}

/// Checks a recording of a ring of Jitterbug.
pub(crate) fn check_jitterbug(record: &Record, port: u16) -> Result<()> {
    let mut listeners = BTreeSet::new();
    let datagrams = decode_datagrams(&record.datagrams_both_ways(port), |sent| {
        let message = jitterbug::Message::decode_datagram(&sent.bytes)?;
        if let jitterbug::Message::Tr1 { node_tcp_port, .. } = message {
            listeners.insert(node_tcp_port);
        }
        Ok(expected::jitterbug::fields(&message))
    })?;
    let streams = decode_streams(record, |port| listeners.contains(&port), decode_jitterbug);
    let types: BTreeSet<_> = streams
        .values()
        .flat_map(|it| it.0.values("jitterbug.type"))
        .collect();
    let types: Vec<_> = types.into_iter().collect();
    ensure!(
        types == ["2", "3", "4", "5", "6", "7"],
        "only the types {types:?}"
    );
    check_record(record, "jitterbug", &DecodedRecord { datagrams, streams })
}
