//! What connections owe the machine and the network.

use std::io::ErrorKind;

use ring_proto::{Closed, StreamId};

use super::memory::{Peer, Shared, Wire};
use super::{Changed, Connections, Happened, RECEIVE_ROOM, Streams};

/// Two slots, and a network.
struct Rig {
    lan: Shared,
    streams: Connections<Shared, u32>,
}

impl Rig {
    fn new() -> Self {
        let lan = Shared::default();
        let streams = Connections::new(lan.clone(), 2);
        Self { lan, streams }
    }

    /// A peer has connected that takes so much.
    fn call(&mut self, from: u32, takes: usize) -> Wire {
        let wire = Wire::default();
        wire.0.borrow_mut().takes = takes;
        let mut lan = self.lan.0.borrow_mut();
        lan.calls.push_back((wire.clone(), from));
        lan.changed.push_back(Changed::Listener);
        drop(lan);
        wire
    }

    /// The next peers give up, or cannot be accepted for another reason.
    fn refuse(&self, reasons: impl IntoIterator<Item = ErrorKind>) {
        self.lan.0.borrow_mut().refusals.extend(reasons);
    }

    /// A connection that stands, and its other end.
    fn accepted(&mut self, takes: usize) -> (StreamId, Wire) {
        let wire = self.call(7, takes);
        let (id, what) = self.streams.next().expect("it is accepted");
        assert_eq!(what, Happened::Accepted(7));
        assert_eq!(self.streams.next(), None);
        (id, wire)
    }

    /// Something becomes of the other end, of which the network tells.
    fn change(&mut self, wire: &Wire, change: impl FnOnce(&mut Peer)) {
        change(&mut wire.0.borrow_mut());
        let key = wire.0.borrow().key;
        let changed = Changed::Connection(key);
        self.lan.0.borrow_mut().changed.push_back(changed);
    }

    fn says(&mut self, wire: &Wire, bytes: &[u8]) {
        self.change(wire, |peer| peer.sent.extend(bytes));
    }

    fn happens(&mut self) -> Vec<(StreamId, Happened<u32>)> {
        std::iter::from_fn(|| self.streams.next()).collect()
    }

    /// Writes all of `bytes` that it takes; the rest stays.
    fn write(&mut self, id: StreamId, bytes: &mut Vec<u8>) {
        self.streams.write(id, &mut |room| {
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            bytes.drain(..count);
            count
        });
    }
}

#[test]
fn what_is_received_is_told_with_all_that_was_not_consumed() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accepted(0);
    rig.says(&wire, b"abc");
    assert_eq!(rig.happens(), [(id, Happened::Received)]);
    assert_eq!(rig.streams.received(id), Some((&b"abc"[..], false)));
    rig.streams.consume(id, 2);
    assert_eq!(rig.happens(), [], "it waits for more");
    rig.streams.receive_again(id);
    assert_eq!(rig.happens(), [(id, Happened::Received)]);
    rig.change(&wire, |peer| {
        peer.sent.extend(b"d");
        peer.has_closed = true;
    });
    assert_eq!(rig.happens(), [(id, Happened::Received)]);
    assert_eq!(
        rig.streams.received(id),
        Some((&b"cd"[..], true)),
        "with its end"
    );
}

#[test]
fn who_is_not_listened_to_has_to_wait_and_costs_no_more_than_its_room() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accepted(0);
    rig.says(&wire, &vec![1; 3 * RECEIVE_ROOM]);
    assert_eq!(rig.happens(), [(id, Happened::Received)]);
    let waits = |rig: &Rig| rig.streams.received(id).map(|(bytes, _)| bytes.len());
    assert_eq!(waits(&rig), Some(RECEIVE_ROOM));
    rig.says(&wire, b"more");
    assert_eq!(rig.happens(), [], "there is no room");
    let mut read = 0;
    while let Some(count) = waits(&rig).filter(|&count| count > 0) {
        rig.streams.consume(id, count);
        read += count;
        rig.streams.receive_again(id);
        rig.happens();
    }
    assert_eq!(read, 3 * RECEIVE_ROOM + 4);
}

