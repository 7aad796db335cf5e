//! The seeds of the fuzz targets, their beginnings and their variants with other bytes.
//!
//! tshark must refuse exactly the messages that the codec refuses, and for the same reason. tshark must show all fields
//! of the other messages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use ring_codec::jitterbug::MAX_NODES;
use ring_codec::{DecodeError, StreamState, Streamed, andrews, ftn, jitterbug, lab2};
use ring_segment::{Rng, Test, tests, write_pcap};
use ring_text::hex;

use super::expected::{self, LABELS};
use super::packets;
use super::tshark::{Fields, Packet, Tshark};

const PORT: u16 = 7_301;

pub(super) fn tests() -> Vec<Test> {
    tests![
        frames_of_the_corpora_are_dissected_as_the_codec_decodes_them,
        datagrams_of_the_corpora_are_dissected_as_the_codec_decodes_them,
        streams_of_the_corpora_are_dissected_as_the_codec_decodes_them,
        beginnings_of_messages_in_a_capture_count_as_cut_off,
    ]
}

/// The codec's result for a datagram or a stream: the fields of its messages, and the reason to refuse the rest.
pub(super) type Decoded = (Fields, Option<DecodeError>);

/// A transport whose payload is one message.
struct Datagrams {
    /// The name of the protocol and of the corpus.
    protocol: &'static str,
    option: &'static str,
    decode: fn(&[u8]) -> Result<Fields, DecodeError>,
}

const DATAGRAMS: [Datagrams; 3] = [
    Datagrams {
        protocol: "andrews",
        option: "andrews.ports:7301",
        decode: |bytes| {
            andrews::Frame::decode_datagram(bytes).map(|it| expected::andrews::fields(&it))
        },
    },
    Datagrams {
        protocol: "ftn",
        option: "ftn.ports:7301",
        decode: |bytes| ftn::Datagram::decode(bytes).map(|it| expected::ftn::fields(&it)),
    },
    Datagrams {
        protocol: "jitterbug",
        option: "jitterbug.udp:7301",
        decode: |bytes| {
            let message = jitterbug::Message::decode_datagram(bytes);
            message.map(|it| expected::jitterbug::fields(&it))
        },
    },
];

fn files(folder: &str) -> Result<Vec<Vec<u8>>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.sort();
    let files = paths.iter().filter(|path| path.is_file());
    files.map(|path| Ok(fs::read(path)?)).collect()
}

/// Datagrams of FTN with an int of 33 bits or a long of 65 bits, above and below the limits.
const LONG_INTEGERS: [&str; 4] = [
    "0eb0800000000084d2",
    "0ebf7fffffff0084d2",
    "19000084d2f08000000000000000",
    "19000084d2ff7fffffffffffffff",
];
/// Names of programs: legal ones, one of 65 bytes, and some that are not UTF-8.
const PROGRAMS: [&[u8]; 10] = [
    b"backup",
    &[b'a'; 65],
    "a\u{e9}\u{20ac}\u{1f600}".as_bytes(),
    &[0xc1, 0xbf],
    &[0xc3],
    &[0xe0, 0x9f, 0xbf],
    &[0xed, 0xa0, 0x80],
    &[0xf0, 0x8f, 0xbf, 0xbf],
    &[0xf4, 0x90, 0x80, 0x80],
    &[0xe2, 0x82, b'a'],
];
/// Variants of each seed with random changes.
const RANDOM_VARIANTS: usize = 200;

/// Returns frames with a card, for each program and two times for which the program holds the token.
fn frames_with_cards() -> Vec<Vec<u8>> {
    let mut head = [0xff; 6].to_vec();
    head.extend([2, 0, 0, 0, 0, 1, 0x88, 0xb5, 5, 0, 2, 0, 0, 0, 0, 1]);
    head.extend(b"RGD2");
    head.extend([0; 39]);
    head.extend(b"RGD3");
    head.extend([0; 12]);
    let times = [1_u64, u64::MAX].map(u64::to_be_bytes);
    let frames = PROGRAMS.iter().flat_map(|program| {
        let len = u8::try_from(program.len()).unwrap_or_default();
        let head = &head;
        times.map(|time| [head, &time[..], &[len], program].concat())
    });
    frames.collect()
}

