//! Checks that the steady path (receive, decode, decide, encode, send) allocates no memory, and that a hop of the token
//! costs one frame. The tests run real state machines, drivers and observers on a segment in memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{ETHERNET_HEADER_LEN, ETHERTYPE, Frame, Kind};
use ring_proto::lab2::{Constants, Event, Lab2, StoredState};
use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, Machine, StoreOutcome};
use ring_recording::Recorded;
use ring_runtime::clock;
use ring_runtime::driver::frames::MAX_FRAME;
use ring_runtime::driver::{
    Authenticated, Driver, Environment, FrameAddressing, Link, ReceiveBatch, Refused, Signer,
    Store, TransmitBatch, datagrams,
};
use ring_runtime::net::{UdpLink, UdpOptions};
use ring_trust::{Authenticator, Keyring, NONCE_LEN, TRAILER_LEN};
use ringd::system::lab2::observe::{Log, Observers, Tally};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator with a counter of allocations.
struct Counting;

fn count() {
    // A thread that is ending no longer has a counter.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed unchanged to the system's allocator. The counter is thread-local and allocates no
// memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps `dealloc`'s contract, and `ptr` came from `System`.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps `realloc`'s contract, and `ptr` came from `System`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Travel time of a frame.
const FLIGHT_TIME: Duration = Duration::from_micros(20);

/// Frame under way: time of arrival, length and bytes.
type FrameInFlight = (Instant, usize, [u8; MAX_FRAME]);

/// Segment: a queue for each node, and the number of sent frames of each kind.
struct Segment {
    inboxes: Vec<VecDeque<FrameInFlight>>,
    unicast: [u64; 14],
    broadcast: [u64; 14],
    /// Number of challenges and answers.
    challenges: u64,
}

impl Segment {
    fn new(nodes: usize) -> Self {
        let inboxes = (0..nodes).map(|_| VecDeque::with_capacity(256));
        Self {
            inboxes: inboxes.collect(),
            unicast: [0; 14],
            broadcast: [0; 14],
            challenges: 0,
        }
    }

    fn carry(&mut self, now: Instant, from: usize, bytes: &[u8]) {
        // A challenge and an answer contain no message.
        let is_message = bytes.len() != ETHERNET_HEADER_LEN + NONCE_LEN + TRAILER_LEN;
        let broadcast = bytes.starts_with(&MacAddr::BROADCAST.0);
        if is_message {
            let frame = Frame::decode(bytes).expect("machines send valid frames");
            let counts = if broadcast {
                &mut self.broadcast
            } else {
                &mut self.unicast
            };
            counts[frame.message.kind() as usize] += 1;
        } else {
            self.challenges += 1;
        }
        let mut flight = (now + FLIGHT_TIME, bytes.len(), [0; MAX_FRAME]);
        flight.2[..bytes.len()].copy_from_slice(bytes);
        for (to, inbox) in self.inboxes.iter_mut().enumerate() {
            if to != from && (broadcast || bytes.starts_with(&mac(to).0)) {
                inbox.push_back(flight);
            }
        }
    }
}

/// Link of one node.
struct Port<'a> {
    segment: &'a RefCell<Segment>,
    at: usize,
    now: Instant,
}

impl Link for Port<'_> {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
        let inbox = &mut self.segment.borrow_mut().inboxes[self.at];
        batch.clear();
        while let Some(&(due, len, ref bytes)) = inbox.front() {
            let Some(buffer) = batch.next_buffer().filter(|_| due <= now.monotonic) else {
                break;
            };
            buffer.copy_from_slice(bytes);
            batch.push(len, (), now, now.monotonic.since(due));
            inbox.pop_front();
        }
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
        let mut segment = self.segment.borrow_mut();
        for (frame, ()) in batch.iter() {
            segment.carry(self.now, self.at, frame);
        }
        Ok(batch.len())
    }

    fn sent_by(&self, now: Now) -> Now {
        Now {
            monotonic: self.now,
            ..now
        }
    }
}

/// Store that remembers the last written state.
struct LastState(Option<StoredState>);

