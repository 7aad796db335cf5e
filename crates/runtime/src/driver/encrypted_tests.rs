//! Tests of encrypted connections. The test takes the role of the peer.

use std::io::ErrorKind;
use std::net::SocketAddr;

use ring_proto::{CloseReason, StreamId};
use ring_trust::{DropReason, Keyring, SecureStream, StreamEnds, StreamKeys, StreamState};

use super::memory::{MemoryConnection, Peer, SharedLan};
use super::{Changed, Connections, Encrypted, IoEvent, LocalAddress, RECEIVE_BUFFER_MAX, Streams};

const OWN: &str = "192.0.2.1:1";
const PEER: &str = "192.0.2.2:2";

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

impl LocalAddress for MemoryConnection {
    fn local_address(&self) -> std::io::Result<SocketAddr> {
        Ok(address(OWN))
    }
}

fn keyring(id: u32) -> Keyring {
    Keyring::parse(&format!("{id} {}", "5e".repeat(32))).expect("a legal key")
}

fn required() -> StreamKeys {
    StreamKeys::new(&keyring(1), false)
}

fn accepting() -> StreamKeys {
    StreamKeys::new(&keyring(1), true)
}

/// A node with slots for four connections.
struct Rig {
    lan: SharedLan<SocketAddr>,
    streams: Connections<Encrypted<SharedLan<SocketAddr>>, SocketAddr>,
}

/// The peer's end of a connection.
struct RemoteEnd {
    wire: MemoryConnection,
    stream: SecureStream,
    keys: StreamKeys,
}

impl Rig {
    fn new(keys: StreamKeys) -> Self {
        let lan = SharedLan::default();
        let mut network = Encrypted::new(lan.clone(), "test");
        network.set_keys(keys);
        let streams = Connections::new(network, 4);
        Self { lan, streams }
    }

    fn wire() -> MemoryConnection {
        let wire = MemoryConnection::default();
        wire.0.borrow_mut().takes = usize::MAX;
        wire
    }

    /// Lets a host connect.
    fn call(&mut self, from: &str) -> MemoryConnection {
        let wire = Self::wire();
        let mut lan = self.lan.0.borrow_mut();
        lan.calls.push_back((wire.clone(), address(from)));
        lan.changed.push_back(Changed::Listener);
        drop(lan);
        wire
    }

    /// Lets a peer with keys connect.
    fn call_with(&mut self, keys: StreamKeys) -> RemoteEnd {
        let ends = StreamEnds {
            system: "test",
            initiator: address(PEER),
            responder: address(OWN),
        };
        RemoteEnd {
            wire: self.call(PEER),
            stream: SecureStream::initiator(&keys, &ends, [7; 32]),
            keys,
        }
    }

    /// Connects to a peer with keys.
    fn connect_to(&mut self, keys: StreamKeys) -> (StreamId, RemoteEnd) {
        let wire = Self::wire();
        let reachable = wire.clone();
        self.lan.0.borrow_mut().reachable.push_back(reachable);
        let id = self.streams.next_id().expect("a slot");
        self.streams.open(address(PEER));
        let ends = StreamEnds {
            system: "test",
            initiator: address(OWN),
            responder: address(PEER),
        };
        let stream = SecureStream::responder(ends, [8; 32]);
        (id, RemoteEnd { wire, stream, keys })
    }

    fn change(&mut self, wire: &MemoryConnection, change: impl FnOnce(&mut Peer)) {
        change(&mut wire.0.borrow_mut());
        let changed = Changed::Connection(wire.0.borrow().key);
        self.lan.0.borrow_mut().changed.push_back(changed);
    }

    fn send(&mut self, wire: &MemoryConnection, bytes: &[u8]) {
        self.change(wire, |peer| peer.sent.extend(bytes));
    }

    fn events(&mut self) -> Vec<IoEvent<SocketAddr>> {
        let events = std::iter::from_fn(|| self.streams.next_event());
        events.map(|(_, event)| event).collect()
    }

