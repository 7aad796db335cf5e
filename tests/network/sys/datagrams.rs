//! Datagrams over UDP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ring_segment::{Node, Segment};
use ringd::driver::{Link, ReceiveBatch, Refused, TransmitBatch};
use ringd::sys::{Interest, Interface, Poller, UdpLink, UdpOptions, clock};

use crate::sys::helpers::{PATIENCE, find};

const PORT: u16 = 57_700;
/// More than a datagram holds.
const TOO_LONG: usize = 70_000;

struct End {
    link: UdpLink,
    poller: Poller,
    interface: Interface,
}

impl End {
    fn bind(node: &Node, address: IpAddr) -> Result<Self> {
        let interface = find(node, "eth0")?;
        let options = UdpOptions {
            interface: Some((interface.name.clone(), interface.index)),
            ..UdpOptions::default()
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

    /// Waits for datagrams: who sent each, its bytes and its age.
    fn next(&mut self) -> Result<Vec<(SocketAddr, Vec<u8>, Duration)>> {
        let mut batch = ReceiveBatch::of(8, 2_000);
        let give_up = Instant::now() + PATIENCE;
        while batch.is_empty() {
            let left = give_up.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "nothing comes");
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
    let mut batch = TransmitBatch::of(messages.len(), TOO_LONG);
    for &(len, filled, to) in messages {
        batch.next_buffer().context("room")?[..len].fill(filled);
        batch.push(len, to);
    }
    Ok(batch)
}

/// Two stations with addresses of their own, and those.
fn ends() -> Result<([End; 2], [SocketAddr; 2])> {
    let nodes = Segment::pair()?;
    let mut ends = Vec::new();
    for (node, last) in nodes.iter().zip(1..) {
        let ns = node.ns();
        // It stands by the network's broadcast address as well.
        ns.ip(&format!("address add 10.9.0.{last}/24 dev eth0"))?;
        ends.push(End::bind(node, Ipv4Addr::UNSPECIFIED.into())?);
    }
    let [left, right] = <[End; 2]>::try_from(ends).ok().context("two")?;
    let address = |last| SocketAddr::from((Ipv4Addr::new(10, 9, 0, last), PORT));
    Ok(([left, right], [address(1), address(2)]))
}

pub fn each_datagram_has_its_sender_and_its_outcome() -> Result<()> {
    let ([mut left, mut right], [from, to]) = ends()?;
    let mut batch = batch(&[(3, 1, to), (TOO_LONG, 2, to), (0, 3, to), (5, 4, to)])?;
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

pub fn a_datagram_that_has_waited_has_its_age() -> Result<()> {
    let ([mut left, mut right], [_, to]) = ends()?;
    let sent = clock::now().monotonic;
    left.link.send(&batch(&[(1, 1, to)])?)?;
    right.poller.wait(Some(PATIENCE))?;
    let waited = Duration::from_millis(50);
    std::thread::sleep(waited);
    let mut batch = ReceiveBatch::of(1, 10);
    let now = clock::now();
    right.link.receive(now, &mut batch)?;
    let (.., age) = batch.iter().next().context("it has come")?;
    ensure!(age >= waited && age <= now.monotonic.since(sent), "{age:?}");
    Ok(())
}

pub fn a_broadcast_and_a_multicast_reach_the_other() -> Result<()> {
    let ([mut left, mut right], [from, _]) = ends()?;
    let all = SocketAddr::from((Ipv4Addr::new(10, 9, 0, 255), PORT));
    left.link.send(&batch(&[(2, 7, all)])?)?;
    let heard = right.next()?;
    ensure!(heard.len() == 1 && heard[0].0 == from && heard[0].1 == [7; 2]);

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
    let heard = right.next()?;
    let (sender, bytes, _) = &heard[0];
    let is_local = matches!(sender, SocketAddr::V6(it) if it.ip().is_unicast_link_local()
        && it.scope_id() == right.interface.index);
    ensure!(is_local && bytes == &[8; 2], "{heard:?}");
    Ok(())
}
