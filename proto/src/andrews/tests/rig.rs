//! One node in virtual time, with all inputs and outputs of its driver.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use ring_codec::U32;
use ring_codec::andrews::{Frame, Method};
use ring_codec::{StreamState, Streamed};

use super::fake_database::FakeDatabase;
use crate::andrews::message::{OwnedElection, OwnedMessage};
use crate::andrews::{
    Andrews, Command, Counters, Event, Job, NodeList, Options, Outcome, Reason, Request, Snapshot,
    SocketsBound, State, Work, Write,
};
use crate::time::{Instant, Now, nanos};
use crate::{CloseReason, JobRequest, Machine, SendOutcome, StreamEvent, StreamId, StreamOp};

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn ip(node: u32) -> IpAddr {
    let [_, _, high, low] = node.to_be_bytes();
    Ipv4Addr::new(10, 0, high, low).into()
}

pub(crate) fn address(node: u32) -> SocketAddr {
    SocketAddr::new(ip(node), 7000)
}

pub(crate) fn list(count: u32) -> NodeList {
    NodeList::new((1..=count).map(|id| (id, address(id)))).expect("it is one")
}

pub(crate) fn ring_election(ids: &[u32]) -> OwnedMessage {
    let ids = ids.iter().map(|&id| U32::new(id)).collect();
    OwnedMessage::Election(OwnedElection::RingBased(ids))
}

pub(crate) fn candidate(id: u32) -> OwnedMessage {
    OwnedMessage::Election(OwnedElection::ChangRoberts(id))
}

pub(crate) fn result(method: Method, id: u32) -> OwnedMessage {
    OwnedMessage::Election(OwnedElection::Coordinator(method, id))
}

pub(crate) const BULLY: OwnedMessage = OwnedMessage::Election(OwnedElection::Bully);
pub(crate) const OK: OwnedMessage = OwnedMessage::Election(OwnedElection::Ok);

pub(crate) const fn seq(term: u64, count: u64) -> u64 {
    (term << 32) + count
}

/// The state of this node's side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Open,
    Closed,
    Gone,
}

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) peer: SocketAddr,
    pub(crate) is_accepted: bool,
    pub(crate) fate: Fate,
    /// Bytes that the node wrote and that the test has not read.
    pub(crate) written: Vec<u8>,
}

pub(crate) struct Rig {
    pub(crate) machine: Andrews,
    pub(crate) id: u32,
    pub(crate) now: Duration,
    pub(crate) database: FakeDatabase,
    /// Whether the database carries out jobs at once.
    pub(crate) answers: bool,
    pub(crate) jobs: VecDeque<Job>,
    pub(crate) sent: VecDeque<(SocketAddr, Vec<u8>)>,
    pub(crate) streams: BTreeMap<StreamId, Stream>,
    /// Connections that the node opened and that the test has not taken.
    pub(crate) opened: VecDeque<StreamId>,
    pub(crate) events: Vec<Event>,
    /// Whether the peers read the bytes that the node writes.
    pub(crate) reads: bool,
    next: u16,
}

impl Rig {
    pub(crate) fn idle(options: Options, list: NodeList, database: FakeDatabase) -> Self {
        let seed = options.id.into();
        Self {
            id: options.id,
            machine: Andrews::new(options, list, seed).expect("they can work"),
            now: Duration::from_secs(1000),
            database,
            answers: true,
            jobs: VecDeque::new(),
            sent: VecDeque::new(),
            streams: BTreeMap::new(),
            opened: VecDeque::new(),
            events: Vec::new(),
            reads: true,
            next: 0,
        }
    }

    /// Creates a node whose list has nine nodes. The node's jobs wait until the test runs them.
    pub(crate) fn with_silent_database(options: Options, database: FakeDatabase) -> Self {
        let mut rig = Self::idle(options, list(9), database);
        rig.answers = false;
        rig.begin();
        rig
    }

    pub(crate) fn with(options: Options, database: FakeDatabase) -> Self {
        let mut rig = Self::idle(options, list(9), database);
        rig.begin();
        rig
    }

    /// Creates node `id` of a list of nine. The node has begun with these rows.
    pub(crate) fn new(id: u32, database: FakeDatabase) -> Self {
        Self::with(Options::new(id), database)
    }

    /// Creates a member with two working connections, and clears its outputs.
    pub(crate) fn member(id: u32, database: FakeDatabase) -> Self {
        Self::member_with(Options::new(id), database)
    }

    pub(crate) fn member_with(options: Options, database: FakeDatabase) -> Self {
        let mut rig = Self::with(options, database);
        rig.connect_neighbors();
        rig.clear_output();
        rig
    }

    pub(crate) fn connect_neighbors(&mut self) {
        let own = self.id;
        let before = self.database.ring.iter().find(|&(_, &next)| next == own);
        let before = *before.expect("it is a member").0;
        if self.database.ring[&own] != own {
            let (stream, _) = self.successor();
            self.open_by_kernel(stream);
            self.hello(before);
        }
    }