impl Store<StoredState> for LastState {
    fn store(&mut self, durable: &StoredState) -> StoreOutcome {
        self.0 = Some(*durable);
        StoreOutcome::Done
    }
}

/// A state machine of the ring, recorded or not.
trait RingMachine:
    Machine<Peer = (), Net = LinkState, Event = Event, Durable = StoredState, Job = Infallible>
{
}

impl<M> RingMachine for M where
    M: Machine<Peer = (), Net = LinkState, Event = Event, Durable = StoredState, Job = Infallible>
{
}

struct Node<'a, M: RingMachine> {
    driver: Driver<M>,
    port: Port<'a>,
    /// The node's keys, if its frames are signed.
    signer: Option<Signer>,
    store: LastState,
    observers: Observers,
}

/// Link of a node that may have keys.
type SignedPort<'a> = Authenticated<Port<'a>>;

impl<M: RingMachine> Node<'_, M> {
    /// Calls `act` with the driver and the node's environment.
    fn act<T>(
        &mut self,
        now: Now,
        act: impl FnOnce(
            &mut Driver<M>,
            &mut Environment<'_, SignedPort<'_>, LastState, Observers>,
        ) -> T,
    ) -> T {
        self.port.now = now.monotonic;
        // A stored port would borrow the segment for the life of the ring, so this call makes a new port.
        let port = Port {
            segment: self.port.segment,
            ..self.port
        };
        let mut port = Authenticated::new(port, self.signer.take());
        let mut environment = Environment {
            link: Some(&mut port),
            store: &mut self.store,
            observer: &mut self.observers,
        };
        let result = act(&mut self.driver, &mut environment);
        self.signer = port.set_signer(None);
        result
    }

    fn arrival(&self) -> Option<Instant> {
        let segment = self.port.segment.borrow();
        segment.inboxes[self.port.at].front().map(|flight| flight.0)
    }
}

fn mac(at: usize) -> MacAddr {
    let [.., high, low] = (at + 1).to_be_bytes();
    MacAddr([2, 0, 0, 0, high, low])
}

fn signer(at: usize) -> Signer {
    let keyring = Keyring::parse(&format!("7 {}", "5a".repeat(32))).expect("a legal key");
    let addressing = FrameAddressing {
        mac: mac(at),
        ethertype: ETHERTYPE,
    };
    let seed = [u8::try_from(at).expect("few nodes"); 32];
    Signer::of_frames(Authenticator::new(&keyring, false, seed), addressing)
}

/// State machines behind drivers.
struct Ring<'a, M: RingMachine> {
    now: Now,
    segment: &'a RefCell<Segment>,
    nodes: Vec<Node<'a, M>>,
}

impl<'a, M: RingMachine> Ring<'a, M> {
    fn new(
        segment: &'a RefCell<Segment>,
        constants: &Constants,
        is_signed: bool,
        machine: impl Fn(Lab2) -> M,
    ) -> Self {
        let now = Now {
            monotonic: Instant::from_nanos(1_000_000_000),
            wall: 1_700_000_000_000_000_000,
        };
        let blank = StoredState {
            my_token_number: 0,
            known: None,
            stamp: None,
        };
        let count = segment.borrow().inboxes.len();
        let node = |at| Node {
            driver: Driver::new(machine(Lab2::new(constants.clone(), blank))),
            port: Port {
                segment,
                at,
                now: now.monotonic,
            },
            signer: is_signed.then(|| signer(at)),
            store: LastState(None),
            observers: Observers {
                tally: Tally::new(),
                log: Log::new(false, constants.waiter_timeout()),
            },
        };
        let mut ring = Self {
            now,
            segment,
            nodes: (0..count).map(node).collect(),
        };
        for (at, node) in ring.nodes.iter_mut().enumerate() {
            let up = LinkState::Up {
                mac: mac(at),
                ip: [0; 16],
                mtu: 1500,
            };
            node.act(now, |driver, environment| {
                driver.link_changed(now, up, environment);
            });
        }
        ring
    }

