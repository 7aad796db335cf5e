//! Datagrams over UDP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_runtime::clock;
use ring_runtime::driver::{Link, ReceiveBatch, Refused, TransmitBatch};
use ring_runtime::net::{Interface, UdpLink, UdpOptions};
use ring_runtime::wait::{Interest, Poller};
use ring_segment::{Node, Segment, Test, tests};

use crate::runtime::helpers::{WAIT_LIMIT, find, wait_for_carrier};

pub(super) fn tests() -> Vec<Test> {
    tests![
        each_received_datagram_has_its_sender_and_each_sent_datagram_its_outcome,
        a_datagram_that_has_waited_has_its_age,
        a_refused_datagram_among_many_does_not_affect_later_datagrams,
        a_truncated_datagram_is_dropped,
        datagrams_that_the_kernel_drops_are_counted,
        a_buffer_has_the_requested_size_up_to_the_limit,
        a_broadcast_and_a_multicast_reach_the_other_station,
        a_multicast_leaves_only_through_the_named_interface,
    ]
}

const PORT: u16 = 57_700;
const TOO_LONG_LEN: usize = 70_000;

struct End {
    link: UdpLink,
    poller: Poller,
    interface: Interface,
}

impl End {
    fn bind(node: &Node, address: IpAddr) -> Result<Self> {
        Self::with(node, "eth0", address, &UdpOptions::default())
    }

    fn with(node: &Node, name: &str, address: IpAddr, options: &UdpOptions) -> Result<Self> {
        let interface = find(node, name)?;
        let options = UdpOptions {
            interface: Some((interface.name.clone(), interface.index)),
            ..options.clone()
        };
        let scope = interface.index;
        let address = match address {
            IpAddr::V4(address) => SocketAddr::from((address, PORT)),
            IpAddr::V6(address) => SocketAddrV6::new(address, PORT, 0, scope).into(),
        };
        let link = node.ns().run(|| UdpLink::bind(address, &options))??;
        let poller = Poller::new()?;
        poller.add(&link, 0, Interest::Read)?;
        Ok(Self {
            link,
            poller,
            interface,
        })
    }

    /// Waits for datagrams. Returns the sender, the bytes and the age of each datagram.
    fn next(&mut self) -> Result<Vec<(SocketAddr, Vec<u8>, Duration)>> {
        self.next_of(2_000)
    }

    /// Waits for datagrams of at most `longest` bytes.
    fn next_of(&mut self, longest: usize) -> Result<Vec<(SocketAddr, Vec<u8>, Duration)>> {
        let mut batch = ReceiveBatch::new(DATAGRAM_COUNT.into(), longest);
        let give_up = Instant::now() + WAIT_LIMIT;
        while batch.is_empty() {
            let left = give_up.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "no datagram arrived in time");
            self.poller.wait(Some(left))?;
            self.link.receive(clock::now(), &mut batch)?;
        }
        let messages = batch.iter();
        Ok(messages
            .map(|(bytes, from, _, age)| (from, bytes.to_vec(), age))
            .collect())
    }
}

fn batch(messages: &[(usize, u8, SocketAddr)]) -> Result<TransmitBatch<SocketAddr>> {
    let mut batch = TransmitBatch::of(messages.len(), TOO_LONG_LEN);
    for &(len, filled, to) in messages {
        batch.next_buffer().context("the batch has space")?[..len].fill(filled);
        batch.push(len, to);
    }
    Ok(batch)
}

/// Makes two stations. Each station has an address. Returns the stations and the addresses.
fn ends() -> Result<([End; 2], [SocketAddr; 2])> {
    ends_with(&UdpOptions::default())
}

fn ends_with(options: &UdpOptions) -> Result<([End; 2], [SocketAddr; 2])> {
    let nodes = Segment::pair()?;
    let mut ends = Vec::new();
    for (node, last) in nodes.iter().zip(1..) {
        let ns = node.ns();
        // The prefix also gives the station the network's broadcast address.
        ns.ip(&format!("address add 10.9.0.{last}/24 dev eth0"))?;
        let any = Ipv4Addr::UNSPECIFIED.into();
        ends.push(End::with(node, "eth0", any, options)?);
    }
    let [left, right] = <[End; 2]>::try_from(ends).ok().context("two stations")?;
    let address = |last| SocketAddr::from((Ipv4Addr::new(10, 9, 0, last), PORT));
    Ok(([left, right], [address(1), address(2)]))
}

fn each_received_datagram_has_its_sender_and_each_sent_datagram_its_outcome() -> Result<()> {
    let ([mut left, mut right], [from, to]) = ends()?;
    let mut batch = batch(&[(3, 1, to), (TOO_LONG_LEN, 2, to), (0, 3, to), (5, 4, to)])?;
    ensure!(left.link.send(&batch)? == 1);
    batch.drop_first(1);
    match left.link.send(&batch) {
        Err(Refused::TooLong) => {}
        other => bail!("{other:?}"),
    }
    batch.drop_first(1);
    ensure!(left.link.send(&batch)? == 2);
    let mut received = Vec::new();
    while received.len() < 3 {
        received.extend(right.next()?);
    }
    let bytes: Vec<_> = received.iter().map(|(_, bytes, _)| &bytes[..]).collect();
    ensure!(bytes == [&[1; 3][..], &[], &[4; 5]], "{bytes:?}");
    ensure!(received.iter().all(|&(sender, ..)| sender == from));
    Ok(())
}

