//! Tests of a signed link on a segment in memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_proto::time::{Instant, Now};
use ring_trust::{Authenticator, DropReason, Keyring, TRAILER_LEN};

use super::frames::{MAX_FRAME, receive_batch, transmit_batch};
use super::{
    Authenticated, DatagramAddressing, FrameAddressing, Link, ReceiveBatch, Refused, Signer,
    TransmitBatch, datagrams,
};

const KEY: &str = "7 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const LEFT: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const RIGHT: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const NOW: Now = Now {
    monotonic: Instant::from_nanos(5_000_000_000),
    wall: 0,
};

type Queue = Rc<RefCell<VecDeque<Vec<u8>>>>;

/// One end of a cable.
#[derive(Debug, Default)]
struct Port {
    arriving: Queue,
    leaving: Queue,
    /// Number of send calls that the port refuses.
    refusals: usize,
}

impl Link for Port {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
        batch.clear();
        while let Some(buffer) = batch.next_buffer() {
            let Some(frame) = self.arriving.borrow_mut().pop_front() else {
                break;
            };
            buffer[..frame.len()].copy_from_slice(&frame);
            batch.push(frame.len(), (), now, Duration::ZERO);
        }
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
        if self.refusals > 0 {
            self.refusals -= 1;
            return Err(io::Error::from(io::ErrorKind::OutOfMemory).into());
        }
        let frames = batch.iter().map(|(frame, ())| frame.to_vec());
        self.leaving.borrow_mut().extend(frames);
        Ok(batch.len())
    }
}

type SignedPort = Authenticated<Port>;

fn signer(mac: MacAddr) -> Signer {
    let keyring = Keyring::parse(KEY).expect("a legal key");
    let authenticator = Authenticator::new(&keyring, false, [mac.0[5]; 32]);
    let ethertype = 0x88b5;
    Signer::of_frames(authenticator, FrameAddressing { mac, ethertype })
}

fn cable() -> (SignedPort, SignedPort) {
    let (there, back) = (Queue::default(), Queue::default());
    let port = |arriving: &Queue, leaving: &Queue| Port {
        arriving: Rc::clone(arriving),
        leaving: Rc::clone(leaving),
        refusals: 0,
    };
    (
        Authenticated::new(port(&back, &there), Some(signer(LEFT))),
        Authenticated::new(port(&there, &back), Some(signer(RIGHT))),
    )
}

fn frame(payload: &[u8]) -> Vec<u8> {
    [&RIGHT.0[..], &LEFT.0, &[0x88, 0xb5], payload].concat()
}

fn send(port: &mut SignedPort, frames: &[Vec<u8>]) -> Result<usize, Refused> {
    let mut batch = transmit_batch();
    for frame in frames {
        let buffer = batch.next_buffer().expect("few frames");
        buffer[..frame.len()].copy_from_slice(frame);
        batch.push(frame.len(), ());
    }
    port.send(&batch)
}

fn receive(port: &mut SignedPort) -> Vec<Vec<u8>> {
    let mut batch = receive_batch();
    port.receive(NOW, &mut batch).expect("a link in memory");
    batch.iter().map(|(frame, ..)| frame.to_vec()).collect()
}

/// Exchanges messages until both ends are proven. The machines get none of these messages.
fn prove(left: &mut SignedPort, right: &mut SignedPort) {
    send(left, &[frame(b"first")]).expect("accepted");
    for _ in 0..3 {
        assert!(receive(right).is_empty());
        assert!(receive(left).is_empty());
    }
}

#[test]
fn the_machine_gets_each_frame_as_its_sender_made_it() {
    let (mut left, mut right) = cable();
    prove(&mut left, &mut right);
    let frames = [frame(b"hello"), frame(&[7; 1000])];
    assert_eq!(send(&mut left, &frames).expect("accepted"), 2);
    let lens: Vec<usize> = right
        .link()
        .arriving
        .borrow()
        .iter()
        .map(Vec::len)
        .collect();
    assert_eq!(
        lens,
        frames.each_ref().map(|frame| frame.len() + TRAILER_LEN)
    );
    assert_eq!(receive(&mut right), frames);
}

