//! Each rule, without a network.

use std::net::SocketAddr;
use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_proto::{Closed, Machine, Stored, StreamEvent, StreamId, StreamOp};

use super::wire::{self, Announcement, HEADER, Header, REQUEST};
use super::{Command, Event, Failure, Net, Note, Notes, Options, Version};

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

fn node(number: u64) -> Notes {
    let options = Options {
        id: number,
        port: 7,
        period: PERIOD,
        transfer: TRANSFER,
        served: 2,
    };
    let mut node = Notes::new(options, Note::default());
    node.handle_link(at(0), Net::Up(address(255)));
    node
}

/// The next announcement, if there is one.
fn announced(node: &mut Notes) -> Option<Version> {
    let mut room = [0; 64];
    let len = node.poll_transmit(&mut room)?.len;
    Some(Announcement::decode(&room[..len])?.version)
}

fn stores(node: &mut Notes, stored: Stored) -> Option<Version> {
    let note = node.poll_durable()?;
    node.handle_stored(at(1), stored);
    Some(note.version)
}

fn hear(node: &mut Notes, version: Version) {
    let bytes = Announcement { version, port: 9 }.encode();
    node.handle_message(at(1), address(2), &bytes, Duration::ZERO);
}

fn version(number: u64, author: u64) -> Version {
    Version { number, author }
}

fn written(text: &[u8]) -> (Notes, Note) {
    let mut node = node(2);
    node.handle_command(at(0), Command::Write(text.to_vec()));
    stores(&mut node, Stored::Done);
    let note = node.note().clone();
    (node, note)
}

/// Has a node begin to fetch what it has heard of.
fn begins(node: &mut Notes, note: &Note) {
    hear(node, note.version);
    let opens = node.poll_stream(Some(id(0)));
    let to = SocketAddr::new(address(2).ip(), 9);
    assert_eq!(opens, Some(StreamOp::Open(to)));
    node.handle_stream(at(2), id(0), StreamEvent::Connected);
    assert_eq!(node.poll_stream(None), Some(StreamOp::Write(id(0))));
    let mut room = [0; 64];
    let count = node.poll_write(id(0), &mut room);
    assert_eq!(wire::requested(&room[..count]), Some(note.version));
    assert_eq!(node.poll_stream(None), Some(StreamOp::Finish(id(0))));
}

/// What the other side of a connection reads.
fn answer(node: &mut Notes, wanted: Version) -> Vec<u8> {
    node.handle_stream(at(2), id(0), StreamEvent::Accepted(address(1)));
    let request = wire::request(wanted);
    let event = StreamEvent::Received {
        bytes: &request,
        end: true,
    };
    assert_eq!(node.handle_stream(at(2), id(0), event), REQUEST);
    assert_eq!(node.poll_stream(None), Some(StreamOp::Write(id(0))));
    let (mut all, mut room) = (Vec::new(), [0; 5]);
    loop {
        match node.poll_write(id(0), &mut room) {
            0 => break,
            count => all.extend_from_slice(&room[..count]),
        }
    }
    assert_eq!(node.poll_stream(None), Some(StreamOp::Close(id(0))));
    all
}

fn receive(node: &mut Notes, bytes: &[u8], end: bool) -> usize {
    node.handle_stream(at(3), id(0), StreamEvent::Received { bytes, end })
}

/// The last of the node's events.
fn told(node: &mut Notes) -> Option<Event> {
    std::iter::from_fn(|| node.poll_event()).last()
}

#[test]
fn a_version_is_shown_and_announced_once_it_is_stored() {
    let mut node = node(3);
    assert_eq!(announced(&mut node), Some(Version::default()));
    node.handle_command(at(0), Command::Write(b"hello".to_vec()));
    assert_eq!(
        (announced(&mut node), node.note().version),
        (None, Version::default())
    );
    assert_eq!(stores(&mut node, Stored::Done), Some(version(1, 3)));
    assert_eq!(&*node.note().bytes, b"hello");
    assert_eq!(announced(&mut node), Some(version(1, 3)));
    assert_eq!(told(&mut node), Some(Event::Shown(version(1, 3))));
}

#[test]
fn what_cannot_be_stored_is_not_shown() {
    let mut node = node(3);
    node.handle_command(at(0), Command::Write(b"hello".to_vec()));
    stores(&mut node, Stored::Failed);
    assert_eq!(node.note(), &Note::default());
    let failed = Event::Failed(version(1, 3), Failure::NotStored);
    assert_eq!(told(&mut node), Some(failed));
}

