//! A switch that learns and floods like a real switch, and causes faults on demand.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use fastrand::Rng;
use nix::net::if_::if_nametoindex;
use pnet::packet::ethernet::EthernetPacket;
use pnet::util::MacAddr;

use crate::checksum;
use crate::eavesdropper::tcp_data;
use crate::packet_socket::RawSocket;

/// Longest time until the switch's thread notices that it should end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Kinds of the frames of named locks: LOCKS and LOCKS_QUESTION.
const NAMED_LOCK_KINDS: [u8; 2] = [12, 13];
/// Offset of the kind in a frame.
const KIND_OFFSET: usize = 14;
/// Mark at the start of a standing. After a standing, a frame contains only trailers that a version without named locks
/// does not know.
const STANDING_MARK: &[u8] = b"RGD4";

/// Faults of the switch, set with [`Switch::set`]. The default rules cause no faults.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Whether each port carries frames.
    pub up: Vec<bool>,
    /// Partition of each port. Frames do not leave the partition of their port.
    pub partition: Vec<usize>,
    /// Pairs of ports. No frame passes from the first port to the second port.
    pub blocked: HashSet<(usize, usize)>,
    /// Ports from which the switch forwards only broadcasts.
    pub broadcasts_only: HashSet<usize>,
    /// Ports to which the switch delivers no broadcasts.
    pub unicasts_only: HashSet<usize>,
    /// Ports that carry nothing about named locks: neither LOCKS and LOCKS_QUESTION nor standings. To the other
    /// members, a member at such a port looks like a version without named locks.
    pub without_named_locks: HashSet<usize>,
    /// Probability that a receiver misses a frame, 0 to 1.
    pub loss: f64,
    /// Probability that a receiver gets a frame twice, 0 to 1.
    pub duplication: f64,
    /// Range of the random delay of each copy. A later frame may overtake a delayed copy.
    pub delay: Range<Duration>,
    /// Change of the data of a TCP segment.
    pub edit: fn(&mut [u8]),
    /// Number of TCP segments with data that the switch will still change.
    pub edits: Arc<AtomicUsize>,
}

/// The switch. The random numbers of the switch come from a seed. If the seed and the order of frames are the same, the
/// switch treats the frames in the same way.
#[derive(Debug)]
pub struct Switch {
    rules: Arc<Mutex<Rules>>,
    over: Arc<AtomicBool>,
    seed: u64,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Switch {
    pub(crate) fn new(ports: usize, seed: u64) -> Self {
        let rules = Rules {
            up: vec![true; ports],
            partition: vec![0; ports],
            blocked: HashSet::new(),
            broadcasts_only: HashSet::new(),
            unicasts_only: HashSet::new(),
            without_named_locks: HashSet::new(),
            loss: 0.0,
            duplication: 0.0,
            delay: Duration::ZERO..Duration::ZERO,
            edit: |_| (),
            edits: Arc::default(),
        };
        Self {
            rules: Arc::new(Mutex::new(rules)),
            over: Arc::default(),
            seed,
            thread: None,
        }
    }

    /// Starts the switch between the ports `p0`, `p1`, … of the calling thread's namespace.
    pub(crate) fn start(&mut self) -> Result<()> {
        let ports = lock(&self.rules).up.len();
        let mut engine = SwitchThread {
            inlet: RawSocket::on_all(None)?,
            outlets: Vec::new(),
            ports: HashMap::new(),
            stations: HashMap::new(),
            delayed: BinaryHeap::new(),
            frames: HashMap::new(),
            count: 0,
            dice: Rng::with_seed(self.seed),
        };
        for port in 0..ports {
            let name = format!("p{port}");
            let interface = if_nametoindex(name.as_str())
                .with_context(|| format!("the switch has no interface {name}"))?;
            engine.ports.insert(usize::try_from(interface)?, port);
            engine.outlets.push(RawSocket::send_only(&name)?);
        }
        let (rules, over) = (Arc::clone(&self.rules), Arc::clone(&self.over));
        let thread = thread::Builder::new().name("switch".to_owned());
        let thread = thread.spawn(move || engine.run(&rules, &over));
        self.thread = Some(thread.context("cannot start the switch's thread")?);
        Ok(())
    }

    /// Changes the rules for frames that arrive later.
    pub fn set(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut lock(&self.rules));
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the switch ended early: {error:#}");
        }
    }
}