fn a_datagram_that_has_waited_has_its_age() -> Result<()> {
    let ([mut left, mut right], [_, to]) = ends()?;
    let sent = clock::now().monotonic;
    left.link.send(&batch(&[(1, 1, to)])?)?;
    right.poller.wait(Some(WAIT_LIMIT))?;
    let waited = Duration::from_millis(50);
    std::thread::sleep(waited);
    let mut batch = ReceiveBatch::new(1, 10);
    let now = clock::now();
    right.link.receive(now, &mut batch)?;
    let (.., age) = batch.iter().next().context("the datagram has arrived")?;
    // `now` reads the monotonic clock before the wall clock, and the thread may stall in between.
    let past = clock::now().monotonic.since(sent);
    ensure!(age >= waited && age <= past, "{age:?} of {past:?}");
    Ok(())
}

fn a_broadcast_and_a_multicast_reach_the_other_station() -> Result<()> {
    let ([mut left, mut right], [from, _]) = ends()?;
    let all = SocketAddr::from((Ipv4Addr::new(10, 9, 0, 255), PORT));
    left.link.send(&batch(&[(2, 7, all)])?)?;
    let datagrams = right.next()?;
    ensure!(datagrams.len() == 1 && datagrams[0].0 == from && datagrams[0].1 == [7; 2]);

    let [left, right] = Segment::pair()?;
    for (node, last) in [(&left, 1), (&right, 2)] {
        node.ns().enable_ipv6()?;
        let address = format!("address add fe80::{last}/64 dev eth0 nodad");
        node.ns().ip(&address)?;
    }
    let mut ends = [
        End::bind(&left, Ipv6Addr::UNSPECIFIED.into())?,
        End::bind(&right, Ipv6Addr::UNSPECIFIED.into())?,
    ];
    let [left, right] = &mut ends;
    let all: Ipv6Addr = "ff02::1".parse()?;
    let all = SocketAddrV6::new(all, PORT, 0, left.interface.index).into();
    left.link.send(&batch(&[(2, 8, all)])?)?;
    let datagrams = right.next()?;
    let (sender, bytes, _) = &datagrams[0];
    let is_local = matches!(sender, SocketAddr::V6(it) if it.ip().is_unicast_link_local()
        && it.scope_id() == right.interface.index);
    ensure!(is_local && bytes == &[8; 2], "{datagrams:?}");
    Ok(())
}

/// Number of datagrams. It exceeds the number that one system call sends or receives.
const DATAGRAM_COUNT: u8 = 150;

fn a_refused_datagram_among_many_does_not_affect_later_datagrams() -> Result<()> {
    let ([mut left, mut right], [from, to]) = ends()?;
    let refused = 70;
    let len = |number| if number == refused { TOO_LONG_LEN } else { 3 };
    let all: Vec<_> = (0..DATAGRAM_COUNT).map(|it| (len(it), it, to)).collect();
    let mut sent = batch(&all)?;
    let mut accepted = 0;
    while !sent.is_empty() {
        match left.link.send(&sent) {
            Ok(0) => bail!("the outcome of the datagram is missing"),
            Ok(count) => {
                sent.drop_first(count);
                accepted += count;
            }
            Err(Refused::TooLong) if accepted == usize::from(refused) => sent.drop_first(1),
            Err(other) => bail!("after {accepted}: {other:?}"),
        }
    }
    ensure!(accepted == usize::from(DATAGRAM_COUNT) - 1, "{accepted}");
    let mut received = Vec::new();
    while received.len() < accepted {
        received.extend(right.next()?);
    }
    let numbers = received.iter().map(|(_, bytes, _)| bytes[0]);
    ensure!(numbers.eq((0..DATAGRAM_COUNT).filter(|&it| it != refused)));
    let is_whole = |(sender, bytes, _): &(_, Vec<u8>, _)| *sender == from && bytes.len() == 3;
    ensure!(received.iter().all(is_whole), "{received:?}");
    Ok(())
}

fn a_truncated_datagram_is_dropped() -> Result<()> {
    let ([mut left, mut right], [_, to]) = ends()?;
    left.link
        .send(&batch(&[(5, 1, to), (11, 2, to), (10, 3, to)])?)?;
    let mut received = Vec::new();
    while received.len() < 2 {
        received.extend(right.next_of(10)?);
    }
    let lengths: Vec<_> = received.iter().map(|(_, bytes, _)| bytes.len()).collect();
    ensure!(lengths == [5, 10] && right.link.cut() == 1, "{lengths:?}");
    Ok(())
}

