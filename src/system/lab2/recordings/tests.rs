//! Tests of the requests for recordings and of old files.

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
    recordings.finish(&mut || false);
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

#[test]
fn only_the_newest_recordings_of_the_ring_stay() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let kept = ["eth0.11.pcapng", "eth0.9.pcapng"];
    let removed = ["eth0.2.pcapng", "eth0.8.pcapng"];
    let others = [
        "eth0.state",
        "eth0.1.1.pcapng",
        "eth1.1.pcapng",
        "eth0.x.pcapng",
    ];
    for name in kept.iter().chain(&removed).chain(&others) {
        fs::write(at(name), "").unwrap();
    }
    let writer = RecordingWriter::next_to(&at("eth0.state"), "eth0".to_owned());
    writer.remove_all_but(2).unwrap();
    let is_there = |name: &&str| at(name).exists();
    assert!(kept.iter().chain(&others).all(is_there));
    assert!(!removed.iter().any(is_there));
}

#[test]
fn a_recording_that_cannot_be_removed_does_not_prevent_others() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("eth0.1.pcapng")).unwrap();
    let removed = ["eth0.+5.pcapng", "eth0.007.pcapng"];
    for name in removed.iter().chain(&["eth0.9.pcapng"]) {
        fs::write(at(name), "").unwrap();
    }
    let writer = RecordingWriter::next_to(&at("eth0.state"), "eth0".to_owned());
    writer.remove_all_but(1).unwrap();
    assert!(at("eth0.9.pcapng").exists());
    assert!(!removed.iter().any(|name| at(name).exists()));
}
