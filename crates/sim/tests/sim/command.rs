//! `ring-sim` as a user runs it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use ring_codec::lab2::Frame;
use ring_trust::len_without_trailer;

fn sim(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ring-sim"));
    command.args(arguments);
    command.output().expect("ring-sim is built")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the files of a run, and its output. The run has no attacker, because an attacker sends invalid frames in the
/// names of nodes.
fn record_run(directory: &Path) -> Vec<Vec<u8>> {
    let path = directory.to_str().expect("a readable path");
    let given = [
        "--seed",
        "3",
        "--time",
        "4s",
        "--nodes",
        "4",
        "--faults",
        "all,-attack",
        "--record",
        path,
    ];
    let output = sim(&given);
    assert!(output.status.success(), "{}", text(&output.stdout));
    let files = ["frames.pcapng", "events.jsonl", "schedule.json"];
    let mut left: Vec<_> = files
        .iter()
        .map(|file| fs::read(directory.join(file)).expect(file))
        .collect();
    left.push(output.stdout);
    left
}

#[test]
fn two_processes_record_the_same_bytes() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (one, other) = (record_run(one.path()), record_run(other.path()));
    assert!(one == other, "the runs differ");
    assert!(one.iter().all(|bytes| bytes.len() > 500));
}

/// Returns the times of a capture's packets. This function reads the raw blocks, so the test does not depend on the
/// library that wrote the blocks.
fn capture_times(capture: &[u8]) -> Vec<u64> {
    let word = |at: usize| {
        let bytes = capture[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    };
    assert_eq!((word(0), word(8)), (0x0a0d_0d0a, 0x1a2b_3c4d));
    let mut times = Vec::new();
    let mut at = 0;
    while at < capture.len() {
        let len = usize::try_from(word(at + 4)).expect("a length");
        assert_eq!(word(at + len - 4), word(at + 4), "a block of two lengths");
        if word(at) == 6 {
            times.push(u64::from(word(at + 12)) << 32 | u64::from(word(at + 16)));
        }
        at += len;
    }
    times
}

#[test]
fn times_in_the_capture_are_nanoseconds_since_1970() {
    let directory = tempfile::tempdir().unwrap();
    let times = capture_times(&record_run(directory.path())[0]);
    let start = 1_700_000_000_000_000_000;
    let end = start + 20_000_000_000;
    assert!(times.iter().all(|time| (start..end).contains(time)));
    assert!(times.last().unwrap() - times.first().unwrap() > 4_000_000_000);
}

#[test]
fn the_capture_contains_every_sent_frame_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let left = record_run(directory.path());
    let mut reader = PcapNgReader::new(left[0].as_slice()).unwrap();
    let mut frames = 0;
    let mut last = None;
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            frames += 1;
            assert!(Some(packet.timestamp) >= last, "{frames}");
            last = Some(packet.timestamp);
            let own = packet.data.get(6..8) == Some(&[2, 0]);
            let is_handshake = len_without_trailer(&packet.data).is_none();
            assert!(!own || is_handshake || Frame::decode(&packet.data).is_ok());
        }
    }
    let options = &reader.interfaces()[0].options;
    let in_nanoseconds = InterfaceDescriptionOption::IfTsResol(9);
    assert!(options.contains(&in_nanoseconds), "{options:?}");
    let events = text(&left[1]);
    let sent = events
        .lines()
        .filter(|line| line.contains(r#""what":"sent""#));
    assert_eq!(frames, sent.count());
    assert!(events.lines().all(|line| line.starts_with('{')));
}

#[test]
fn a_run_without_violations_ends_with_0_and_a_report() {
    let output = sim(&["--seed", "5", "--time", "20s", "--faults", "drop,pause"]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    for word in [
        "seed          5",
        "drop ",
        "pause ",
        "TAKE_TOKEN",
        "recovery",
        "Nothing was",
    ] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
}

#[test]
fn wrong_usage_ends_with_2_and_missing_files_with_3() {
    let cases = [
        (&["--faults", "gremlins"][..], 2, "no fault 'gremlins'"),
        (&["--seeds", "5..5"], 2, "B must be more than A"),
        (&["--schedule", "/nowhere.json"], 3, "/nowhere.json"),
        (
            &["--schedule", "a.json", "--nodes", "3"],
            2,
            "cannot be used with",
        ),
    ];
    for (given, code, reason) in cases {
        let output = sim(given);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn help_explains_every_exit_code() {
    let output = sim(&["--help"]);
    let help = text(&output.stdout);
    for word in ["Exit codes", "  3  ", "--seeds <A..B>", "A station speaks"] {
        assert!(help.contains(word), "{word}: {help}");
    }
}