fn datagrams_that_the_kernel_drops_are_counted() -> Result<()> {
    const SENT: usize = 1_000;
    let options = UdpOptions {
        receive_buffer: Some(4_096),
        ..UdpOptions::default()
    };
    let ([mut left, mut right], [_, to]) = ends_with(&options)?;
    let (room, _) = right.link.buffers()?;
    ensure!(room == 4_096, "{room}");
    let sent = batch(&vec![(100, 1, to); SENT])?;
    ensure!(left.link.send(&sent)? == SENT);
    let give_up = Instant::now() + WAIT_LIMIT;
    let mut received = 0;
    loop {
        let mut batch = ReceiveBatch::new(SENT, 200);
        right.link.receive(clock::now(), &mut batch)?;
        received += batch.len();
        let dropped = usize::try_from(right.link.kernel_drops()?)?;
        if received + dropped == SENT && right.link.kernel_drops()? > 0 {
            break;
        }
        ensure!(
            Instant::now() < give_up,
            "{received} received, {dropped} dropped"
        );
    }
    ensure!(received > 0);
    Ok(())
}

/// Checks that the buffer has the requested size, up to the system's limit.
fn a_buffer_has_the_requested_size_up_to_the_limit() -> Result<()> {
    const BUFFER_LEN: usize = 16 << 20;
    let options = UdpOptions {
        receive_buffer: Some(BUFFER_LEN),
        send_buffer: Some(BUFFER_LEN),
        ..UdpOptions::default()
    };
    let ([left, _right], _) = ends_with(&options)?;
    let limit = |name| -> Result<usize> {
        let limit = std::fs::read_to_string(format!("/proc/sys/net/core/{name}"))?;
        Ok(limit.trim().parse()?)
    };
    let (receive, send) = left.link.buffers()?;
    ensure!(
        receive == BUFFER_LEN || receive == limit("rmem_max")?,
        "{receive}"
    );
    ensure!(send == BUFFER_LEN || send == limit("wmem_max")?, "{send}");
    Ok(())
}

/// Two networks connect the two stations, and both stations join the group on each network.
fn a_multicast_leaves_only_through_the_named_interface() -> Result<()> {
    let group = Ipv4Addr::new(239, 1, 2, 3);
    let nodes = Segment::pair()?;
    let mut ends = Vec::new();
    join_again(&nodes, "eth7")?;
    for (node, last) in nodes.iter().zip(1..) {
        node.ns().ip(&format!(
            "address add 10.9.0.{last}/24 dev eth0\n\
             address add 10.9.7.{last}/24 dev eth7\n\
             link set eth7 up\n"
        ))?;
        for name in ["eth0", "eth7"] {
            let options = UdpOptions {
                groups: vec![group.into()],
                shared: true,
                ..UdpOptions::default()
            };
            ends.push(End::with(
                node,
                name,
                Ipv4Addr::UNSPECIFIED.into(),
                &options,
            )?);
        }
    }
    for node in &nodes {
        for name in ["eth0", "eth7"] {
            wait_for_carrier(node, name)?;
        }
    }
    let [mut left_0, mut left_7, mut right_0, mut right_7] =
        <[End; 4]>::try_from(ends).ok().context("four sockets")?;
    let to = SocketAddr::from((group, PORT));
    left_0.link.send(&batch(&[(1, 0, to)])?)?;
    left_7.link.send(&batch(&[(1, 7, to)])?)?;
    for (end, subnet) in [(&mut right_0, 0), (&mut right_7, 7)] {
        let datagrams = end.next()?;
        let (sender, bytes, _) = &datagrams[0];
        let from = Ipv4Addr::new(10, 9, subnet, 1);
        let is_right = datagrams.len() == 1 && sender.ip() == from && bytes == &[subnet];
        ensure!(is_right, "{datagrams:?}");
    }
    // The next datagram is the second one, so the first one did not also arrive through the other network.
    let ways = [
        (&mut left_0, &mut right_0, 0),
        (&mut left_7, &mut right_7, 7),
    ];
    for (left, right, subnet) in ways {
        let to = SocketAddr::from((Ipv4Addr::new(10, 9, subnet, 2), PORT));
        left.link.send(&batch(&[(1, 99, to)])?)?;
        let datagrams = right.next()?;
        ensure!(
            datagrams.len() == 1 && datagrams[0].1 == [99],
            "{datagrams:?}"
        );
    }
    Ok(())
}

/// Connects two stations with a new cable, between interfaces with this name.
fn join_again([left, right]: &[Node; 2], name: &str) -> Result<()> {
    right.ns().run(|| {
        // The path has the process number, because `ip` would resolve `thread-self` to its own thread.
        let own = std::fs::read_link("/proc/thread-self")?;
        let there = format!("name {name} netns /proc/{}/ns/net", own.display());
        left.ns()
            .ip(&format!("link add {name} type veth peer {there}\n"))
    })?
}
