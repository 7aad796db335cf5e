//! Connections over TCP.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_proto::{CloseReason, StreamId};
use ring_runtime::driver::{Connections, IoEvent, RECEIVE_BUFFER_MAX, Streams};
use ring_runtime::net::{TcpNetwork, TcpOptions};
use ring_runtime::wait::{Interest, Poller};
use ring_segment::{Node, Segment, Test, tests};

use crate::runtime::helpers::WAIT_LIMIT;

pub(super) fn tests() -> Vec<Test> {
    tests![
        written_bytes_and_the_answer_arrive_complete,
        a_peer_that_never_reads_costs_at_most_one_buffer,
        the_connection_of_a_process_that_dies_has_no_regular_end,
        a_reset_after_the_end_is_reported,
        a_station_that_does_not_listen_refuses_connections,
        a_connection_comes_from_the_configured_address,
        the_connection_to_a_peer_that_falls_silent_ends_in_time,
    ]
}

/// Length of the sent data. It exceeds all buffers between two programs. Some buffers grow to megabytes.
const DATA_LEN: usize = 32 * 1024 * 1024;

/// After this time without a change, the test expects no further change.
const QUIET_TIME: Duration = Duration::from_millis(300);

/// Connections of one station, and the poller that waits for them.
struct End {
    node: Node,
    streams: Connections<TcpNetwork, SocketAddr>,
    address: SocketAddr,
    poller: Poller,
}

impl End {
    fn new(node: &Node, last: u8, resets: bool) -> Result<Self> {
        let options = TcpOptions {
            resets,
            ..TcpOptions::default()
        };
        Self::with(node, last, &options)
    }

    fn with(node: &Node, last: u8, options: &TcpOptions) -> Result<Self> {
        node.ns()
            .ip(&format!("address add 10.9.0.{last}/24 dev eth0"))?;
        let address = SocketAddr::from((Ipv4Addr::new(10, 9, 0, last), 0));
        let options = TcpOptions {
            interface: Some("eth0".to_owned()),
            ..options.clone()
        };
        let network = node.ns().run(|| TcpNetwork::listen(address, options))??;
        let address = network.address()?;
        let streams = Connections::new(network, 8);
        let poller = Poller::new()?;
        poller.add(streams.network(), 0, Interest::Read)?;
        Ok(Self {
            node: node.clone(),
            streams,
            address,
            poller,
        })
    }

    fn open(&mut self, to: SocketAddr) -> Result<StreamId> {
        let id = self.streams.next_id().context("a slot is free")?;
        let ns = self.node.clone();
        ns.ns().run(|| self.streams.open(to))?;
        Ok(id)
    }

    fn next(&mut self) -> Result<(StreamId, IoEvent<SocketAddr>)> {
        let give_up = Instant::now() + WAIT_LIMIT;
        loop {
            if let Some(happened) = self.streams.next_event() {
                return Ok(happened);
            }
            let left = give_up.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "no event happens");
            self.poller.wait(Some(left))?;
        }
    }

    fn expect(&mut self, wanted: (StreamId, IoEvent<SocketAddr>)) -> Result<()> {
        let next = self.next()?;
        ensure!(next == wanted, "{next:?}, not {wanted:?}");
        Ok(())
    }

    fn read_to_end(&mut self, id: StreamId) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        loop {
            self.expect((id, IoEvent::Received))?;
            let (bytes, end) = self
                .streams
                .received(id)
                .context("the connection is closed")?;
            ensure!(bytes.len() <= RECEIVE_BUFFER_MAX);
            all.extend_from_slice(bytes);
            let count = bytes.len();
            self.streams.consume(id, count);
            if end {
                return Ok(all);
            }
        }
    }

    /// Writes `bytes`, starting at offset `at`, until the connection accepts no more. Advances `at`.
    fn write(&mut self, id: StreamId, bytes: &[u8], at: &mut usize) {
        self.streams.write(id, &mut |room| {
            let count = room.len().min(bytes.len() - *at);
            room[..count].copy_from_slice(&bytes[*at..][..count]);
            *at += count;
            count
        });
    }
}

/// Connects two stations. Returns the stations, and the connection's id at each station.
fn connect_pair(resets: bool) -> Result<([End; 2], [StreamId; 2])> {
    connected_with(&TcpOptions {
        resets,
        ..TcpOptions::default()
    })
}

fn connected_with(options: &TcpOptions) -> Result<([End; 2], [StreamId; 2])> {
    let [left, right] = Segment::pair()?;
    let mut left = End::with(&left, 1, options)?;
    let mut right = End::with(&right, 2, options)?;
    let to = right.streams.next_id().context("a slot is free")?;
    let from = left.open(right.address)?;
    left.expect((from, IoEvent::Connected))?;
    let (id, happened) = right.next()?;
    let is_left = matches!(happened, IoEvent::Accepted(it) if it.ip() == left.address.ip());
    ensure!(id == to && is_left, "{happened:?}");
    Ok(([left, right], [from, to]))
}