#[test]
fn the_machine_gets_only_the_signed_frames_of_a_batch() {
    let (mut left, mut right) = cable();
    prove(&mut left, &mut right);
    let frames = [frame(b"one"), frame(b"two")];
    send(&mut left, &frames).expect("accepted");
    {
        let mut arriving = right.link().arriving.borrow_mut();
        let replayed = arriving[0].clone();
        arriving.insert(1, frame(b"forged"));
        arriving.insert(2, replayed);
        arriving.push_back(vec![1, 2, 3]);
    }
    assert_eq!(receive(&mut right), frames);
    let signer = right.signer().expect("keys");
    let count = |reason| signer.authenticator().counts().get(reason);
    assert_eq!(count(DropReason::Unsigned), 1);
    assert_eq!(count(DropReason::Replayed), 1);
}

#[test]
fn a_frame_that_is_too_long_with_its_signature_is_refused() {
    let (mut left, mut right) = cable();
    prove(&mut left, &mut right);
    let short = frame(b"short");
    let longest = vec![2; MAX_FRAME - TRAILER_LEN];
    let long = vec![2; MAX_FRAME - TRAILER_LEN + 1];
    let frames = [short.clone(), longest, long.clone(), short];
    assert_eq!(send(&mut left, &frames).expect("accepted"), 2);
    let refused = send(&mut left, &[long]);
    assert!(matches!(refused, Err(Refused::TooLong)), "{refused:?}");
}

#[test]
fn a_refused_challenge_is_sent_after_a_later_message() {
    let (mut left, mut right) = cable();
    right.link_mut().refusals = 1;
    send(&mut left, &[frame(b"first")]).expect("accepted");
    assert!(receive(&mut right).is_empty());
    assert!(left.link().arriving.borrow().is_empty());
    let later = Now {
        monotonic: NOW.monotonic + Duration::from_millis(1),
        ..NOW
    };
    send(&mut left, &[frame(b"second")]).expect("accepted");
    let mut batch = receive_batch();
    right.receive(later, &mut batch).expect("a link in memory");
    let arriving = left.link().arriving.borrow();
    let challenge = arriving.front().expect("a challenge");
    let header = [&LEFT.0[..], &RIGHT.0, &[0x88, 0xb5]].concat();
    assert_eq!(challenge.len(), header.len() + 16 + TRAILER_LEN);
    assert_eq!(challenge[..header.len()], header);
}

#[test]
fn proofs_outlive_the_link() {
    let (mut left, mut right) = cable();
    prove(&mut left, &mut right);
    let arriving = Rc::clone(&right.link().arriving);
    let port = Port {
        arriving,
        ..Port::default()
    };
    let mut right = Authenticated::new(port, right.set_signer(None));
    let frames = [frame(b"hello")];
    send(&mut left, &frames).expect("accepted");
    assert_eq!(receive(&mut right), frames);
}

#[test]
fn a_link_without_keys_changes_nothing() {
    let queue = Queue::default();
    let port = Port {
        arriving: Rc::clone(&queue),
        leaving: queue,
        refusals: 0,
    };
    let mut port = Authenticated::new(port, None);
    let frames = [frame(b"hello"), vec![1]];
    assert_eq!(send(&mut port, &frames).expect("accepted"), 2);
    assert_eq!(receive(&mut port), frames);
}

/// One end of a network that carries datagrams.
#[derive(Debug, Default)]
struct Socket {
    arriving: VecDeque<(Vec<u8>, SocketAddr)>,
    sent: Vec<(Vec<u8>, SocketAddr)>,
}

