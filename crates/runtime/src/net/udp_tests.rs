//! Tests of a link with two sockets of this machine.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use nix::sys::socket::setsockopt;

use super::{UdpLink, UdpOptions};
use crate::clock;
use crate::driver::{Link, ReceiveBatch, TransmitBatch, datagrams};

const DATAGRAM_BYTES_MAX: usize = 2_000;

mod options {
    use nix::{setsockopt_impl, sockopt_impl};

    sockopt_impl!(
        /// Whether sent datagrams have no checksum. The kernel merges only datagrams with checksums.
        NoChecksum, SetOnly, libc::SOL_SOCKET, libc::SO_NO_CHECK, bool
    );
}

fn bind(ip: impl Into<IpAddr>, merges: bool) -> (UdpLink, SocketAddr) {
    let options = UdpOptions {
        merges,
        ..UdpOptions::default()
    };
    let link = UdpLink::bind((ip.into(), 0).into(), &options).expect("a port");
    let address = link.address().expect("it is bound");
    (link, address)
}

/// Makes messages of these lengths. The bytes of each message are its number in the batch.
fn batch(messages: &[(usize, SocketAddr)]) -> TransmitBatch<SocketAddr> {
    let mut batch = datagrams::transmit_batch(DATAGRAM_BYTES_MAX);
    for (number, &(len, to)) in messages.iter().enumerate() {
        let buffer = batch.next_buffer().expect("few messages");
        buffer[..len].fill(u8::try_from(number).expect("few messages"));
        batch.push(len, to);
    }
    batch
}

/// Receives this number of messages. Returns the number and the length of each.
fn receive(
    link: &mut UdpLink,
    batch: &mut ReceiveBatch<SocketAddr>,
    count: usize,
) -> Vec<(usize, usize)> {
    let began = clock::now().monotonic;
    let mut found = Vec::new();
    while found.len() < count {
        assert!(
            clock::now().monotonic.since(began) < Duration::from_secs(5),
            "{found:?}"
        );
        link.receive(clock::now(), batch).expect("a link");
        for (bytes, _, _, age) in batch.iter() {
            let number = bytes.first().map_or(0, |&byte| usize::from(byte));
            assert!(bytes.iter().all(|&byte| usize::from(byte) == number));
            assert!(age < Duration::from_secs(5));
            found.push((number, bytes.len()));
        }
    }
    found
}

#[test]
fn merged_datagrams_arrive_in_order_with_their_lengths() {
    for ip in [IpAddr::V4(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
        for (sender_merges, receiver_merges) in [(true, true), (true, false), (false, true)] {
            let (mut from, _) = bind(ip, sender_merges);
            let ((mut left, l), (mut right, r)) =
                (bind(ip, receiver_merges), bind(ip, receiver_merges));
            let messages = [
                (28, l),
                (28, l),
                (28, l),
                (20, l),
                (20, l),
                (28, l),
                (28, r),
                (0, r),
                (28, r),
                (1_300, r),
                (1_300, r),
                (28, l),
            ];
            let sent = batch(&messages);
            assert_eq!(from.send(&sent).expect("sent"), messages.len());
            for (link, address) in [(&mut left, l), (&mut right, r)] {
                let numbered = messages.iter().enumerate();
                let its = numbered.filter(|(_, (_, to))| *to == address);
                let its: Vec<_> = its
                    .map(|(number, &(len, _))| (if len == 0 { 0 } else { number }, len))
                    .collect();
                let mut received = datagrams::merged_receive_batch(DATAGRAM_BYTES_MAX);
                assert_eq!(receive(link, &mut received, its.len()), its);
            }
        }
    }
}

#[test]
fn equal_datagrams_take_one_buffer() {
    let (mut from, _) = bind(Ipv4Addr::LOCALHOST, true);
    let (mut link, to) = bind(Ipv4Addr::LOCALHOST, true);
    assert_eq!(from.send(&batch(&[(28, to); 32])).expect("sent"), 32);
    let mut received = datagrams::merged_receive_batch(DATAGRAM_BYTES_MAX);
    assert_eq!(receive(&mut link, &mut received, 32).len(), 32);
    assert_eq!(received.capacity() - received.free_buffers().len(), 1);
}

#[test]
fn merged_datagrams_that_are_too_long_are_dropped() {
    let (mut from, _) = bind(Ipv4Addr::LOCALHOST, true);
    let (mut link, to) = bind(Ipv4Addr::LOCALHOST, true);
    let messages = [(29, to), (29, to), (28, to), (28, to)];
    assert_eq!(from.send(&batch(&messages)).expect("sent"), 4);
    let mut received = datagrams::merged_receive_batch(28);
    let found = receive(&mut link, &mut received, 2);
    assert_eq!((found, link.cut()), (vec![(2, 28), (3, 28)], 2));
}

#[test]
fn if_the_kernel_cannot_merge_each_datagram_is_sent_separately() {
    let (mut from, _) = bind(Ipv4Addr::LOCALHOST, true);
    let (mut link, to) = bind(Ipv4Addr::LOCALHOST, true);
    setsockopt(&from.socket, options::NoChecksum, &true).expect("an option of all sockets");
    let mut received = datagrams::merged_receive_batch(DATAGRAM_BYTES_MAX);
    for _ in 0..2 {
        let messages = [(28, to), (28, to), (28, to), (30, to)];
        assert_eq!(from.send(&batch(&messages)).expect("sent"), 4);
        let found = receive(&mut link, &mut received, 4);
        assert_eq!(found, [(0, 28), (1, 28), (2, 28), (3, 30)]);
        assert!(!from.merges);
    }
}

#[test]
fn an_impossible_destination_does_not_end_merging() {
    let (mut from, _) = bind(Ipv4Addr::LOCALHOST, true);
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    from.send(&batch(&[(28, nowhere); 2]))
        .expect_err("no port has this number");
    assert!(from.merges);
}