#[test]
fn a_reset_counts_for_more_than_what_was_sent_before_it() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accepted(0);
    rig.change(&wire, |peer| {
        peer.sent.extend(b"a token");
        (peer.has_closed, peer.has_reset) = (true, true);
    });
    assert_eq!(rig.happens(), [(id, Happened::Closed(Closed::Reset))]);
    assert_eq!(rig.streams.received(id), None);
    let (id, wire) = rig.accepted(0);
    rig.change(&wire, |peer| {
        peer.sent.extend(b"a token");
        peer.has_closed = true;
    });
    assert_eq!(rig.happens(), [(id, Happened::Received)]);
    rig.change(&wire, |peer| peer.has_reset = true);
    assert_eq!(
        rig.happens(),
        [(id, Happened::Closed(Closed::Reset))],
        "after the end"
    );
}

#[test]
fn what_is_told_again_was_not_reset_meanwhile() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accepted(0);
    rig.says(&wire, b"an offer");
    assert_eq!(rig.happens(), [(id, Happened::Received)]);
    // The network has not announced it yet.
    wire.0.borrow_mut().has_reset = true;
    rig.streams.receive_again(id);
    assert_eq!(rig.happens(), [(id, Happened::Closed(Closed::Reset))]);
}

#[test]
fn a_peer_that_reads_slowly_gets_all_and_the_end_behind_it() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accepted(10);
    let whole: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let mut rest = whole.clone();
    rig.write(id, &mut rest);
    rig.streams.finish(id);
    let mut turns = 0;
    while !wire.0.borrow().end {
        assert_eq!(rig.happens(), [], "it takes nothing");
        rig.change(&wire, |peer| peer.takes = 3_000);
        assert_eq!(rig.streams.next(), Some((id, Happened::Writable)));
        rig.write(id, &mut rest);
        turns += 1;
    }
    assert_eq!(turns, 34);
    assert!(wire.0.borrow().read == whole && wire.0.borrow().over.is_none());
}

#[test]
fn one_that_is_closed_is_written_to_its_end_without_another_word() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accepted(2);
    rig.write(id, &mut b"acknowledged".to_vec());
    rig.streams.close(id);
    rig.says(&wire, b"too late");
    assert_eq!((rig.happens(), wire.0.borrow().over), (vec![], None));
    rig.change(&wire, |peer| peer.takes = 100);
    assert_eq!(rig.happens(), []);
    assert_eq!(wire.0.borrow().read, b"acknowledged");
    assert_eq!(wire.0.borrow().over, Some("closed"));
}

#[test]
fn peers_that_do_not_read_the_last_words_hold_half_of_the_slots_at_most() {
    let mut rig = Rig::new();
    let ends = [rig.accepted(2), rig.accepted(2)];
    for (id, _) in &ends {
        rig.write(*id, &mut b"acknowledged".to_vec());
        rig.streams.close(*id);
    }
    let over = |at: usize| ends[at].1.0.borrow().over;
    assert_eq!((over(0), over(1)), (Some("reset"), None));
    assert!(rig.streams.vacant().is_some());
}

#[test]
fn what_is_late_for_a_connection_that_is_gone_reaches_nobody() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accepted(0);
    rig.streams.abort(id);
    assert_eq!(wire.0.borrow().over, Some("reset"));
    let (next, other) = rig.accepted(0);
    assert_eq!((next.slot, next.generation), (id.slot, id.generation + 1));
    rig.says(&wire, b"late");
    assert_eq!(rig.happens(), []);
    rig.streams.abort(id);
    rig.streams.close(id);
    rig.streams.finish(id);
    rig.streams.consume(id, 9);
    rig.streams.receive_again(id);
    rig.write(id, &mut b"late".to_vec());
    assert_eq!((rig.happens(), rig.streams.received(id)), (vec![], None));
    let other = other.0.borrow();
    assert!(other.over.is_none() && other.read.is_empty() && !other.end);
}