/// Removes the standing and the following trailers from a frame. Returns `None` if the whole frame is about named
/// locks.
fn without_named_locks(frame: &[u8]) -> Option<&[u8]> {
    let kind = frame.get(KIND_OFFSET)?;
    if NAMED_LOCK_KINDS.contains(kind) {
        return None;
    }
    let mut ends = frame.windows(STANDING_MARK.len());
    let at = ends.rposition(|bytes| bytes == STANDING_MARK);
    Some(&frame[..at.unwrap_or(frame.len())])
}

/// Changes the data of a TCP segment, if the rules demand it.
fn edit_next(rules: &Rules, frame: &mut [u8]) {
    let Some(data) = tcp_data(frame).filter(|data| !data.is_empty()) else {
        return;
    };
    let next = |left: usize| left.checked_sub(1);
    let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
    if rules.edits.fetch_update(set, get, next).is_ok() {
        (rules.edit)(data);
    }
}

fn lock(rules: &Mutex<Rules>) -> MutexGuard<'_, Rules> {
    rules.lock().unwrap_or_else(PoisonError::into_inner)
}

struct SwitchThread {
    inlet: RawSocket,
    outlets: Vec<RawSocket>,
    ports: HashMap<usize, usize>,
    stations: HashMap<MacAddr, usize>,
    /// Delayed copies: time, sequence number and port.
    delayed: BinaryHeap<Reverse<(Instant, u64, usize)>>,
    /// Bytes of the delayed copies by sequence number.
    frames: HashMap<u64, Vec<u8>>,
    count: u64,
    dice: Rng,
}

impl SwitchThread {
    fn run(mut self, rules: &Mutex<Rules>, over: &AtomicBool) -> Result<()> {
        while !over.load(Ordering::Relaxed) {
            self.release();
            let next = self.delayed.peek().map(|Reverse((due, ..))| *due);
            let wait = next.map_or(POLL_INTERVAL, |due| {
                due.saturating_duration_since(Instant::now())
            });
            let Some(received) = self.inlet.receive(wait.min(POLL_INTERVAL))? else {
                continue;
            };
            if let Some(&from) = self.ports.get(&received.interface) {
                let rules = lock(rules).clone();
                self.forward(&rules, from, &received.bytes);
            }
        }
        Ok(())
    }

    fn forward(&mut self, rules: &Rules, from: usize, frame: &[u8]) {
        let Some(packet) = EthernetPacket::new(frame) else {
            return;
        };
        let is_to_one = packet.get_destination().is_unicast();
        let is_lost = rules.broadcasts_only.contains(&from) && is_to_one;
        if !rules.up[from] || is_lost {
            return;
        }
        if packet.get_source().is_unicast() {
            self.stations.insert(packet.get_source(), from);
        }
        let station = self.stations.get(&packet.get_destination()).copied();
        // The switch forgets the stations of a port that goes down.
        let known = station.filter(|port| rules.up[*port]);
        let mut frame = frame.to_vec();
        edit_next(rules, &mut frame);
        checksum::complete(&mut frame);
        for to in 0..self.outlets.len() {
            let reaches = rules.up[to]
                && rules.partition[to] == rules.partition[from]
                && to != from
                && (is_to_one || !rules.unicasts_only.contains(&to))
                && !rules.blocked.contains(&(from, to));
            if !reaches || known.is_some_and(|port| port != to) {
                continue;
            }
            let is_old = |port| rules.without_named_locks.contains(&port);
            if !is_old(from) && !is_old(to) {
                self.deliver(rules, to, &frame);
            } else if let Some(frame) = without_named_locks(&frame) {
                self.deliver(rules, to, frame);
            }
        }
    }

    fn deliver(&mut self, rules: &Rules, to: usize, frame: &[u8]) {
        let lost = self.dice.f64() < rules.loss;
        let copies = 1 + usize::from(self.dice.f64() < rules.duplication);
        for _ in 0..copies * usize::from(!lost) {
            let Range { start, end } = rules.delay;
            if end.is_zero() {
                self.emit(to, frame);
                continue;
            }
            let delay = start + end.saturating_sub(start).mul_f64(self.dice.f64());
            self.count += 1;
            self.delayed
                .push(Reverse((Instant::now() + delay, self.count, to)));
            self.frames.insert(self.count, frame.to_vec());
        }
    }

    fn release(&mut self) {
        while let Some(&Reverse((due, number, to))) = self.delayed.peek() {
            if due > Instant::now() {
                return;
            }
            self.delayed.pop();
            if let Some(frame) = self.frames.remove(&number) {
                self.emit(to, &frame);
            }
        }
    }

    fn emit(&self, to: usize, frame: &[u8]) {
        // A port that is down loses frames, like a real one.
        if self.outlets[to].send(frame).is_err() {
            self.outlets[to].clear_error();
        }
    }
}