    /// Advances time from one arrival or deadline to the next.
    fn run(&mut self, time: Duration) {
        let end = self.now.monotonic + time;
        loop {
            let due = |node: &Node<'_, M>| {
                node.arrival()
                    .into_iter()
                    .chain(node.driver.deadline())
                    .min()
            };
            let next = self.nodes.iter().filter_map(due).min();
            let Some(next) = next.filter(|&next| next <= end) else {
                break;
            };
            self.move_to(next);
            let now = self.now;
            for node in &mut self.nodes {
                if node.arrival().is_some_and(|at| at <= now.monotonic) {
                    node.act(now, |driver, environment| driver.receive(now, environment))
                        .expect("a link in memory");
                }
                if node.driver.deadline().is_some_and(|at| at <= now.monotonic) {
                    node.act(now, |driver, environment| driver.timeout(now, environment));
                }
            }
        }
        self.move_to(end);
    }

    fn move_to(&mut self, to: Instant) {
        let by = to.since(self.now.monotonic);
        self.now.monotonic = self.now.monotonic + by;
        self.now.wall += u64::try_from(by.as_nanos()).expect("short");
    }

    fn hand_overs(&self) -> u64 {
        let counters = |node: &Node<'_, M>| node.observers.tally.counters(0).hand_overs;
        self.nodes.iter().map(counters).sum()
    }
}

/// Counts of a ring in its steady path.
struct SteadyPath {
    hops: u64,
    allocations: u64,
    unicast: [u64; 14],
    broadcast: [u64; 14],
}

fn measure<M: RingMachine>(
    nodes: usize,
    idle_hold: Duration,
    time: Duration,
    is_signed: bool,
    machine: impl Fn(Lab2) -> M,
) -> SteadyPath {
    let constants = Constants {
        idle_hold,
        ..Constants::default()
    };
    let segment = RefCell::new(Segment::new(nodes));
    let mut ring = Ring::new(&segment, &constants, is_signed, machine);
    // A node that has just started agrees to no table of locks.
    ring.run(Duration::from_millis(2_500));

    let (hops, before) = (ring.hand_overs(), ALLOCATIONS.get());
    let (unicast, broadcast) = {
        let mut segment = ring.segment.borrow_mut();
        (
            std::mem::take(&mut segment.unicast),
            std::mem::take(&mut segment.broadcast),
        )
    };
    assert!(unicast.iter().chain(&broadcast).sum::<u64>() > 0);
    let challenges = segment.borrow().challenges;
    assert_eq!(challenges > 0, is_signed, "{challenges} challenges");
    ring.run(time);
    let allocations = ALLOCATIONS.get() - before;
    let hops = ring.hand_overs() - hops;
    let segment = segment.borrow();
    SteadyPath {
        hops,
        allocations,
        unicast: segment.unicast,
        broadcast: segment.broadcast,
    }
}

/// Returns the number of frames of one kind, and sets the count to 0.
fn take(counts: &mut [u64; 14], kind: Kind) -> u64 {
    std::mem::take(&mut counts[kind as usize])
}

#[test]
fn no_memory_is_allocated_and_a_hop_costs_one_frame_if_the_token_never_rests() {
    for (nodes, is_signed) in [(2, false), (8, false), (2, true), (8, true)] {
        let second = Duration::from_secs(1);
        let mut steady = measure(nodes, Duration::ZERO, second, is_signed, |it| it);
        assert!(steady.hops > 40_000, "{} hops", steady.hops);
        assert_eq!(steady.allocations, 0, "{nodes} nodes");
        let offers = take(&mut steady.unicast, Kind::TakeToken);
        assert!(
            offers.abs_diff(steady.hops) <= 1,
            "{offers} for {} hops",
            steady.hops
        );
        let heartbeats = take(&mut steady.broadcast, Kind::TokenIsHere);
        assert!(
            (9..=11).contains(&heartbeats),
            "{nodes} nodes: {heartbeats}"
        );
        let answers = take(&mut steady.unicast, Kind::Ping);
        assert!(
            answers <= heartbeats * (nodes as u64 - 1),
            "{nodes} nodes: {answers} answers to {heartbeats} heartbeats"
        );
        assert_eq!(
            steady.unicast, [0; 14],
            "{nodes} nodes: further frames, by kind"
        );
        assert_eq!(
            steady.broadcast, [0; 14],
            "{nodes} nodes: further frames, by kind"
        );
    }
}

