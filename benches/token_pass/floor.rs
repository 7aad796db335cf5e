//! Measures the floor: programs that only pass a frame around a ring.

use std::env;
use std::hint;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socket};
use pnet::datalink::{self, ChannelType, NetworkInterface};
use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, ETHERTYPE, FRAME_LEN_MAX, Frame, Message, Token};
use ring_host::observe::Latency;
use ring_runtime::wait::{Interest, Poller};
use serde::{Deserialize, Serialize};

use crate::figures::Figures;
use crate::real::fabric::Fabric;
use crate::real::start::Start;

/// Environment variable with the options of a station's process.
const STATION_VARIABLE: &str = "RINGD_BENCH_STATION";
/// The second experimental EtherType. Stations send frames of this type only to teach the bridge the port of each
/// station. No station receives them.
const IGNORED_ETHERTYPE: u16 = 0x88b6;
/// Time before the first measured rotation.
const WARM_UP_TIME: Duration = Duration::from_millis(200);

/// Options of one station, which is a separate process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Station {
    mac: [u8; 6],
    next: [u8; 6],
    /// Measured time, set only for the first station. The first station starts the frame, reads the clock once per
    /// rotation, and ends the run after this time.
    time: Option<Duration>,
    waiting: Waiting,
}

/// The way in which the stations wait for the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Waiting {
    /// The stations sleep until the frame arrives.
    Sleep,
    /// The stations sleep, and the first station pauses for this time before each rotation. During the pause, idle
    /// processors fall asleep.
    SleepAfterPause(Duration),
    /// The stations never sleep.
    Spin,
}

/// Measures the floor for about `time`.
pub(crate) fn measure(
    fabric: &Fabric,
    start: &Start,
    time: Duration,
    waiting: Waiting,
) -> Result<Figures> {
    let places = &fabric.places;
    let mut stations = Vec::with_capacity(places.len());
    // The first station starts last, when all other stations are ready for its frame.
    for at in (0..places.len()).rev() {
        let station = Station {
            mac: places[at].mac().octets(),
            next: places[(at + 1) % places.len()].mac().octets(),
            time: (at == 0).then_some(time),
            waiting,
        };
        let orders = serde_json::to_string(&station)?;
        let child = start.spawn(at, &places[at], &env::current_exe()?, |command| {
            command.env(STATION_VARIABLE, orders);
            command.stdin(Stdio::null()).stdout(Stdio::piped());
        })?;
        stations.push(Running(child));
        let last = stations.last_mut().context("a station was just started")?;
        last.wait_until_ready()?;
    }
    let first = stations.last_mut().context("there are no stations")?;
    first.result(places.len())
}

/// A station's process. It is killed on drop.
struct Running(Child);

impl Running {
    fn output(&mut self) -> Result<&mut impl Read> {
        self.0.stdout.as_mut().context("a station has no output")
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let mut byte = [0];
        self.output()?
            .read_exact(&mut byte)
            .context("a station did not start")
    }

