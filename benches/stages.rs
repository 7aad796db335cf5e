//! Benchmark of the parts of a hop outside the state machine, with the daemon's own code. The parts are: read the
//! clocks, wait for a ready descriptor, receive, store, send. The rest of a hop's time is the wake-up. The benchmark
//! also measures UDP datagrams, with one or many per system call.
//!
//! `cargo bench --bench stages [FILTER]`, for example with `-- datagrams`

#[path = "real/fabric.rs"]
mod fabric;

use std::fs::File;
use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use criterion::{Criterion, Throughput};
use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, ETHERTYPE, Frame, Message, Token};
use ring_runtime::MemoryFile;
use ring_runtime::clock;
use ring_runtime::driver::{Link, ReceiveBatch, TransmitBatch, datagrams, frames};
use ring_runtime::net::{Interface, PacketSocket, UdpLink, UdpOptions};
use ring_runtime::wait::{Interest, Poller};
use ring_segment::NetNs;

use fabric::{Fabric, Kind, Place};

const RECORD_LEN: usize = 64;

fn main() -> Result<()> {
    ring_segment::enter()?;
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let c = &mut criterion;
    c.bench_function("stage/clocks", |b| b.iter(clock::now));
    store(c)?;
    datagrams(c)?;
    for (kind, name) in [(Kind::Pair, "pair"), (Kind::Bridge, "bridge")] {
        Stand::new(kind)?.measure(c, name);
    }
    criterion.final_summary();
    Ok(())
}

/// Measures the write of the state before each handover: to the file in memory, and to the state file.
fn store(c: &mut Criterion) -> Result<()> {
    let file = tempfile::tempfile_in("/run").context("cannot make a file in /run")?;
    let mut memory = MemoryFile::map(&file)?.context("/run is not in memory")?;
    c.bench_function("stage/store, in memory", |b| {
        b.iter(|| memory.write_at(black_box(&[0x5a; RECORD_LEN]), 0));
    });
    let write = |file: &File| file.write_all_at(black_box(&[0x5a; RECORD_LEN]), 0);
    write(&file)?;
    c.bench_function("stage/store, state file", |b| b.iter(|| write(&file)));
    Ok(())
}

const DATAGRAM_COUNT: usize = datagrams::RECEIVE_BATCH;
const DATAGRAM_LEN: usize = 100;

/// Measures the time of a batch of datagrams from the first send to the last receive.
fn datagrams(c: &mut Criterion) -> Result<()> {
    let ns = NetNs::new()?;
    ns.ip("link set lo up\n")?;
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let link = || UdpLink::bind(any, &UdpOptions::default());
    let (mut left, mut right) = ns.run(|| Ok::<_, std::io::Error>((link()?, link()?)))??;
    let socket = || UdpSocket::bind(any);
    let (from, to) = ns.run(|| Ok::<_, std::io::Error>((socket()?, socket()?)))??;
    let address = to.local_addr()?;
    // The time of the fastest pass of each kind. No other program used the processor during such a pass.
    let mut fastest = [Duration::MAX; 3];
    let mut group = c.benchmark_group("stage/datagrams");
    group.throughput(Throughput::Elements(DATAGRAM_COUNT as u64));
    let mut measure = |at: usize, name, pass: &mut dyn FnMut()| {
        group.bench_function(name, |b| {
            b.iter_custom(|times| {
                let mut all = Duration::ZERO;
                for _ in 0..times {
                    let start = Instant::now();
                    pass();
                    let took = start.elapsed();
                    fastest[at] = fastest[at].min(took);
                    all += took;
                }
                all
            });
        });
    };
    let mut room = [0; DATAGRAM_LEN];
    measure(0, "sockets, one a call", &mut || {
        for _ in 0..DATAGRAM_COUNT {
            from.send_to(&[1; DATAGRAM_LEN], address)
                .expect("the datagram is sent");
        }
        for _ in 0..DATAGRAM_COUNT {
            assert_eq!(
                to.recv_from(&mut room).expect("the datagram arrives").0,
                DATAGRAM_LEN
            );
        }
    });
    for (at, name, size) in [(1, "driver, one a call", 1), (2, "driver", DATAGRAM_COUNT)] {
        let to = right.address()?;
        let (sent, mut received) = batches(size, to)?;
        measure(at, name, &mut || {
            let now = clock::now();
            for _ in 0..DATAGRAM_COUNT / size {
                assert_eq!(left.send(&sent).expect("the datagrams are sent"), size);
            }
            for _ in 0..DATAGRAM_COUNT / size {
                right.receive(now, &mut received).expect("a link");
                assert_eq!(received.len(), size);
            }
        });
    }
    group.finish();
    if !fastest.contains(&Duration::MAX) {
        let [sockets, one, many] = fastest;
        let times = |other: Duration| other.as_secs_f64() / many.as_secs_f64();
        println!(
            "fastest passes: {fastest:?}; many per call: {:.2} × as fast as sockets, {:.2} × as fast as one per call",
            times(sockets),
            times(one)
        );
    }
    Ok(())
}