impl Link<SocketAddr> for Socket {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<SocketAddr>) -> io::Result<()> {
        batch.clear();
        while let Some(buffer) = batch.next_buffer() {
            let Some((datagram, from)) = self.arriving.pop_front() else {
                break;
            };
            buffer[..datagram.len()].copy_from_slice(&datagram);
            batch.push(datagram.len(), from, now, Duration::ZERO);
        }
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch<SocketAddr>) -> Result<usize, Refused> {
        let datagrams = batch.iter().map(|(datagram, to)| (datagram.to_vec(), to));
        self.sent.extend(datagrams);
        Ok(batch.len())
    }
}

type SignedSocket = Authenticated<Socket, DatagramAddressing>;

fn address(name: u8) -> SocketAddr {
    ([10, 0, 0, name], 4000).into()
}

fn socket(name: u8, has_keys: bool) -> SignedSocket {
    let keyring = Keyring::parse(KEY).expect("a legal key");
    let authenticator = Authenticator::new(&keyring, false, [name; 32]);
    let addressing = DatagramAddressing::new(address(name)).with_broadcast(address(255).ip());
    let signer = Signer::new(authenticator, addressing, datagrams::transmit_batch(100));
    Authenticated::new(Socket::default(), has_keys.then_some(signer))
}

fn send_hello(socket: &mut SignedSocket, to: SocketAddr) {
    let mut batch = datagrams::transmit_batch(100);
    batch.next_buffer().expect("an empty batch")[..5].copy_from_slice(b"hello");
    batch.push(5, to);
    socket.send(&batch).expect("accepted");
}

/// Delivers all sent datagrams. Returns the datagrams that the machines get.
fn carry(sockets: &mut [(u8, SignedSocket)]) -> Vec<(u8, Vec<u8>)> {
    let mut flying = Vec::new();
    for (name, socket) in &mut *sockets {
        let sent = std::mem::take(&mut socket.link_mut().sent);
        flying.extend(sent.into_iter().map(|(datagram, to)| (*name, datagram, to)));
    }
    let mut seen = Vec::new();
    for (name, socket) in &mut *sockets {
        for (from, datagram, to) in &flying {
            if from != name && (*to == address(*name) || *to == address(255)) {
                let arriving = &mut socket.link_mut().arriving;
                arriving.push_back((datagram.clone(), address(*from)));
            }
        }
        let mut batch = datagrams::receive_batch(100);
        socket.receive(NOW, &mut batch).expect("a link in memory");
        seen.extend(batch.iter().map(|(bytes, ..)| (*name, bytes.to_vec())));
    }
    seen
}

#[test]
fn datagrams_to_one_and_to_all_arrive_without_their_signatures() {
    let mut sockets = [1, 2, 3].map(|name| (name, socket(name, true)));
    send_hello(&mut sockets[0].1, address(255));
    for _ in 0..4 {
        assert!(carry(&mut sockets).is_empty());
    }
    send_hello(&mut sockets[0].1, address(255));
    let hello = || b"hello".to_vec();
    assert_eq!(carry(&mut sockets), [(2, hello()), (3, hello())]);
    send_hello(&mut sockets[0].1, address(3));
    assert_eq!(carry(&mut sockets), [(3, hello())]);
}

#[test]
fn a_node_without_keys_gets_datagrams_without_their_signatures_and_no_challenges() {
    let mut sockets = [(1, socket(1, true)), (2, socket(2, false))];
    send_hello(&mut sockets[0].1, address(2));
    assert_eq!(carry(&mut sockets), [(2, b"hello".to_vec())]);
    let challenge = {
        let mut pair = [(1, socket(1, true)), (2, socket(2, true))];
        send_hello(&mut pair[0].1, address(2));
        assert!(carry(&mut pair).is_empty());
        pair[1].1.link_mut().sent.pop().expect("a challenge").0
    };
    let arriving = &mut sockets[1].1.link_mut().arriving;
    arriving.push_back((challenge, address(1)));
    assert!(carry(&mut sockets).is_empty());
}
