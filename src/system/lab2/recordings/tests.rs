//! Tests of the requests for recordings and of old files.

use std::fs;
use std::path::Path;

use ring_proto::lab2::Constants;
use ring_recording::Recorded;

use super::files::Kind;
use super::*;

const CLIENT: ClientId = 1;

fn recordings() -> Recordings {
    let writer = RecordingWriter::next_to(Path::new("/eth0.state"), "eth0".to_owned());
    Recordings::start(writer).unwrap()
}

#[test]
fn a_request_is_answered_if_nothing_happened() {
    let mut recordings = recordings();
    let now = Instant::from_nanos(1);
    recordings.begin(now, Cause::Request(CLIENT), None);
    assert_eq!(recordings.deadline(), Some(now));
    let reply = recordings.take_reply();
    assert!(
        matches!(reply, Some((CLIENT, Reply::Error(_)))),
        "{reply:?}"
    );
    assert_eq!(recordings.deadline(), None);
    assert!(matches!(recordings.on_request(CLIENT), Reaction::Later));
}

#[test]
fn requests_are_answered_after_the_end_of_the_thread() {
    let mut recordings = recordings();
    recordings.writing = Some(Cause::Request(CLIENT));
    recordings.jobs.cancel_all();
    recordings.jobs.join(|| false);
    let reply = recordings.take_reply();
    assert!(
        matches!(reply, Some((CLIENT, Reply::Error(_)))),
        "{reply:?}"
    );
    assert!(recordings.take_reply().is_none());
    assert!(!matches!(recordings.on_request(CLIENT), Reaction::Later));
    recordings.on_problem(Instant::from_nanos(1), Cause::LockLost);
    assert!(recordings.wanted.is_none());
}

/// Creates files, and returns a writer of recordings next to them.
fn writer(directory: &Path, names: &[&str]) -> RecordingWriter {
    for name in names {
        fs::write(directory.join(name), "").unwrap();
    }
    RecordingWriter::next_to(&directory.join("eth0.state"), "eth0".to_owned())
}

#[test]
fn only_the_newest_recordings_of_a_kind_stay() {
    let directory = tempfile::tempdir().unwrap();
    let kept = ["eth0.11.pcapng", "eth0.9.pcapng", "eth0.007.pcapng"];
    let removed = [
        "eth0.2.pcapng",
        "eth0.+5.pcapng",
        "eth0.99.later.pcapng.new",
    ];
    let others = [
        "eth0.state",
        "eth0.1.1.pcapng",
        "eth1.1.pcapng",
        "eth0.x.pcapng",
        "eth0.1.first.pcapng",
        "eth0.3.later.pcapng",
        "eth1.1.pcapng.new",
    ];
    let names = [&kept[..], &removed, &others].concat();
    let writer = writer(directory.path(), &names);
    writer.make_place(Kind::Requested).unwrap();
    let is_there = |name: &&str| directory.path().join(name).exists();
    assert!(kept.iter().chain(&others).all(is_there));
    assert!(!removed.iter().any(is_there));
}

#[test]
fn the_first_automatic_recording_of_a_series_has_a_place_of_its_own() {
    const MINUTE: u64 = 60_000;
    let directory = tempfile::tempdir().unwrap();
    let writer = writer(directory.path(), &[]);
    let mut now = 1_000 * MINUTE;
    let mut record = |pause: u64| {
        now += pause;
        let kind = writer.kind(Cause::LockLost, now).unwrap();
        writer.make_place(kind).unwrap();
        let end = if kind == Kind::First {
            "first"
        } else {
            "later"
        };
        fs::write(
            directory.path().join(format!("eth0.{now}.{end}.pcapng")),
            "",
        )
        .unwrap();
        kind
    };
    // Two series of two hours, and the beginning of a third one.
    for _ in 0..2 {
        assert_eq!(record(60 * MINUTE), Kind::First);
        for _ in 0..120 {
            assert_eq!(record(MINUTE), Kind::Later);
        }
    }
    assert_eq!(record(60 * MINUTE), Kind::First);
    let mut names: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let at = |minute: u64, kind| format!("eth0.{}.{kind}.pcapng", minute * MINUTE);
    let expected = [
        at(1_240, "first"),
        at(1_359, "later"),
        at(1_360, "later"),
        at(1_420, "first"),
    ];
    assert_eq!(names, expected);
    let requested = writer.kind(Cause::Request(CLIENT), now).unwrap();
    assert_eq!(requested, Kind::Requested);
}

#[test]
fn a_recording_that_cannot_be_removed_does_not_prevent_others() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("eth0.1.later.pcapng")).unwrap();
    let removed = "eth0.2.later.pcapng";
    let writer = writer(directory.path(), &[removed, "eth0.3.later.pcapng"]);
    writer.make_place(Kind::Later).unwrap();
    assert!(directory.path().join("eth0.3.later.pcapng").exists());
    assert!(!directory.path().join(removed).exists());
}

/// Returns a recording of a state machine that got one timeout.
fn recording() -> Recording<Lab2> {
    let stored = ring_proto::lab2::StoredState {
        my_token_number: 0,
        known: None,
        stamp: None,
    };
    let mut machine = Recorded::new(Lab2::new(Constants::default(), stored));
    ring_proto::Machine::handle_timeout(&mut machine, clock::now());
    machine.take_recording().unwrap()
}

#[test]
fn a_file_gets_its_name_when_it_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let writer = writer(directory.path(), &[]);
    let path = writer.write(&recording(), Cause::Panic).unwrap();
    assert!(
        path.to_str().unwrap().ends_with(".first.pcapng"),
        "{path:?}"
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    fs::remove_dir_all(directory.path()).unwrap();
    assert!(writer.write(&recording(), Cause::Panic).is_err());
}

#[test]
fn the_wait_for_a_disk_is_bounded() {
    assert_eq!(run_bounded(FINISH_TIMEOUT, || 7).unwrap(), 7);
    let (gate, wait) = mpsc::channel::<()>();
    let error = run_bounded(Duration::from_millis(10), move || wait.recv());
    assert_eq!(error.unwrap_err().kind(), io::ErrorKind::TimedOut);
    drop(gate);
}