    /// Moves bytes in both directions until there are no more bytes. Returns the node's events.
    fn exchange(&mut self, peer: &mut RemoteEnd) -> Vec<IoEvent<SocketAddr>> {
        let mut events = self.events();
        loop {
            let output = peer.stream.output().to_vec();
            peer.stream.advance(output.len());
            if !output.is_empty() {
                self.send(&peer.wire, &output);
            }
            let read = std::mem::take(&mut peer.wire.0.borrow_mut().read);
            if output.is_empty() && read.is_empty() {
                return events;
            }
            let received = peer.stream.receive(&peer.keys, &read);
            received.expect("the peer understands the node");
            events.extend(self.events());
        }
    }

    /// Returns a connection that a peer has opened.
    fn accept(&mut self) -> (StreamId, RemoteEnd) {
        let mut peer = self.call_with(required());
        let id = self.streams.next_id().expect("a slot");
        assert_eq!(self.exchange(&mut peer), [IoEvent::Accepted(address(PEER))]);
        assert_eq!(peer.stream.state(), StreamState::Encrypted);
        (id, peer)
    }

    fn write(&mut self, id: StreamId, bytes: &mut Vec<u8>) {
        self.streams.write(id, &mut |room| {
            let count = room.len().min(bytes.len());
            room[..count].copy_from_slice(&bytes[..count]);
            bytes.drain(..count);
            count
        });
    }

    fn received(&self, id: StreamId) -> (Vec<u8>, bool) {
        let (bytes, end) = self.streams.received(id).expect("it is open");
        (bytes.to_vec(), end)
    }

    fn take_refused(&mut self) -> Vec<(DropReason, u64, SocketAddr)> {
        self.streams.network_mut().take_refused().collect()
    }
}

impl RemoteEnd {
    fn read(&mut self) -> Vec<u8> {
        let mut data = vec![0; 1 << 16];
        let count = self.stream.read(&mut data);
        data.truncate(count);
        data
    }
}

#[test]
fn a_connection_is_reported_after_the_handshake() {
    let mut rig = Rig::new(required());
    let (_, mut peer) = rig.accept();
    assert_eq!(rig.exchange(&mut peer), []);
    let (id, mut peer) = rig.connect_to(required());
    assert_eq!(rig.events(), [], "the peer has not answered");
    assert_eq!(rig.exchange(&mut peer), [IoEvent::Connected]);
    assert_eq!(peer.stream.state(), StreamState::Encrypted);
    rig.write(id, &mut b"hello".to_vec());
    rig.exchange(&mut peer);
    assert_eq!(peer.read(), b"hello");
}

#[test]
fn a_host_without_a_key_never_appears_and_takes_no_slot() {
    let mut rig = Rig::new(required());
    let silent: Vec<_> = (0..100).map(|_| rig.call("192.0.2.9:9")).collect();
    assert_eq!(rig.events(), []);
    let open = silent.iter().filter(|it| it.0.borrow().over.is_none());
    assert_eq!(open.count(), 32);
    let plain = rig.call("192.0.2.8:8");
    rig.send(&plain, b"!");
    assert_eq!(rig.events(), []);
    assert_eq!(plain.0.borrow().over, Some("reset"));
    let refused = (DropReason::Unsigned, 1, address("192.0.2.8:8"));
    assert_eq!(rig.take_refused(), [refused]);
    assert_eq!(rig.take_refused(), []);
    rig.accept();
}

/// If two hosts have connections, the host with more connections loses one, even if the connection of the other host is
/// older.
#[test]
fn a_host_with_many_connections_loses_its_own() {
    let mut rig = Rig::new(required());
    let mut slow = rig.call_with(required());
    assert_eq!(rig.events(), []);
    let silent: Vec<_> = (0..50).map(|_| rig.call("192.0.2.9:9")).collect();
    assert_eq!(rig.events(), []);
    let is_open = |wire: &MemoryConnection| wire.0.borrow().over.is_none();
    assert!(is_open(&slow.wire));
    let open: Vec<_> = silent.iter().map(is_open).collect();
    assert_eq!(open, [vec![false; 19], vec![true; 31]].concat());
    let events = rig.exchange(&mut slow);
    assert_eq!(events, [IoEvent::Accepted(address(PEER))]);
}