#[test]
fn when_all_slots_are_taken_peers_wait_for_one() {
    let mut rig = Rig::new();
    let (first, _one) = rig.accepted(0);
    let (_, _two) = rig.accepted(0);
    assert_eq!(rig.streams.vacant(), None);
    let _three = rig.call(3, 0);
    assert_eq!(rig.happens(), []);
    rig.streams.abort(first);
    assert!(rig.streams.is_due());
    let vacant = rig.streams.vacant().expect("a slot");
    assert_eq!(rig.happens(), [(vacant, Happened::Accepted(3))]);
}

#[test]
fn a_connection_that_is_opened_stands_or_fails_under_the_id_that_was_vacant() {
    let mut rig = Rig::new();
    let wire = Wire::default();
    (wire.0.borrow_mut().silent, wire.0.borrow_mut().takes) = (true, 100);
    rig.lan.0.borrow_mut().reachable.push_back(wire.clone());
    let id = rig.streams.vacant().expect("a slot");
    rig.streams.open(9);
    rig.write(id, &mut b"hello".to_vec());
    rig.streams.finish(id);
    assert_eq!(rig.happens(), [], "nobody has answered");
    rig.change(&wire, |peer| peer.silent = false);
    assert_eq!(rig.streams.next(), Some((id, Happened::Connected)));
    assert_eq!(rig.streams.next(), Some((id, Happened::Writable)));
    rig.write(id, &mut b"hello".to_vec());
    let peer = wire.0.borrow();
    assert!(peer.end && peer.read == b"hello", "{peer:?}");
    drop(peer);

    let refusing = Wire::default();
    refusing.0.borrow_mut().refuses = true;
    rig.lan.0.borrow_mut().reachable.push_back(refusing);
    let id = rig.streams.vacant().expect("a slot");
    rig.streams.open(9);
    assert_eq!(rig.happens(), [(id, Happened::Closed(Closed::Refused))]);
    let id = rig.streams.vacant().expect("it is vacant again");
    rig.streams.open(9);
    assert_eq!(
        rig.happens(),
        [(id, Happened::Closed(Closed::Failed))],
        "no way there"
    );
}

#[test]
fn of_one_that_failed_nothing_is_told_to_who_is_done_with_it() {
    let mut rig = Rig::new();
    for is_reset in [true, false] {
        let id = rig.streams.vacant().expect("a slot");
        rig.streams.open(9);
        if is_reset {
            rig.streams.abort(id);
        } else {
            rig.streams.close(id);
        }
        assert_eq!(rig.happens(), []);
    }
}

#[test]
fn a_peer_that_has_given_up_keeps_nobody_behind_it_waiting() {
    let mut rig = Rig::new();
    rig.refuse([
        ErrorKind::ConnectionAborted,
        ErrorKind::NetworkDown,
        ErrorKind::Interrupted,
        ErrorKind::Other,
    ]);
    rig.call(7, 0);
    let (_, what) = rig.streams.next().expect("it is accepted");
    assert_eq!(what, Happened::Accepted(7));
}

#[test]
fn without_a_descriptor_the_network_is_asked_again_when_something_changes() {
    let mut rig = Rig::new();
    let (id, _) = rig.accepted(0);
    rig.refuse([ErrorKind::OutOfMemory]);
    rig.call(8, 0);
    assert_eq!(rig.happens(), []);
    assert!(!rig.streams.is_due(), "it would be asked all the time");
    rig.streams.abort(id);
    let all: Vec<_> = rig.happens().into_iter().map(|(_, what)| what).collect();
    assert_eq!(all, [Happened::Accepted(8)]);
}

#[test]
fn a_listener_that_is_broken_for_good_costs_a_bounded_time() {
    let mut rig = Rig::new();
    rig.refuse(std::iter::repeat_n(ErrorKind::InvalidInput, 1_000_000));
    rig.call(7, 0);
    assert_eq!(rig.happens(), []);
    assert!(!rig.streams.is_due());
}