/// Returns the seeds of a format, and variants of these seeds.
fn seeds_and_variants(format: &str) -> Result<Vec<Vec<u8>>> {
    let mut inputs = match format {
        "ftn" => {
            let datagrams = LONG_INTEGERS.iter();
            let datagrams = datagrams.map(|digits| hex::decode(digits).context("digits"));
            datagrams.collect::<Result<_>>()?
        }
        "lab2" => frames_with_cards(),
        _ => Vec::new(),
    };
    let mut random = Rng::with_seed(1);
    for seed in files(&format!("codec/fuzz/corpus/{format}"))? {
        for len in 0..seed.len() {
            inputs.push(seed[..len].to_vec());
        }
        for at in 0..seed.len() {
            for other in [0, 0xff, seed[at] ^ 1, seed[at] ^ 0x80] {
                let mut variant = seed.clone();
                variant[at] = other;
                inputs.push(variant);
            }
        }
        for _ in 0..RANDOM_VARIANTS {
            let mut variant = seed.clone();
            for _ in 0..random.usize(2..5) {
                variant[random.usize(0..seed.len())] = random.u8(..);
            }
            inputs.push(variant);
        }
        inputs.push([&*seed, &[0]].concat());
        inputs.push(seed);
    }
    Ok(inputs)
}

/// Returns the inputs of all fuzz targets of the state machines. Almost all of these inputs are not valid messages.
fn inputs_of_machines() -> Result<Vec<Vec<u8>>> {
    let mut inputs = Vec::new();
    for target in ["ftn_client", "ftn_server", "jitterbug_node", "machine"] {
        inputs.extend(files(&format!("tests/machine/fuzz/corpus/{target}"))?);
    }
    Ok(inputs)
}

/// Checks one packet, or all packets of one direction of a stream.
pub(super) fn check(packet: &Packet, (fields, error): &Decoded) -> Result<()> {
    let refusals = packet
        .notes
        .iter()
        .filter(|note| note.contains(" at offset "));
    let refusals: Vec<_> = refusals.collect();
    match error {
        None => {
            ensure!(refusals.is_empty(), "the codec accepts it: {refusals:?}");
            fields.check(&packet.fields, &LABELS)
        }
        Some(error) => {
            ensure!(refusals == [&error.to_string()], "{error}: {refusals:?}");
            Ok(())
        }
    }
}

/// Writes packets to a capture, and dissects it.
fn dissect(protocol: &str, option: &str, frames: &[Vec<u8>]) -> Result<Vec<Packet>> {
    let tshark = Tshark::new()?;
    let file = tshark.path("corpus.pcap");
    let at = |index| Duration::from_micros(u64::try_from(index).unwrap_or_default());
    let pairs = frames.iter().enumerate();
    write_pcap(&file, pairs.map(|(index, it)| (at(index), &it[..])))?;
    let packets = tshark.dissect(&file, &tshark.fields(protocol)?, &["-o", option])?;
    ensure!(packets.len() == frames.len(), "{} packets", packets.len());
    Ok(packets)
}

fn frames_of_the_corpora_are_dissected_as_the_codec_decodes_them() -> Result<()> {
    const HEADER_LEN: usize = lab2::ETHERNET_HEADER_LEN;
    let ethertype = 0x88b6_u16.to_be_bytes();
    let mut frames = seeds_and_variants("lab2")?;
    frames.extend(inputs_of_machines()?);
    // Only frames with this EtherType and at least one byte get to the dissector.
    frames.retain(|frame| frame.len() > HEADER_LEN);
    for frame in &mut frames {
        frame[HEADER_LEN - 2..HEADER_LEN].copy_from_slice(&ethertype);
    }
    let packets = dissect("lab2", "lab2.ethertype:0x88b6", &frames)?;
    for (packet, frame) in packets.iter().zip(&frames) {
        let decoded = match lab2::Frame::decode(frame) {
            Ok(message) => (expected::lab2::fields(&message, frame), None),
            Err(error) => (Fields::default(), Some(error)),
        };
        check(packet, &decoded).with_context(|| format!("{frame:02x?}"))?;
    }
    Ok(())
}

fn datagrams_of_the_corpora_are_dissected_as_the_codec_decodes_them() -> Result<()> {
    for format in DATAGRAMS {
        let mut inputs = seeds_and_variants(format.protocol)?;
        inputs.extend(inputs_of_machines()?);
        inputs.retain(|bytes| !bytes.is_empty());
        let frames = inputs.iter().enumerate();
        let frames: Vec<_> = frames
            .map(|(index, bytes)| packets::udp(index, PORT, bytes))
            .collect();
        let packets = dissect(format.protocol, format.option, &frames)?;
        for (packet, bytes) in packets.iter().zip(&inputs) {
            let decoded = match (format.decode)(bytes) {
                Ok(fields) => (fields, None),
                Err(error) => (Fields::default(), Some(error)),
            };
            check(packet, &decoded)
                .with_context(|| format!("{}: {bytes:02x?}", format.protocol))?;
        }
    }
    Ok(())
}