#[test]
fn a_repeated_handshake_is_not_reported() {
    let mut rig = Rig::new(required());
    let first = rig.call_with(required());
    let question = first.stream.output().to_vec();
    let (_, mut peer) = rig.accept();
    peer.stream.seal(b"data");
    let records = peer.stream.output().to_vec();
    let wire = rig.call(PEER);
    rig.send(&wire, &question);
    assert_eq!(rig.events(), []);
    rig.send(&wire, &records);
    assert_eq!(rig.events(), []);
    assert_eq!(wire.0.borrow().over, Some("reset"));
    let refused = (DropReason::WrongMac, 1, address(PEER));
    assert_eq!(rig.take_refused(), [refused]);
}

#[test]
fn each_side_ends_with_a_record() {
    let mut rig = Rig::new(required());
    let (id, mut peer) = rig.accept();
    peer.stream.seal(b"data");
    peer.stream.seal_end();
    assert_eq!(rig.exchange(&mut peer), [IoEvent::Received]);
    assert_eq!(rig.received(id), (b"data".to_vec(), true));
    rig.write(id, &mut b"answer".to_vec());
    rig.streams.finish(id);
    rig.exchange(&mut peer);
    assert_eq!(peer.read(), b"answer");
    assert!(peer.stream.has_ended() && peer.wire.0.borrow().end);
    rig.streams.close(id);
    assert_eq!(peer.wire.0.borrow().over, Some("closed"));
    assert_eq!(rig.exchange(&mut peer), []);
}

#[test]
fn an_end_without_a_record_is_a_reset() {
    let mut rig = Rig::new(required());
    let (_, mut peer) = rig.accept();
    peer.stream.seal(b"data");
    rig.exchange(&mut peer);
    rig.change(&peer.wire, |peer| peer.has_closed = true);
    assert_eq!(rig.events(), [IoEvent::Closed(CloseReason::Reset)]);
    // Check the same case before the end of the handshake.
    let (_, peer) = rig.connect_to(required());
    assert_eq!(rig.events(), []);
    rig.change(&peer.wire, |peer| peer.has_closed = true);
    assert_eq!(rig.events(), [IoEvent::Closed(CloseReason::Reset)]);
}

#[test]
fn a_changed_byte_resets_the_connection() {
    let mut rig = Rig::new(required());
    let (id, mut peer) = rig.accept();
    peer.stream.seal(b"data");
    let mut bytes = peer.stream.output().to_vec();
    bytes[9] ^= 1;
    rig.send(&peer.wire, &bytes);
    assert_eq!(rig.events(), [IoEvent::Closed(CloseReason::Reset)]);
    let refused = (DropReason::WrongMac, 1, address(PEER));
    assert_eq!(rig.take_refused(), [refused]);
    assert_eq!(rig.streams.received(id), None);
}

/// A connection takes only a few bytes at a time, also within records and handshakes.
#[test]
fn no_byte_is_lost_if_a_connection_takes_few_bytes() {
    for takes in [1, 7, 1000] {
        let mut rig = Rig::new(required());
        let (id, mut peer) = rig.connect_to(required());
        peer.wire.0.borrow_mut().takes = takes;
        let mut text = vec![5; 40_000];
        let expected = text.clone();
        let mut received = Vec::new();
        while !peer.stream.has_ended() {
            while let Some((_, event)) = rig.streams.next_event() {
                assert!(matches!(event, IoEvent::Connected | IoEvent::Writable));
                rig.write(id, &mut text);
                // The last bytes and the end of the stream may still be in the connection.
                if text.is_empty() {
                    rig.streams.close(id);
                }
            }
            let read = std::mem::take(&mut peer.wire.0.borrow_mut().read);
            let handled = peer.stream.receive(&peer.keys, &read);
            handled.expect("the peer understands the node");
            let output = peer.stream.output().to_vec();
            peer.stream.advance(output.len());
            received.extend(peer.read());
            rig.change(&peer.wire, |peer| {
                peer.sent.extend(output);
                peer.takes += takes;
            });
        }
        assert!(received == expected, "{} bytes", received.len());
        assert_eq!(peer.wire.0.borrow().over, Some("closed"));
    }
}