    fn result(&mut self, stations: usize) -> Result<Figures> {
        let mut line = String::new();
        BufReader::new(self.output()?).read_line(&mut line)?;
        let rotation: Figures = serde_json::from_str(&line).context("a station has failed")?;
        Ok(rotation.per_hop(stations))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The station may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Station {
    /// If this process was started as a station, reads its options.
    pub(crate) fn from_env() -> Result<Option<Self>> {
        let options = env::var(STATION_VARIABLE).ok();
        let station = options.map(|options| serde_json::from_str(&options));
        station.transpose().context("not the options of a station")
    }

    /// Passes the frame on until the process is killed. The first station ends by itself after its measured time.
    pub(crate) fn run(&self) -> Result<()> {
        let socket = packet_socket()?;
        let mut poller = Poller::new()?;
        poller.add(&socket, 0, Interest::Read)?;
        let frame = self.frame(MacAddr(self.next), ETHERTYPE)?;
        send_frame(&socket, &self.frame(MacAddr::BROADCAST, IGNORED_ETHERTYPE)?)?;
        let mut out = std::io::stdout();
        out.write_all(b"!")?;
        out.flush()?;
        let Some(time) = self.time else {
            loop {
                self.pass(&mut poller, &socket, &frame)?;
            }
        };
        let figures = self.run_first(&mut poller, &socket, &frame, time)?;
        writeln!(out, "{}", serde_json::to_string(&figures)?)?;
        Ok(())
    }

    fn frame(&self, destination: MacAddr, ethertype: u16) -> Result<Vec<u8>> {
        let author = MacAddr(self.mac);
        let frame = Frame {
            destination,
            author,
            message: Message::TakeToken {
                token: Token {
                    progress: 0,
                    author,
                    number: 0,
                },
                digest: Digest { size: 0, hash: 0 },
                data: &[],
            },
            profile: None,
            card: None,
            locks: None,
            preference: 0,
        };
        let mut buf = [0; FRAME_LEN_MAX];
        let len = frame.encode(ethertype, &mut buf)?;
        Ok(buf[..len].to_vec())
    }
}

impl Station {
    /// Runs the first station: starts rotations and measures them.
    fn run_first(
        &self,
        poller: &mut Poller,
        socket: &OwnedFd,
        frame: &[u8],
        time: Duration,
    ) -> Result<Figures> {
        // This histogram is as precise as the ring's.
        let (mut rotations, mut count) = (Latency::new(), 0);
        send_frame(socket, frame)?;
        let warm = Instant::now() + WARM_UP_TIME;
        while Instant::now() < warm {
            self.pass(poller, socket, frame)?;
        }
        let start = Instant::now();
        let mut last = start;
        let mut rested = Duration::ZERO;
        while last < start + time {
            self.await_frame(poller, socket)?;
            let now = Instant::now();
            let rotation = now.duration_since(last);
            rotations.record(rotation);
            count += 1;
            last = now;
            if let Waiting::SleepAfterPause(pause) = self.waiting {
                thread::sleep(pause);
                last = Instant::now();
                rested += last.duration_since(now);
            }
            send_frame(socket, frame)?;
        }
        let rotations = rotations.percentiles();
        Ok(Figures::new(
            rotations.p50_ns,
            rotations.p99_ns,
            last.duration_since(start).saturating_sub(rested),
            count,
        ))
    }

    /// Receives the frame and sends it on.
    #[inline]
    fn pass(&self, poller: &mut Poller, socket: &OwnedFd, frame: &[u8]) -> Result<()> {
        self.await_frame(poller, socket)?;
        send_frame(socket, frame)
    }

    #[inline]
    fn await_frame(&self, poller: &mut Poller, socket: &OwnedFd) -> Result<()> {
        let mut buf = [0; FRAME_LEN_MAX];
        loop {
            if self.waiting != Waiting::Spin {
                poller.wait(None)?;
            }
            match recv(socket.as_raw_fd(), &mut buf, MsgFlags::MSG_DONTWAIT) {
                Ok(_) => return Ok(()),
                Err(Errno::EAGAIN) => hint::spin_loop(),
                Err(error) => return Err(error).context("cannot receive"),
            }
        }
    }
}

fn send_frame(socket: &OwnedFd, frame: &[u8]) -> Result<()> {
    send(socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT).context("cannot send")?;
    Ok(())
}

/// Opens a packet socket on `eth0` for the protocol's EtherType.
fn packet_socket() -> Result<OwnedFd> {
    let socket = socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        None,
    )
    .context("cannot open a packet socket: CAP_NET_RAW and CONFIG_PACKET are needed")?;
    // pnet offers a safe way to bind a socket to an interface, but closes that socket, so pnet gets a duplicate.
    let config = datalink::Config {
        channel_type: ChannelType::Layer3(ETHERTYPE),
        socket_fd: Some(socket.try_clone()?.into_raw_fd()),
        promiscuous: false,
        ..datalink::Config::default()
    };
    let interface = NetworkInterface {
        name: "eth0".to_owned(),
        description: String::new(),
        index: if_nametoindex("eth0").context("there is no eth0")?,
        mac: None,
        ips: Vec::new(),
        flags: 0,
    };
    datalink::channel(&interface, config).context("cannot bind to eth0")?;
    Ok(socket)
}
