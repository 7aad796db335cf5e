//! Each rule, without a network.

use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_proto::{Closed, JobOp, Machine, Stored, StreamEvent, StreamId, StreamOp};

use super::wire::{self, Announcement, HEADER, Header, REQUEST};
use super::{Command, Event, Failure, Job, Net, Note, Notes, Options, Version};

const PERIOD: Duration = Duration::from_millis(100);
const TRANSFER: Duration = Duration::from_secs(1);

fn address(last: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, last], 7))
}

fn id(slot: u16) -> StreamId {
    StreamId {
        slot,
        generation: 0,
    }
}

fn at(ms: u64) -> Now {
    Now {
        monotonic: Instant::from_nanos(ms * 1_000_000),
        wall: 0,
    }
}

fn machine(number: u64) -> Notes {
    let options = Options {
        id: number,
        port: 7,
        period: PERIOD,
        transfer: TRANSFER,
        served: 2,
    };
    let mut machine = Notes::new(options, Note::default());
    machine.handle_link(at(0), Net::Up(address(255)));
    machine
}

/// The next announcement, if there is one.
fn announced(machine: &mut Notes) -> Option<Version> {
    let mut room = [0; 64];
    let len = machine.poll_transmit(&mut room)?.len;
    Some(Announcement::decode(&room[..len])?.version)
}

fn stores(machine: &mut Notes, stored: Stored) -> Option<Version> {
    let note = machine.poll_durable()?;
    machine.handle_stored(at(1), stored);
    Some(note.version)
}

fn hear(machine: &mut Notes, version: Version) {
    let bytes = Announcement { version, port: 9 }.encode();
    machine.handle_message(at(1), address(2), &bytes, Duration::ZERO);
}

fn version(number: u64, author: u64) -> Version {
    Version { number, author }
}

/// The next job, if there is one.
fn started(machine: &mut Notes) -> Option<Job> {
    match machine.poll_job()? {
        JobOp::Start(job) => Some(job),
        JobOp::Cancel => panic!("nothing was to be cancelled"),
    }
}

fn writes(machine: &mut Notes, text: &[u8]) {
    machine.handle_command(at(0), Command::Write(text.to_vec()));
    let job = started(machine).expect("it is summed up");
    machine.handle_command(at(0), job.run());
}

fn written(text: &[u8]) -> (Notes, Note) {
    let mut machine = machine(2);
    writes(&mut machine, text);
    stores(&mut machine, Stored::Done);
    let note = machine.note().clone();
    (machine, note)
}

/// Has a machine begin to fetch what it has heard of.
fn begins(machine: &mut Notes, note: &Note) {
    hear(machine, note.version);
    let opens = machine.poll_stream(Some(id(0)));
    let to = SocketAddr::new(address(2).ip(), 9);
    assert_eq!(opens, Some(StreamOp::Open(to)));
    machine.handle_stream(at(2), id(0), StreamEvent::Connected);
    assert_eq!(machine.poll_stream(None), Some(StreamOp::Write(id(0))));
    let mut room = [0; 64];
    let count = machine.poll_write(id(0), &mut room);
    assert_eq!(wire::requested(&room[..count]), Some(note.version));
    assert_eq!(machine.poll_stream(None), Some(StreamOp::Finish(id(0))));
}

/// What the other side of a connection reads.
fn answer(machine: &mut Notes, wanted: Version) -> Vec<u8> {
    machine.handle_stream(at(2), id(0), StreamEvent::Accepted(address(1)));
    let request = wire::request(wanted);
    let event = StreamEvent::Received {
        bytes: &request,
        end: true,
    };
    assert_eq!(machine.handle_stream(at(2), id(0), event), REQUEST);
    assert_eq!(machine.poll_stream(None), Some(StreamOp::Write(id(0))));
    let (mut all, mut room) = (Vec::new(), [0; 5]);
    loop {
        match machine.poll_write(id(0), &mut room) {
            0 => break,
            count => all.extend_from_slice(&room[..count]),
        }
    }
    assert_eq!(machine.poll_stream(None), Some(StreamOp::Close(id(0))));
    all
}

fn receive(machine: &mut Notes, bytes: &[u8], end: bool) -> usize {
    machine.handle_stream(at(3), id(0), StreamEvent::Received { bytes, end })
}

/// The last of the machine's events.
fn told(machine: &mut Notes) -> Option<Event> {
    std::iter::from_fn(|| machine.poll_event()).last()
}

#[test]
fn a_version_is_shown_and_announced_once_it_is_stored() {
    let mut machine = machine(3);
    assert_eq!(announced(&mut machine), Some(Version::default()));
    writes(&mut machine, b"hello");
    assert_eq!(
        (announced(&mut machine), machine.note().version),
        (None, Version::default())
    );
    assert_eq!(stores(&mut machine, Stored::Done), Some(version(1, 3)));
    assert_eq!(&*machine.note().bytes, b"hello");
    assert_eq!(announced(&mut machine), Some(version(1, 3)));
    assert_eq!(told(&mut machine), Some(Event::Shown(version(1, 3))));
}

#[test]
fn what_cannot_be_stored_is_not_shown() {
    let mut machine = machine(3);
    writes(&mut machine, b"hello");
    stores(&mut machine, Stored::Failed);
    assert_eq!(machine.note(), &Note::default());
    let failed = Event::Failed(version(1, 3), Failure::NotStored);
    assert_eq!(told(&mut machine), Some(failed));
}