#[test]
fn no_memory_is_allocated_and_a_hop_costs_an_offer_and_an_answer_if_the_token_rests() {
    for nodes in [2, 8] {
        let hold = Duration::from_millis(10);
        let mut steady = measure(nodes, hold, Duration::from_secs(60), false, |it| it);
        assert!(steady.hops > 5_900, "{} hops", steady.hops);
        assert_eq!(steady.allocations, 0, "{nodes} nodes");
        let offers = take(&mut steady.unicast, Kind::TakeToken);
        let answers = take(&mut steady.unicast, Kind::TokenIsHere);
        assert!(offers.abs_diff(steady.hops) <= 1);
        assert!(
            answers.abs_diff(steady.hops) <= 1,
            "{answers} for {} hops of {nodes}, {:?} {:?}",
            steady.hops,
            steady.unicast,
            steady.broadcast
        );
        let heartbeats = take(&mut steady.broadcast, Kind::TokenIsHere);
        assert!(
            (550..=610).contains(&heartbeats),
            "{nodes} nodes: {heartbeats}"
        );
        let signs_of_life = take(&mut steady.broadcast, Kind::Ping);
        let most = nodes as u64 * (heartbeats / 32 + 1);
        assert!(signs_of_life <= most, "{nodes} nodes: {signs_of_life}");
        let confirmations = take(&mut steady.unicast, Kind::Ping);
        assert_eq!(
            confirmations + signs_of_life,
            heartbeats * (nodes as u64 - 1),
            "{nodes} nodes"
        );
        assert_eq!(
            steady.unicast, [0; 14],
            "{nodes} nodes: further frames, by kind"
        );
        assert_eq!(
            steady.broadcast, [0; 14],
            "{nodes} nodes: further frames, by kind"
        );
    }
}

/// The recorder allocates memory only when it copies the state machine, once per buffer of a mebibyte.
#[test]
fn no_memory_is_allocated_for_a_record() {
    let hold = Duration::from_millis(10);
    let steady = measure(2, hold, Duration::from_secs(2), false, Recorded::new);
    assert!(steady.hops > 190, "{} hops", steady.hops);
    assert_eq!(steady.allocations, 0);
}

/// Checks that datagrams need no allocation, even with a thousand simultaneous clients.
#[test]
fn no_memory_is_allocated_for_datagrams() {
    const LEN: usize = 32;
    let all_lengths = |number| number + 1;
    let received = datagrams::receive_batch(LEN);
    exchange_datagrams(&UdpOptions::default(), received, all_lengths);
    let merged = UdpOptions {
        merges: true,
        ..UdpOptions::default()
    };
    for len in [all_lengths, |_| LEN] {
        exchange_datagrams(&merged, datagrams::merged_receive_batch(LEN), len);
    }
}

/// Exchanges batches of datagrams with these lengths, and counts the allocations after the first batch.
fn exchange_datagrams(
    options: &UdpOptions,
    mut received: ReceiveBatch<SocketAddr>,
    len: impl Fn(usize) -> usize,
) {
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let bind = || UdpLink::bind(any, options).expect("a port");
    let (mut left, mut right) = (bind(), bind());
    let to = right.address().expect("its address");
    let mut sent: TransmitBatch<SocketAddr> = datagrams::transmit_batch(100);
    for number in 0..sent.capacity() {
        sent.push(len(number), to);
    }
    let mut before = 0;
    for round in 0..100 {
        assert_eq!(
            left.send(&sent).expect("the datagrams are sent"),
            sent.len()
        );
        right.receive(clock::now(), &mut received).expect("a link");
        assert_eq!(received.len(), sent.len());
        let lengths = received.iter().map(|(bytes, ..)| bytes.len());
        assert!(lengths.eq((0..sent.len()).map(&len)));
        if round == 0 {
            before = ALLOCATIONS.get();
        }
    }
    assert_eq!(ALLOCATIONS.get(), before);
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    let memory = std::hint::black_box(Vec::<u8>::with_capacity(100));
    assert_eq!(ALLOCATIONS.get() - before, 1);
    drop(memory);
}