#[test]
fn a_machine_that_consumes_nothing_makes_the_peer_wait() {
    let mut rig = Rig::new(required());
    let (id, mut peer) = rig.accept();
    for _ in 0..20 {
        peer.stream.seal(&[3; 16 * 1024]);
    }
    assert_eq!(rig.exchange(&mut peer), [IoEvent::Received]);
    assert_eq!(rig.received(id).0.len(), RECEIVE_BUFFER_MAX);
    assert!(peer.wire.0.borrow().sent.len() > 200_000);
    let mut total = 0;
    loop {
        let (bytes, _) = rig.received(id);
        total += bytes.len();
        if bytes.is_empty() {
            break;
        }
        rig.streams.consume(id, bytes.len());
        rig.streams.receive_again(id);
        rig.events();
    }
    assert_eq!(total, 20 * 16 * 1024);
}

/// While nodes get their keys, both kinds of streams work.
#[test]
fn nodes_with_and_without_keys_understand_each_other() {
    for (own, other, is_encrypted) in [
        (StreamKeys::none(), StreamKeys::none(), false),
        (StreamKeys::none(), accepting(), false),
        (accepting(), StreamKeys::none(), false),
        (accepting(), accepting(), true),
        (accepting(), required(), true),
        (required(), accepting(), true),
    ] {
        let name = format!("{} {}", own.is_empty(), other.is_empty());
        let mut rig = Rig::new(own);
        let connects = |keys: &StreamKeys| {
            if keys.is_empty() {
                StreamKeys::none()
            } else {
                StreamKeys::new(&keyring(1), keys.permits(None))
            }
        };
        let mut called = rig.call_with(connects(&other));
        let id = rig.streams.next_id().expect("a slot");
        rig.exchange(&mut called);
        if is_encrypted {
            called.stream.seal(b"text");
            rig.exchange(&mut called);
        } else {
            rig.send(&called.wire, b"text");
        }
        rig.events();
        assert_eq!(rig.received(id).0, b"text", "{name}");
        let (id, mut answering) = rig.connect_to(connects(&other));
        rig.exchange(&mut answering);
        rig.write(id, &mut b"text".to_vec());
        rig.exchange(&mut answering);
        assert_eq!(answering.read(), b"text", "{name}");
        let is_now = answering.stream.state() == StreamState::Encrypted;
        assert_eq!(is_now, is_encrypted, "{name}");
    }
}

#[test]
fn a_node_without_keys_reports_a_connection_before_its_first_byte() {
    let mut rig = Rig::new(StreamKeys::none());
    let wire = rig.call(PEER);
    assert_eq!(rig.events(), [IoEvent::Accepted(address(PEER))]);
    rig.change(&wire, |peer| peer.has_closed = true);
    assert_eq!(rig.events(), [IoEvent::Received]);
}

/// A connection that the new keys do not permit fails when it is used.
#[test]
fn new_keys_end_connections_with_removed_keys() {
    let mut rig = Rig::new(required());
    let (id, mut peer) = rig.accept();
    rig.streams.network_mut().set_keys(accepting());
    rig.write(id, &mut b"still permitted".to_vec());
    rig.exchange(&mut peer);
    assert_eq!(peer.read(), b"still permitted");
    let other = StreamKeys::new(&keyring(2), false);
    rig.streams.network_mut().set_keys(other);
    rig.write(id, &mut b"not sent".to_vec());
    assert_eq!(rig.events(), [IoEvent::Closed(CloseReason::Reset)]);

    let mut rig = Rig::new(StreamKeys::none());
    let wire = rig.call(PEER);
    rig.events();
    rig.send(&wire, b"plain");
    assert_eq!(rig.events(), [IoEvent::Received]);
    rig.streams.network_mut().set_keys(required());
    rig.send(&wire, b"forged");
    assert_eq!(rig.events(), [IoEvent::Closed(CloseReason::Reset)]);
}

#[test]
fn errors_of_the_network_are_passed_on() {
    let mut rig = Rig::new(required());
    let refused = [ErrorKind::ConnectionAborted, ErrorKind::OutOfMemory];
    rig.lan.0.borrow_mut().refusals.extend(refused);
    let _wire = rig.call(PEER);
    assert_eq!(rig.events(), []);
    assert!(!rig.streams.is_due(), "the loop would spin");
    let id = rig.streams.next_id().expect("a slot");
    rig.streams.open(address(PEER));
    let closed = rig.streams.next_event();
    assert_eq!(closed, Some((id, IoEvent::Closed(CloseReason::Failed))));
}