fn batches(
    size: usize,
    to: SocketAddr,
) -> Result<(TransmitBatch<SocketAddr>, ReceiveBatch<SocketAddr>)> {
    let mut sent = TransmitBatch::of(size, DATAGRAM_LEN);
    for _ in 0..size {
        sent.next_buffer().context("the batch has space")?.fill(1);
        sent.push(DATAGRAM_LEN, to);
    }
    Ok((sent, ReceiveBatch::new(size, DATAGRAM_LEN)))
}

/// Two stations in one thread, so no hop waits for a wake-up.
struct Stand {
    left: PacketSocket,
    right: PacketSocket,
    poller: Poller,
    frame: TransmitBatch,
    received: ReceiveBatch,
    _fabric: Fabric,
}

impl Stand {
    fn new(kind: Kind) -> Result<Self> {
        let fabric = Fabric::new(kind, 2)?;
        let (left, right) = (open(&fabric.places[0])?, open(&fabric.places[1])?);
        let mut frame = frames::transmit_batch();
        let buffer = frame.next_buffer().context("an empty batch has space")?;
        let len = take_token(&fabric).encode(ETHERTYPE, buffer)?;
        frame.push(len, ());
        let poller = Poller::new()?;
        poller.add(&right, 0, Interest::Read)?;
        Ok(Self {
            left,
            right,
            poller,
            frame,
            received: frames::receive_batch(),
            _fabric: fabric,
        })
    }

    fn measure(mut self, c: &mut Criterion, fabric: &str) {
        c.bench_function(&format!("stage/send, driver/{fabric}"), |b| {
            b.iter_custom(|times| self.pass(times, |passed| passed.sent));
        });
        c.bench_function(&format!("stage/wait, ready/{fabric}"), |b| {
            b.iter_custom(|times| self.pass(times, |passed| passed.waited));
        });
        c.bench_function(&format!("stage/receive/{fabric}"), |b| {
            b.iter_custom(|times| self.pass(times, |passed| passed.received));
        });
    }

    /// Passes the frame from left to right `times` times. Returns the sum of the times of one stage.
    fn pass(&mut self, times: u64, stage: fn(&StageTimes) -> Duration) -> Duration {
        (0..times).map(|_| stage(&self.pass_once())).sum()
    }

    fn pass_once(&mut self) -> StageTimes {
        let now = clock::now();
        let start = Instant::now();
        let accepted = self.left.send(&self.frame).expect("the link takes a frame");
        let sent = Instant::now();
        self.poller.wait(None).expect("a wait");
        let waited = Instant::now();
        self.right.receive(now, &mut self.received).expect("a link");
        let received = Instant::now();
        assert_eq!((accepted, self.received.iter().count()), (1, 1));
        StageTimes {
            sent: sent - start,
            waited: waited - sent,
            received: received - waited,
        }
    }
}

/// Times of the stages of one pass. Each time includes one reading of the clock.
struct StageTimes {
    sent: Duration,
    waited: Duration,
    received: Duration,
}

fn open(place: &Place) -> Result<PacketSocket> {
    place.ns().run(|| {
        let interface = Interface::find("eth0")?.context("there is no eth0")?;
        Ok(PacketSocket::open(&interface, ETHERTYPE)?)
    })?
}

fn take_token(fabric: &Fabric) -> Frame<'static> {
    let [author, destination] = [0, 1].map(|at| MacAddr(fabric.places[at].mac().octets()));
    Frame {
        destination,
        author,
        message: Message::TakeToken {
            token: Token {
                progress: 1,
                author,
                number: 1,
            },
            digest: Digest { size: 2, hash: 0 },
            data: &[],
        },
        profile: None,
        card: None,
        locks: None,
        preference: 0,
    }
}
