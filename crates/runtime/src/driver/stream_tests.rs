//! Tests of the connections between a machine and its network.

use std::io::ErrorKind;

use ring_proto::{CloseReason, StreamId};

use super::memory::{MemoryConnection, Peer, SharedLan};
use super::{Changed, Connections, IoEvent, RECEIVE_BUFFER_MAX, Streams};

/// A network, and two slots for connections.
struct Rig {
    lan: SharedLan,
    streams: Connections<SharedLan, u32>,
}

impl Rig {
    fn new() -> Self {
        let lan = SharedLan::default();
        let streams = Connections::new(lan.clone(), 2);
        Self { lan, streams }
    }

    /// Lets a peer connect. `takes` is the number of bytes that the peer accepts.
    fn call(&mut self, from: u32, takes: usize) -> MemoryConnection {
        let wire = MemoryConnection::default();
        wire.0.borrow_mut().takes = takes;
        let mut lan = self.lan.0.borrow_mut();
        lan.calls.push_back((wire.clone(), from));
        lan.changed.push_back(Changed::Listener);
        drop(lan);
        wire
    }

    /// Makes the next `accept` calls fail.
    fn refuse(&self, reasons: impl IntoIterator<Item = ErrorKind>) {
        self.lan.0.borrow_mut().refusals.extend(reasons);
    }

    /// Makes an established connection. Returns the connection and its opposite end.
    fn accept_connection(&mut self, takes: usize) -> (StreamId, MemoryConnection) {
        let wire = self.call(7, takes);
        let (id, what) = self
            .streams
            .next_event()
            .expect("the connection is accepted");
        assert_eq!(what, IoEvent::Accepted(7));
        assert_eq!(self.streams.next_event(), None);
        (id, wire)
    }

    /// Changes the opposite end, and announces the change.
    fn change(&mut self, wire: &MemoryConnection, change: impl FnOnce(&mut Peer)) {
        change(&mut wire.0.borrow_mut());
        let key = wire.0.borrow().key;
        let changed = Changed::Connection(key);
        self.lan.0.borrow_mut().changed.push_back(changed);
    }

    fn send_bytes(&mut self, wire: &MemoryConnection, bytes: &[u8]) {
        self.change(wire, |peer| peer.sent.extend(bytes));
    }

    fn collect_events(&mut self) -> Vec<(StreamId, IoEvent<u32>)> {
        std::iter::from_fn(|| self.streams.next_event()).collect()
    }

    /// Writes as many of `bytes` as the connection takes. Unwritten bytes stay in `bytes`.
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
fn received_bytes_come_with_all_that_were_not_consumed() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accept_connection(0);
    rig.send_bytes(&wire, b"abc");
    assert_eq!(rig.collect_events(), [(id, IoEvent::Received)]);
    assert_eq!(rig.streams.received(id), Some((&b"abc"[..], false)));
    rig.streams.consume(id, 2);
    assert_eq!(rig.collect_events(), [], "the machine waits for more bytes");
    rig.streams.receive_again(id);
    assert_eq!(rig.collect_events(), [(id, IoEvent::Received)]);
    rig.change(&wire, |peer| {
        peer.sent.extend(b"d");
        peer.has_closed = true;
    });
    assert_eq!(rig.collect_events(), [(id, IoEvent::Received)]);
    assert_eq!(
        rig.streams.received(id),
        Some((&b"cd"[..], true)),
        "the bytes come with the end of the stream"
    );
}

#[test]
fn a_peer_whose_bytes_are_not_consumed_has_to_wait() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accept_connection(0);
    rig.send_bytes(&wire, &vec![1; 3 * RECEIVE_BUFFER_MAX]);
    assert_eq!(rig.collect_events(), [(id, IoEvent::Received)]);
    let waits = |rig: &Rig| rig.streams.received(id).map(|(bytes, _)| bytes.len());
    assert_eq!(waits(&rig), Some(RECEIVE_BUFFER_MAX));
    rig.send_bytes(&wire, b"more");
    assert_eq!(rig.collect_events(), [], "there is no room");
    let mut read = 0;
    while let Some(count) = waits(&rig).filter(|&count| count > 0) {
        rig.streams.consume(id, count);
        read += count;
        rig.streams.receive_again(id);
        rig.collect_events();
    }
    assert_eq!(read, 3 * RECEIVE_BUFFER_MAX + 4);
}