    pub(crate) fn begin(&mut self) {
        self.machine.handle_link(self.time(), SocketsBound);
        self.drain();
    }

    pub(crate) fn state(&self) -> State {
        self.machine.summary().state
    }

    pub(crate) fn is_coordinator(&self) -> bool {
        self.machine.summary().is_coordinator
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.machine.counters()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.machine.snapshot()
    }

    pub(crate) fn instant(&self) -> Instant {
        Instant::from_nanos(nanos(self.now))
    }

    pub(crate) fn time(&self) -> Now {
        Now {
            monotonic: self.instant(),
            wall: 0,
        }
    }

    pub(crate) fn clear_output(&mut self) {
        self.sent.clear();
        self.events.clear();
        self.database.written.clear();
        for stream in self.streams.values_mut() {
            stream.written.clear();
        }
    }

    pub(crate) fn drop_count(&self, reason: Reason) -> u64 {
        self.machine.counters().drop_count(reason)
    }

    /// Returns the datagrams since the last call, each with its receiver.
    pub(crate) fn take_datagrams(&mut self) -> Vec<(u32, OwnedMessage)> {
        let own = self.id;
        let message = self.sent.drain(..).map(|(to, bytes)| {
            let frame = Frame::decode_datagram(&bytes).expect("it is well-formed");
            assert_eq!(frame.src_id, own);
            let IpAddr::V4(ip) = to.ip() else {
                panic!("{to}");
            };
            let [_, _, high, low] = ip.octets();
            let to = u32::from_be_bytes([0, 0, high, low]);
            (to, OwnedMessage::from(frame.message))
        });
        message.collect()
    }