/// Decodes all messages of a stream.
fn decode_all<'a, M>(
    bytes: &'a [u8],
    decode: impl Fn(&'a [u8]) -> Result<Streamed<M>, DecodeError>,
    fields: impl Fn(&M) -> Fields,
) -> Decoded {
    let (mut rest, mut all) = (bytes, Fields::default());
    while !rest.is_empty() {
        match decode(rest) {
            Ok(Streamed::Message { message, consumed }) => {
                all.append(&fields(&message));
                rest = &rest[consumed..];
            }
            Ok(Streamed::Incomplete { .. }) => break,
            Err(error) => return (all, Some(error)),
        }
    }
    (all, None)
}

pub(super) fn decode_jitterbug(bytes: &[u8], state: StreamState) -> Decoded {
    let decode = |bytes| jitterbug::Message::decode_stream(bytes, state, MAX_NODES);
    decode_all(bytes, decode, expected::jitterbug::fields)
}

pub(super) fn decode_andrews(bytes: &[u8], state: StreamState) -> Decoded {
    let decode = |bytes| andrews::Frame::decode_stream(bytes, state);
    decode_all(bytes, decode, expected::andrews::fields)
}

fn streams_of_the_corpora_are_dissected_as_the_codec_decodes_them() -> Result<()> {
    for (protocol, option, decode) in [
        (
            "andrews",
            "andrews.ports:7301",
            decode_andrews as fn(&[u8], StreamState) -> Decoded,
        ),
        ("jitterbug", "jitterbug.tcp:7301", decode_jitterbug),
    ] {
        let mut inputs = seeds_and_variants(protocol)?;
        inputs.extend(inputs_of_machines()?);
        inputs.retain(|bytes| !bytes.is_empty());
        let (mut frames, mut sent) = (Vec::new(), Vec::new());
        let mut send = |bytes: &[u8], portions: &[&[u8]], ends_later| {
            let segments = packets::tcp(sent.len(), PORT, portions, ends_later);
            sent.push((bytes.to_vec(), segments.len()));
            frames.extend(segments);
        };
        for bytes in &inputs {
            send(bytes, &[bytes], false);
            if decode(bytes, StreamState::Ended).1.is_none() {
                let (begin, end) = bytes.split_at(bytes.len() / 2);
                send(bytes, &[begin, end], false);
                send(bytes, &[begin, end], true);
                let single: Vec<_> = bytes.chunks(1).collect();
                send(bytes, &single, true);
            }
        }
        let packets = dissect(protocol, option, &frames)?;
        let mut rest = packets.into_iter();
        for (bytes, segments) in sent {
            let mut stream = Packet::default();
            for packet in rest.by_ref().take(segments) {
                stream.fields.append(&packet.fields);
                stream.notes.extend(packet.notes);
            }
            let decoded = decode(&bytes, StreamState::Ended);
            check(&stream, &decoded)
                .with_context(|| format!("{protocol}, {segments} segments: {bytes:02x?}"))?;
        }
    }
    Ok(())
}

/// Cuts the packets of a capture, so that the capture contains only their first bytes. The codec accepts each whole
/// message.
fn beginnings_of_messages_in_a_capture_count_as_cut_off() -> Result<()> {
    const CAPTURED_LEN: usize = 44;
    const UDP_HEADERS_LEN: usize = 42;
    let tshark = Tshark::new()?;
    let (whole, cut) = (tshark.path("whole.pcap"), tshark.path("cut.pcap"));
    let seeds = |protocol| files(&format!("codec/fuzz/corpus/{protocol}"));
    let mut captures = vec![("lab2", "lab2.ethertype:0x88b5", seeds("lab2")?)];
    for format in DATAGRAMS {
        let mut messages = seeds(format.protocol)?;
        messages.retain(|bytes| bytes.len() > CAPTURED_LEN - UDP_HEADERS_LEN);
        messages.retain(|bytes| (format.decode)(bytes).is_ok());
        let messages = messages.iter().enumerate();
        let frames = messages.map(|(index, bytes)| packets::udp(index, PORT, bytes));
        captures.push((format.protocol, format.option, frames.collect()));
    }
    for (protocol, option, mut frames) in captures {
        frames.retain(|frame| frame.len() > CAPTURED_LEN);
        let pairs = frames.iter().map(|it| (Duration::ZERO, &it[..]));
        write_pcap(&whole, pairs)?;
        let editcap = Command::new("editcap")
            .args(["-F", "pcap", "-s", &CAPTURED_LEN.to_string()])
            .args([&whole, &cut])
            .status()?;
        ensure!(editcap.success(), "editcap: {editcap}");
        let packets = tshark.dissect(&cut, &tshark.fields(protocol)?, &["-o", option])?;
        ensure!(packets.len() == frames.len() && !frames.is_empty());
        for (packet, frame) in packets.iter().zip(&frames) {
            let note = "The capture contains only the beginning of this message";
            ensure!(packet.notes == [note], "{:?}: {frame:02x?}", packet.notes);
        }
    }
    Ok(())
}