#[test]
fn a_reset_discards_bytes_that_were_sent_before_it() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accept_connection(0);
    rig.change(&wire, |peer| {
        peer.sent.extend(b"a token");
        (peer.has_closed, peer.has_reset) = (true, true);
    });
    assert_eq!(
        rig.collect_events(),
        [(id, IoEvent::Closed(CloseReason::Reset))]
    );
    assert_eq!(rig.streams.received(id), None);
    let (id, wire) = rig.accept_connection(0);
    rig.change(&wire, |peer| {
        peer.sent.extend(b"a token");
        peer.has_closed = true;
    });
    assert_eq!(rig.collect_events(), [(id, IoEvent::Received)]);
    rig.change(&wire, |peer| peer.has_reset = true);
    assert_eq!(
        rig.collect_events(),
        [(id, IoEvent::Closed(CloseReason::Reset))],
        "a reset also counts after the end of the stream"
    );
}

#[test]
fn a_reset_is_noticed_when_bytes_are_received_again() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accept_connection(0);
    rig.send_bytes(&wire, b"an offer");
    assert_eq!(rig.collect_events(), [(id, IoEvent::Received)]);
    // The network has not announced the reset yet.
    wire.0.borrow_mut().has_reset = true;
    rig.streams.receive_again(id);
    assert_eq!(
        rig.collect_events(),
        [(id, IoEvent::Closed(CloseReason::Reset))]
    );
}

#[test]
fn a_slow_peer_gets_all_bytes_and_then_the_end() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accept_connection(10);
    let whole: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let mut rest = whole.clone();
    rig.write(id, &mut rest);
    rig.streams.finish(id);
    let mut turns = 0;
    while !wire.0.borrow().end {
        assert_eq!(rig.collect_events(), [], "the connection takes no bytes");
        rig.change(&wire, |peer| peer.takes = 3_000);
        assert_eq!(rig.streams.next_event(), Some((id, IoEvent::Writable)));
        rig.write(id, &mut rest);
        turns += 1;
    }
    assert_eq!(turns, 34);
    assert!(wire.0.borrow().read == whole && wire.0.borrow().over.is_none());
}

#[test]
fn a_closed_connection_is_written_to_its_end_without_more_events() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accept_connection(2);
    rig.write(id, &mut b"acknowledged".to_vec());
    rig.streams.close(id);
    rig.send_bytes(&wire, b"too late");
    assert_eq!((rig.collect_events(), wire.0.borrow().over), (vec![], None));
    rig.change(&wire, |peer| peer.takes = 100);
    assert_eq!(rig.collect_events(), []);
    assert_eq!(wire.0.borrow().read, b"acknowledged");
    assert_eq!(wire.0.borrow().over, Some("closed"));
}

#[test]
fn closing_connections_hold_at_most_half_of_the_slots() {
    let mut rig = Rig::new();
    let ends = [rig.accept_connection(2), rig.accept_connection(2)];
    for (id, _) in &ends {
        rig.write(*id, &mut b"acknowledged".to_vec());
        rig.streams.close(*id);
    }
    let over = |at: usize| ends[at].1.0.borrow().over;
    assert_eq!((over(0), over(1)), (Some("reset"), None));
    assert!(rig.streams.next_id().is_some());
}

#[test]
fn late_calls_for_an_old_connection_do_nothing() {
    let mut rig = Rig::new();
    let (id, wire) = rig.accept_connection(0);
    rig.streams.abort(id);
    assert_eq!(wire.0.borrow().over, Some("reset"));
    let (next, other) = rig.accept_connection(0);
    assert_eq!((next.slot, next.generation), (id.slot, id.generation + 1));
    rig.send_bytes(&wire, b"late");
    assert_eq!(rig.collect_events(), []);
    rig.streams.abort(id);
    rig.streams.close(id);
    rig.streams.finish(id);
    rig.streams.consume(id, 9);
    rig.streams.receive_again(id);
    rig.write(id, &mut b"late".to_vec());
    assert_eq!(
        (rig.collect_events(), rig.streams.received(id)),
        (vec![], None)
    );
    let other = other.0.borrow();
    assert!(other.over.is_none() && other.read.is_empty() && !other.end);
}