#[test]
fn a_newer_version_is_fetched_verified_and_stored_in_this_order() {
    let (mut author, note) = written(b"some text");
    let all = answer(&mut author, note.version);
    for split in 0..all.len() {
        let mut machine = machine(1);
        begins(&mut machine, &note);
        let used = receive(&mut machine, &all[..split], false);
        assert!(machine.poll_job().is_none());
        assert_eq!(receive(&mut machine, &all[used..], true), all.len() - used);
        assert_eq!(machine.poll_stream(None), Some(StreamOp::Close(id(0))));
        let job = started(&mut machine).expect("it is to be verified");
        assert_eq!(
            (machine.poll_durable(), machine.note()),
            (None, &Note::default())
        );
        machine.handle_command(at(4), job.run());
        assert_eq!(stores(&mut machine, Stored::Done), Some(note.version));
        assert_eq!(machine.note(), &note);
        assert_eq!(machine.transfers(), 0);
    }
}

#[test]
fn an_older_or_equal_version_is_not_fetched() {
    let (mut author, note) = written(b"text");
    hear(&mut author, note.version);
    hear(&mut author, version(1, 1));
    assert_eq!(author.poll_stream(Some(id(0))), None);
}

#[test]
fn one_version_is_fetched_at_a_time() {
    let mut machine = machine(1);
    hear(&mut machine, version(1, 2));
    hear(&mut machine, version(2, 2));
    assert!(matches!(
        machine.poll_stream(Some(id(0))),
        Some(StreamOp::Open(_))
    ));
    hear(&mut machine, version(3, 2));
    assert_eq!(machine.poll_stream(Some(id(1))), None);
    machine.handle_stream(at(2), id(0), StreamEvent::Closed(Closed::Reset));
    hear(&mut machine, version(3, 2));
    assert!(matches!(
        machine.poll_stream(Some(id(1))),
        Some(StreamOp::Open(_))
    ));
}

#[test]
fn what_is_cut_off_or_changed_is_not_shown() {
    let (mut author, note) = written(b"some text");
    let all = answer(&mut author, note.version);
    for end in 0..all.len() {
        let mut machine = machine(1);
        begins(&mut machine, &note);
        receive(&mut machine, &all[..end], true);
        assert!(machine.poll_job().is_none(), "after {end} bytes");
        let failed = Event::Failed(note.version, Failure::Closed);
        assert_eq!(told(&mut machine), Some(failed));
    }
    let mut changed = all;
    *changed.last_mut().expect("a byte") ^= 1;
    let mut machine = machine(1);
    begins(&mut machine, &note);
    receive(&mut machine, &changed, true);
    let job = started(&mut machine).expect("it is to be verified");
    machine.handle_command(at(4), job.run());
    assert_eq!(
        (machine.poll_durable(), machine.note()),
        (None, &Note::default())
    );
    let failed = Event::Failed(note.version, Failure::Corrupt);
    assert_eq!(told(&mut machine), Some(failed));
}

#[test]
fn a_note_that_is_too_long_or_older_than_wanted_is_refused_at_its_header() {
    let wanted = version(2, 2);
    for header in [
        Header {
            version: wanted,
            sum: 0,
            len: wire::MAX_NOTE + 1,
        },
        Header {
            version: version(1, 2),
            sum: 0,
            len: 1,
        },
    ] {
        let mut machine = machine(1);
        let note = Note {
            version: wanted,
            ..Note::default()
        };
        begins(&mut machine, &note);
        let bytes: [u8; HEADER] = header.encode();
        receive(&mut machine, &bytes, false);
        assert_eq!(machine.poll_stream(None), Some(StreamOp::Abort(id(0))));
    }
}

#[test]
fn a_transfer_ends_with_its_time() {
    let mut machine = machine(1);
    let note = Note {
        version: version(2, 2),
        ..Note::default()
    };
    begins(&mut machine, &note);
    machine.handle_stream(at(2), id(1), StreamEvent::Accepted(address(4)));
    machine.handle_timeout(at(1_000));
    assert_eq!(machine.transfers(), 2);
    machine.handle_timeout(at(1_003));
    assert_eq!(machine.transfers(), 0);
    let aborted = [machine.poll_stream(None), machine.poll_stream(None)];
    let expected = [0, 1].map(|slot| Some(StreamOp::Abort(id(slot))));
    assert_eq!(aborted, expected);
}

#[test]
fn as_many_are_served_as_are_allowed() {
    let mut machine = machine(1);
    for slot in 0..3 {
        machine.handle_stream(at(1), id(slot), StreamEvent::Accepted(address(4)));
    }
    assert_eq!(machine.transfers(), 2);
    assert_eq!(machine.poll_stream(None), Some(StreamOp::Abort(id(2))));
    assert_eq!(told(&mut machine), Some(Event::Refused));
}

#[test]
fn the_version_is_announced_in_each_period() {
    let mut machine = machine(1);
    assert!(announced(&mut machine).is_some());
    assert_eq!(announced(&mut machine), None);
    machine.handle_timeout(at(100));
    assert!(announced(&mut machine).is_some());
    machine.handle_link(at(150), Net::Down);
    machine.handle_timeout(at(400));
    assert_eq!(announced(&mut machine), None);
}

#[test]
fn what_is_written_later_cancels_what_is_being_edited() {
    let mut machine = machine(1);
    machine.handle_command(at(0), Command::Write(b"long".to_vec()));
    let long = started(&mut machine).expect("it is summed up");
    machine.handle_command(at(1), Command::Write(b"short".to_vec()));
    assert!(matches!(machine.poll_job(), Some(JobOp::Cancel)));
    let short = started(&mut machine).expect("it is summed up");
    drop(long);
    machine.handle_command(at(2), Command::NotSummed);
    assert_eq!(machine.poll_event(), Some(Event::Dropped));
    machine.handle_command(at(2), short.run());
    stores(&mut machine, Stored::Done);
    assert_eq!(&*machine.note().bytes, b"short");
    writes(&mut machine, b"the next cancels nothing");
}