fn written_bytes_and_the_answer_arrive_complete() -> Result<()> {
    let ([mut left, mut right], [from, to]) = connect_pair(true)?;
    let sent: Vec<u8> = (0..=250).cycle().take(1_000_000).collect();
    let mut at = 0;
    left.write(from, &sent, &mut at);
    left.streams.finish(from);
    let reader = std::thread::spawn(move || -> Result<_> {
        let all = right.read_to_end(to)?;
        right.write(to, b"taken", &mut 0);
        right.streams.close(to);
        Ok((all, right))
    });
    while at < sent.len() {
        left.expect((from, IoEvent::Writable))?;
        left.write(from, &sent, &mut at);
    }
    let answer = loop {
        match left.next()? {
            (_, IoEvent::Writable) => left.write(from, &sent, &mut at),
            (_, IoEvent::Received) => {
                if let Some((answer, true)) = left.streams.received(from) {
                    break answer.to_vec();
                }
            }
            other => anyhow::bail!("{other:?}"),
        }
    };
    ensure!(answer == b"taken");
    let (all, _right) = reader.join().ok().context("the thread panicked")??;
    ensure!(all == sent, "{} of {} bytes", all.len(), sent.len());
    Ok(())
}

fn a_peer_that_never_reads_costs_at_most_one_buffer() -> Result<()> {
    let ([mut left, mut right], [from, to]) = connect_pair(false)?;
    let sent = vec![1; DATA_LEN];
    let mut at = 0;
    left.write(from, &sent, &mut at);
    // The kernels fill their buffers for some time.
    loop {
        left.poller.wait(Some(QUIET_TIME))?;
        while right.streams.next_event().is_some() {}
        match left.streams.next_event() {
            Some(_) => left.write(from, &sent, &mut at),
            None => break,
        }
    }
    ensure!(at < DATA_LEN, "the kernel took all bytes");
    let (waiting, _) = right
        .streams
        .received(to)
        .context("the connection is closed")?;
    ensure!(
        waiting.len() == RECEIVE_BUFFER_MAX,
        "{} bytes still wait",
        waiting.len()
    );
    left.streams.abort(from);
    loop {
        match right.next()? {
            (_, IoEvent::Received) => {}
            other => {
                ensure!(
                    other == (to, IoEvent::Closed(CloseReason::Reset)),
                    "{other:?}"
                );
                return Ok(());
            }
        }
    }
}

/// The receiver must not mistake a part of the data for all data.
fn the_connection_of_a_process_that_dies_has_no_regular_end() -> Result<()> {
    let ([mut left, mut right], [from, to]) = connect_pair(true)?;
    left.write(from, b"the first half", &mut 0);
    right.expect((to, IoEvent::Received))?;
    // The kernel closes the descriptors of a killed process in the same way.
    drop(left);
    right.expect((to, IoEvent::Closed(CloseReason::Reset)))
}

fn a_reset_after_the_end_is_reported() -> Result<()> {
    let ([mut left, mut right], [from, to]) = connect_pair(true)?;
    left.write(from, b"all of it", &mut 0);
    left.streams.finish(from);
    loop {
        right.expect((to, IoEvent::Received))?;
        if matches!(right.streams.received(to), Some((b"all of it", true))) {
            break;
        }
    }
    left.streams.abort(from);
    right.expect((to, IoEvent::Closed(CloseReason::Reset)))
}

fn a_station_that_does_not_listen_refuses_connections() -> Result<()> {
    let ([mut left, right], _) = connect_pair(true)?;
    let nobody = right.address;
    drop(right);
    let id = left.open(nobody)?;
    loop {
        match left.next()? {
            // The established connection must be closed too.
            (other, IoEvent::Closed(CloseReason::Reset)) if other != id => {}
            other => {
                ensure!(
                    other == (id, IoEvent::Closed(CloseReason::Refused)),
                    "{other:?}"
                );
                return Ok(());
            }
        }
    }
}

fn a_connection_comes_from_the_configured_address() -> Result<()> {
    for own_address in [false, true] {
        let [left, right] = Segment::pair()?;
        left.ns().ip("address add 10.9.0.1/24 dev eth0")?;
        let options = TcpOptions {
            own_address,
            ..TcpOptions::default()
        };
        let mut left = End::with(&left, 11, &options)?;
        let mut right = End::new(&right, 2, false)?;
        left.open(right.address)?;
        let (_, IoEvent::Accepted(from)) = right.next()? else {
            anyhow::bail!("no station has connected");
        };
        // Without this option the kernel would choose the first address.
        let expected = if own_address { 11 } else { 1 };
        ensure!(from.ip() == Ipv4Addr::new(10, 9, 0, expected), "{from}");
        ensure!(
            from.port() != left.address.port(),
            "the station listens there"
        );
    }
    Ok(())
}

fn the_connection_to_a_peer_that_falls_silent_ends_in_time() -> Result<()> {
    let liveness = Duration::from_millis(1500);
    let ([mut left, right], [idle, _]) = connected_with(&TcpOptions {
        liveness: Some(liveness),
        ..TcpOptions::default()
    })?;
    // From now on the peer's machine drops its packets silently.
    right.node.ns().ip("address del 10.9.0.2/24 dev eth0")?;
    let begun = Instant::now();
    left.expect((idle, IoEvent::Closed(CloseReason::TimedOut)))?;
    ensure!(
        begun.elapsed() + QUIET_TIME > liveness,
        "{:?}",
        begun.elapsed()
    );
    Ok(())
}