#[test]
fn when_all_slots_are_taken_peers_wait_for_one() {
    let mut rig = Rig::new();
    let (first, _one) = rig.accept_connection(0);
    let (_, _two) = rig.accept_connection(0);
    assert_eq!(rig.streams.next_id(), None);
    let _three = rig.call(3, 0);
    assert_eq!(rig.collect_events(), []);
    rig.streams.abort(first);
    assert!(rig.streams.is_due());
    let vacant = rig.streams.next_id().expect("a slot");
    assert_eq!(rig.collect_events(), [(vacant, IoEvent::Accepted(3))]);
}

#[test]
fn an_opened_connection_has_the_id_that_was_vacant() {
    let mut rig = Rig::new();
    let wire = MemoryConnection::default();
    (wire.0.borrow_mut().silent, wire.0.borrow_mut().takes) = (true, 100);
    rig.lan.0.borrow_mut().reachable.push_back(wire.clone());
    let id = rig.streams.next_id().expect("a slot");
    rig.streams.open(9);
    rig.write(id, &mut b"hello".to_vec());
    rig.streams.finish(id);
    assert_eq!(rig.collect_events(), [], "the peer has not answered");
    rig.change(&wire, |peer| peer.silent = false);
    assert_eq!(rig.streams.next_event(), Some((id, IoEvent::Connected)));
    assert_eq!(rig.streams.next_event(), Some((id, IoEvent::Writable)));
    rig.write(id, &mut b"hello".to_vec());
    let peer = wire.0.borrow();
    assert!(peer.end && peer.read == b"hello", "{peer:?}");
    drop(peer);

    let refusing = MemoryConnection::default();
    refusing.0.borrow_mut().refuses = true;
    rig.lan.0.borrow_mut().reachable.push_back(refusing);
    let id = rig.streams.next_id().expect("a slot");
    rig.streams.open(9);
    assert_eq!(
        rig.collect_events(),
        [(id, IoEvent::Closed(CloseReason::Refused))]
    );
    let id = rig.streams.next_id().expect("the slot is free again");
    rig.streams.open(9);
    assert_eq!(
        rig.collect_events(),
        [(id, IoEvent::Closed(CloseReason::Failed))],
        "the peer is not reachable"
    );
}

#[test]
fn a_failure_is_not_reported_after_close_or_abort() {
    let mut rig = Rig::new();
    for is_reset in [true, false] {
        let id = rig.streams.next_id().expect("a slot");
        rig.streams.open(9);
        if is_reset {
            rig.streams.abort(id);
        } else {
            rig.streams.close(id);
        }
        assert_eq!(rig.collect_events(), []);
    }
}

#[test]
fn a_peer_that_has_given_up_does_not_block_those_behind_it() {
    let mut rig = Rig::new();
    rig.refuse([
        ErrorKind::ConnectionAborted,
        ErrorKind::NetworkDown,
        ErrorKind::Interrupted,
        ErrorKind::Other,
    ]);
    rig.call(7, 0);
    let (_, what) = rig
        .streams
        .next_event()
        .expect("the connection is accepted");
    assert_eq!(what, IoEvent::Accepted(7));
}

#[test]
fn without_a_descriptor_accepting_waits_for_a_change() {
    let mut rig = Rig::new();
    let (id, _) = rig.accept_connection(0);
    rig.refuse([ErrorKind::OutOfMemory]);
    rig.call(8, 0);
    assert_eq!(rig.collect_events(), []);
    assert!(!rig.streams.is_due(), "the loop would spin");
    rig.streams.abort(id);
    let all: Vec<_> = rig
        .collect_events()
        .into_iter()
        .map(|(_, what)| what)
        .collect();
    assert_eq!(all, [IoEvent::Accepted(8)]);
}

#[test]
fn a_broken_listener_takes_a_bounded_time() {
    let mut rig = Rig::new();
    rig.refuse(std::iter::repeat_n(ErrorKind::InvalidInput, 1_000_000));
    rig.call(7, 0);
    assert_eq!(rig.collect_events(), []);
    assert!(!rig.streams.is_due());
}