    /// Returns the frames that the node wrote on a connection since the last call.
    pub(crate) fn take_frames(&mut self, id: StreamId) -> Vec<OwnedMessage> {
        let bytes = self.streams.get_mut(&id).expect("there is one");
        let bytes = std::mem::take(&mut bytes.written);
        let mut rest = &bytes[..];
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let decoded = Frame::decode_stream(rest, StreamState::Ended);
            let Ok(Streamed::Message { message, consumed }) = decoded else {
                panic!("{rest:?}");
            };
            assert_eq!(message.src_id, self.id);
            frames.push(OwnedMessage::from(message.message));
            rest = &rest[consumed..];
        }
        frames
    }

    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Returns the writes to the topology since the last call.
    pub(crate) fn take_writes(&mut self) -> Vec<Write> {
        let written = std::mem::take(&mut self.database.written);
        let writes = written.into_iter().map(|(_, write)| write);
        writes
            .filter(|write| !matches!(write, Write::Beat { .. } | Write::Test))
            .collect()
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.machine.handle_command(self.time(), command);
        self.drain();
    }

    pub(crate) fn request(&mut self, id: u64, is_post: bool) {
        self.command(Command::Request(Request { id, is_post }));
    }

    /// Carries out all jobs that are waiting.
    pub(crate) fn serve(&mut self) {
        for _ in 0..1000 {
            let Some(job) = self.jobs.pop_front() else {
                return;
            };
            let outcome = self.database.run(self.id, &job.work);
            self.answer_job(job.id, outcome);
        }
        panic!("jobs without an end");
    }

    pub(crate) fn answer_job(&mut self, job: u64, outcome: Outcome) {
        let command = Command::Done { job, outcome };
        self.machine.handle_command(self.time(), command);
        self.drain();
    }

    pub(crate) fn next_job(&mut self) -> Job {
        self.jobs.pop_front().expect("there is one")
    }

    /// Carries out the first job that waits.
    pub(crate) fn serve_next(&mut self) {
        let job = self.next_job();
        let outcome = self.database.run(self.id, &job.work);
        self.answer_job(job.id, outcome);
    }

    /// Carries out looks and beats until a different kind of job waits.
    pub(crate) fn serve_looks(&mut self) {
        while let Some(job) = self.jobs.front() {
            if !matches!(
                job.work,
                Work::ReadRing | Work::Write(Write::Beat { .. } | Write::Test)
            ) {
                return;
            }
            self.serve_next();
        }
    }

    pub(crate) fn receive_datagram(&mut self, from: u32, message: &OwnedMessage) {
        self.receive_datagram_bytes(ip(from), &message.encode(from));
    }

    pub(crate) fn receive_datagram_bytes(&mut self, from: IpAddr, bytes: &[u8]) {
        let from = SocketAddr::new(from, 40_000);
        self.machine
            .handle_message(self.time(), from, bytes, Duration::ZERO);
        self.drain();
    }

    pub(crate) fn accept(&mut self, from: IpAddr) -> StreamId {
        let id = self.vacant();
        let from = SocketAddr::new(from, 40_000);
        self.add(id, from, true);
        self.machine
            .handle_stream(self.time(), id, StreamEvent::Accepted(from));
        self.drain();
        id
    }

    pub(crate) fn hello(&mut self, from: u32) -> StreamId {
        let id = self.accept(ip(from));
        self.receive(id, from, &OwnedMessage::Successor(self.id));
        id
    }

    pub(crate) fn predecessor(&self) -> StreamId {
        let inbound = self.machine.inbound().predecessor();
        inbound.expect("there is one").stream()
    }

    pub(crate) fn successor(&self) -> (StreamId, u32) {
        let member = self.machine.role().member().expect("it is a member");
        let to = member.target().expect("it has one");
        (member.stream().expect("it is opened"), to)
    }

    pub(crate) fn open_by_kernel(&mut self, id: StreamId) {
        self.machine
            .handle_stream(self.time(), id, StreamEvent::Connected);
        self.drain();
    }

    pub(crate) fn receive(&mut self, id: StreamId, from: u32, message: &OwnedMessage) {
        self.receive_bytes(id, &message.encode(from));
    }

    pub(crate) fn receive_bytes(&mut self, id: StreamId, bytes: &[u8]) {
        self.deliver(id, bytes, false);
    }

    pub(crate) fn end_stream(&mut self, id: StreamId) {
        self.deliver(id, &[], true);
    }

    pub(crate) fn deliver(&mut self, id: StreamId, bytes: &[u8], end: bool) {
        if self.fate(id) != Fate::Open {
            return;
        }
        let event = StreamEvent::Received { bytes, end };
        let count = self.machine.handle_stream(self.time(), id, event);
        let is_all = count == bytes.len() || self.machine.is_finished();
        assert!(is_all, "the node takes all bytes");
        self.drain();
    }

    pub(crate) fn close_by_kernel(&mut self, id: StreamId, why: CloseReason) {
        let stream = self.streams.get_mut(&id).expect("there is one");
        if stream.fate == Fate::Open {
            stream.fate = Fate::Gone;
            self.machine
                .handle_stream(self.time(), id, StreamEvent::Closed(why));
            self.drain();
        }
    }

    pub(crate) fn fate(&self, id: StreamId) -> Fate {
        self.streams[&id].fate
    }

    /// Advances the time, and handles each timeout when it is due.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..100_000 {
            let due = self.due_at().filter(|due| *due <= end);
            let Some(due) = due else {
                self.now = end;
                return;
            };
            self.now = self.now.max(due);
            self.fire_timeout();
        }
        panic!("time-outs without an end");
    }

    pub(crate) fn due_at(&self) -> Option<Duration> {
        let due = self.machine.poll_timeout().map(Instant::as_nanos);
        due.map(Duration::from_nanos)
    }

    pub(crate) fn fire_timeout(&mut self) {
        self.machine.handle_timeout(self.time());
        self.drain();
    }

    fn vacant(&self) -> StreamId {
        StreamId {
            slot: self.next,
            generation: 7,
        }
    }

    pub(crate) fn add(&mut self, id: StreamId, peer: SocketAddr, is_accepted: bool) {
        self.next += 1;
        let stream = Stream {
            peer,
            is_accepted,
            fate: Fate::Open,
            written: Vec::new(),
        };
        self.streams.insert(id, stream);
    }

    /// Takes all outputs. A driver must take all outputs after each input.
    pub(crate) fn drain(&mut self) {
        loop {
            let mut buf = [0; 2048];
            if let Some(transmit) = self.machine.poll_transmit(&mut buf) {
                let bytes = buf[..transmit.len].to_vec();
                self.sent.push_back((transmit.to, bytes));
                let time = self.time();
                self.machine
                    .handle_sent(time, transmit.ticket, SendOutcome::Accepted);
                continue;
            }
            let vacant = self.vacant();
            match self.machine.poll_stream(Some(vacant)) {
                None => break,
                Some(StreamOp::Open(to)) => {
                    self.add(vacant, to, false);
                    self.opened.push_back(vacant);
                }
                Some(StreamOp::Write(id)) if self.reads => self.write(id),
                Some(StreamOp::Write(_) | StreamOp::Read(_)) => {}
                Some(StreamOp::Finish(id) | StreamOp::Close(id) | StreamOp::Abort(id)) => {
                    if let Some(stream) = self.streams.get_mut(&id)
                        && stream.fate == Fate::Open
                    {
                        stream.fate = Fate::Closed;
                    }
                }
            }
        }
        self.events
            .extend(std::iter::from_fn(|| self.machine.poll_event()));
        while let Some(JobRequest::Start(job)) = self.machine.poll_job() {
            self.jobs.push_back(job);
        }
        if self.answers && !self.jobs.is_empty() {
            self.serve();
        }
    }

    fn write(&mut self, id: StreamId) {
        let mut room = vec![0; 1 << 14];
        loop {
            let count = self.machine.poll_write(id, &mut room);
            let Some(stream) = self.streams.get_mut(&id).filter(|_| count > 0) else {
                break;
            };
            stream.written.extend_from_slice(&room[..count]);
        }
    }
}