#[test]
fn a_newer_version_is_fetched_verified_and_stored_in_this_order() {
    let (mut author, note) = written(b"some text");
    let all = answer(&mut author, note.version);
    for split in 0..all.len() {
        let mut node = node(1);
        begins(&mut node, &note);
        let used = receive(&mut node, &all[..split], false);
        assert!(node.poll_job().is_none());
        assert_eq!(receive(&mut node, &all[used..], true), all.len() - used);
        assert_eq!(node.poll_stream(None), Some(StreamOp::Close(id(0))));
        let job = node.poll_job().expect("it is to be verified");
        assert_eq!((node.poll_durable(), node.note()), (None, &Note::default()));
        node.handle_command(at(4), job.run());
        assert_eq!(stores(&mut node, Stored::Done), Some(note.version));
        assert_eq!(node.note(), &note);
        assert_eq!(node.transfers(), 0);
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
    let mut node = node(1);
    hear(&mut node, version(1, 2));
    hear(&mut node, version(2, 2));
    assert!(matches!(
        node.poll_stream(Some(id(0))),
        Some(StreamOp::Open(_))
    ));
    hear(&mut node, version(3, 2));
    assert_eq!(node.poll_stream(Some(id(1))), None);
    node.handle_stream(at(2), id(0), StreamEvent::Closed(Closed::Reset));
    hear(&mut node, version(3, 2));
    assert!(matches!(
        node.poll_stream(Some(id(1))),
        Some(StreamOp::Open(_))
    ));
}

#[test]
fn what_is_cut_off_or_changed_is_not_shown() {
    let (mut author, note) = written(b"some text");
    let all = answer(&mut author, note.version);
    for end in 0..all.len() {
        let mut node = node(1);
        begins(&mut node, &note);
        receive(&mut node, &all[..end], true);
        assert!(node.poll_job().is_none(), "after {end} bytes");
        let failed = Event::Failed(note.version, Failure::Closed);
        assert_eq!(told(&mut node), Some(failed));
    }
    let mut changed = all;
    *changed.last_mut().expect("a byte") ^= 1;
    let mut node = node(1);
    begins(&mut node, &note);
    receive(&mut node, &changed, true);
    let job = node.poll_job().expect("it is to be verified");
    node.handle_command(at(4), job.run());
    assert_eq!((node.poll_durable(), node.note()), (None, &Note::default()));
    let failed = Event::Failed(note.version, Failure::Corrupt);
    assert_eq!(told(&mut node), Some(failed));
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
        let mut node = node(1);
        let note = Note {
            version: wanted,
            ..Note::default()
        };
        begins(&mut node, &note);
        let bytes: [u8; HEADER] = header.encode();
        receive(&mut node, &bytes, false);
        assert_eq!(node.poll_stream(None), Some(StreamOp::Abort(id(0))));
    }
}

#[test]
fn a_transfer_ends_with_its_time() {
    let mut node = node(1);
    let note = Note {
        version: version(2, 2),
        ..Note::default()
    };
    begins(&mut node, &note);
    node.handle_stream(at(2), id(1), StreamEvent::Accepted(address(4)));
    node.handle_timeout(at(1_000));
    assert_eq!(node.transfers(), 2);
    node.handle_timeout(at(1_003));
    assert_eq!(node.transfers(), 0);
    let aborted = [node.poll_stream(None), node.poll_stream(None)];
    let expected = [0, 1].map(|slot| Some(StreamOp::Abort(id(slot))));
    assert_eq!(aborted, expected);
}

#[test]
fn as_many_are_served_as_are_allowed() {
    let mut node = node(1);
    for slot in 0..3 {
        node.handle_stream(at(1), id(slot), StreamEvent::Accepted(address(4)));
    }
    assert_eq!(node.transfers(), 2);
    assert_eq!(node.poll_stream(None), Some(StreamOp::Abort(id(2))));
    assert_eq!(told(&mut node), Some(Event::Refused));
}

#[test]
fn the_version_is_announced_in_each_period() {
    let mut node = node(1);
    assert!(announced(&mut node).is_some());
    assert_eq!(announced(&mut node), None);
    node.handle_timeout(at(100));
    assert!(announced(&mut node).is_some());
    node.handle_link(at(150), Net::Down);
    node.handle_timeout(at(400));
    assert_eq!(announced(&mut node), None);
}
