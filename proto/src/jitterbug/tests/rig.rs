//! One node in virtual time, with all inputs and outputs of its driver.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use ring_codec::jitterbug::{Message, Node, TokenId, node_list_hash};

use crate::jitterbug::{
    Command, Compute, Decide, Event, Jitterbug, Job, Network, NetworkState, Options, Outcome,
    Reason, State,
};
use crate::time::{Instant, Now, nanos};
use crate::{CloseReason, JobRequest, Machine, SendOutcome, StreamEvent, StreamId, StreamOp};

pub(crate) const OWN_NUMBER: u8 = 1;
pub(crate) const PORT: u16 = 57_700;

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn host(host: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, host).into()
}

pub(crate) fn tcp_port(host: u8) -> u16 {
    7000 + u16::from(host)
}

pub(crate) fn node(number: u8) -> Node {
    Node {
        ip: host(number),
        port: tcp_port(number),
    }
}

pub(crate) fn id(wire: i32) -> TokenId {
    TokenId::from_wire(wire).expect("a legal id")
}

pub(crate) fn encode(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = vec![0; message.encoded_len()];
    message.encode(&mut bytes).expect("it fits");
    bytes
}

pub(crate) fn tr1(token_id: i32, node_tcp_port: u16) -> Vec<u8> {
    encode(&Message::Tr1 {
        token_id: id(token_id),
        node_tcp_port,
        terms: None,
    })
}

pub(crate) fn tr2(token_id: i32) -> Vec<u8> {
    encode(&Message::Tr2 {
        token_id: id(token_id),
        terms: None,
    })
}

pub(crate) fn tp1(token_id: i32, node_list_hash: i32) -> Vec<u8> {
    encode(&Message::Tp1 {
        token_id: id(token_id),
        node_list_hash,
    })
}

pub(crate) fn tp4(nodes: &[Node]) -> Vec<u8> {
    encode(&Message::Tp4 {
        node_list: nodes.into(),
    })
}

pub(crate) fn tp5(token_id: i32, data: &[u8]) -> Vec<u8> {
    encode(&Message::Tp5 {
        token_id: id(token_id),
        data,
    })
}

pub(crate) const TP2: &[u8] = &[0x31];
pub(crate) const TP3: &[u8] = &[0x41];

pub(crate) fn hash(nodes: &[Node]) -> i32 {
    node_list_hash(&nodes.into())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentDatagram {
    Tr1(IpAddr, i32),
    Tr2(IpAddr, i32),
}

pub(crate) const BROADCAST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 255));

/// The state of this side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Open,
    Finished,
    Closed,
    Reset,
    /// The peer or the kernel reset the connection.
    Gone,
}

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) peer: SocketAddr,
    pub(crate) fate: Fate,
    pub(crate) written: Vec<u8>,
    unread: Vec<u8>,
    end: bool,
}

pub(crate) struct Rig {
    pub(crate) machine: Jitterbug,
    pub(crate) number: u8,
    pub(crate) now: Duration,
    pub(crate) sent: Vec<(SocketAddr, Vec<u8>)>,
    pub(crate) streams: BTreeMap<StreamId, Stream>,
    pub(crate) opened: Vec<StreamId>,
    pub(crate) events: Vec<Event>,
    pub(crate) jobs: VecDeque<JobRequest<Job>>,
    /// The outcome that the link reports for datagrams.
    pub(crate) outcome: SendOutcome,
    /// The number of bytes that the node may write at a time.
    pub(crate) room: usize,
    next: u16,
}

impl Rig {
    /// Creates node `number`. It has no network.
    pub(crate) fn off(number: u8, options: Options) -> Self {
        Self::with_seed(number, options, number.into())
    }

    pub(crate) fn with_seed(number: u8, options: Options, seed: u64) -> Self {
        let machine = Jitterbug::new(options, seed).expect("they can work");
        Self {
            machine,
            number,
            now: Duration::from_secs(1000),
            sent: Vec::new(),
            streams: BTreeMap::new(),
            opened: Vec::new(),
            events: Vec::new(),
            jobs: VecDeque::new(),
            outcome: SendOutcome::Accepted,
            room: 1 << 14,
            next: 0,
        }
    }

    /// Creates node 1, an orphan after its first TR1 with token 1000.
    pub(crate) fn new(options: Options) -> Self {
        let mut rig = Self::off(OWN_NUMBER, options);
        rig.machine.set_token(id(-1000));
        rig.link(NetworkState::Up(network(OWN_NUMBER)));
        assert_eq!(rig.take_datagrams(), [SentDatagram::Tr1(BROADCAST, -1000)]);
        rig
    }

    pub(crate) fn orphan() -> Self {
        Self::new(Options::default())
    }

    /// Creates a waiter with this token. A leader denied the waiter's restore.
    pub(crate) fn waiter(token: i32) -> Self {
        let mut rig = Self::waiter_with(Options::default());
        rig.machine.set_token(id(-token));
        assert_eq!(rig.state(), State::Waiter);
        rig
    }

    /// Creates a waiter. No node has named the token that the waiter waits for.
    pub(crate) fn waiter_with(options: Options) -> Self {
        let mut rig = Self::new(options);
        rig.receive_datagram(9, &tr2(1));
        rig.clear_output();
        rig
    }

    /// Creates a leader with this token, at the beginning of a turn.
    pub(crate) fn leader_with(options: Options, token: i32) -> Self {
        let mut rig = Self::new(options);
        rig.run(options.restore_duration());
        assert_eq!(rig.state(), State::Leader);
        rig.machine.lead_with(id(token));
        rig.clear_output();
        rig
    }

    pub(crate) fn leader(token: i32) -> Self {
        Self::leader_with(Options::default(), token)
    }

    /// Creates a leader with token 5 that knows nodes 2 to `last`.
    pub(crate) fn leader_of(last: u8) -> Self {
        let mut rig = Self::leader(5);
        (2..=last).for_each(|it| rig.add_node(it));
        rig
    }

    /// Creates a leader with token 5 and data `1` that connects to node 2.
    pub(crate) fn giver() -> (Self, StreamId) {
        Self::giver_with(Options::default())
    }

    pub(crate) fn giver_with(options: Options) -> (Self, StreamId) {
        let mut rig = Self::leader_with(options, 5);
        rig.add_node(2);
        let (stream, _) = rig.next_candidate();
        (rig, stream)
    }

    pub(crate) fn options(&self) -> Options {
        *self.machine.options()
    }

    pub(crate) fn state(&self) -> State {
        self.machine.summary().state
    }

    /// Returns the absolute token_id.
    pub(crate) fn token(&self) -> u32 {
        self.machine.summary().token_id
    }

    pub(crate) fn instant(&self) -> Instant {
        Instant::from_nanos(nanos(self.now))
    }

    fn time(&self) -> Now {
        Now {
            monotonic: self.instant(),
            wall: 0,
        }
    }

    /// Discards all datagrams and events.
    pub(crate) fn clear_output(&mut self) {
        self.sent.clear();
        self.events.clear();
    }

    /// Returns the datagrams since the last call.
    pub(crate) fn take_datagrams(&mut self) -> Vec<SentDatagram> {
        let sent = self.sent.drain(..).map(|(to, bytes)| {
            assert_eq!(to.port(), PORT, "whatever port a datagram came from");
            match Message::decode_datagram(&bytes).expect("it is well-formed") {
                Message::Tr1 { token_id, .. } => SentDatagram::Tr1(to.ip(), token_id.to_wire()),
                Message::Tr2 { token_id, .. } => SentDatagram::Tr2(to.ip(), token_id.to_wire()),
                other => panic!("{other:?} in a datagram"),
            }
        });
        sent.collect()
    }

    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    pub(crate) fn drop_count(&self, reason: Reason) -> u64 {
        self.machine.counters().drop_count(reason)
    }

    pub(crate) fn link(&mut self, net: NetworkState) {
        self.machine.handle_link(self.time(), net);
        self.drain();
    }

    pub(crate) fn command(&mut self, command: Command) {
        self.machine.handle_command(self.time(), command);
        self.drain();
    }

    pub(crate) fn running_job(&mut self) -> Job {
        match self.jobs.pop_front() {
            Some(JobRequest::Start(job)) => job,
            other => panic!("{other:?} is no job"),
        }
    }

    pub(crate) fn answer_job(&mut self, job: u64, outcome: Outcome) {
        self.command(Command::Done { job, outcome });
    }

    pub(crate) fn receive_datagram(&mut self, from: u8, bytes: &[u8]) {
        self.receive_datagram_from(SocketAddr::new(host(from), 40_000), bytes);
    }

    pub(crate) fn receive_datagram_from(&mut self, from: SocketAddr, bytes: &[u8]) {
        self.machine
            .handle_message(self.time(), from, bytes, Duration::ZERO);
        self.drain();
    }

    /// Opens a connection of a node.
    pub(crate) fn accept(&mut self, from: u8) -> StreamId {
        self.accept_from(SocketAddr::new(host(from), 40_000))
    }

    pub(crate) fn accept_from(&mut self, from: SocketAddr) -> StreamId {
        let id = self.vacant();
        self.add(id, from);
        self.machine
            .handle_stream(self.time(), id, StreamEvent::Accepted(from));
        self.drain();
        id
    }

    /// Makes the node's connection attempt succeed.
    pub(crate) fn open_by_kernel(&mut self, id: StreamId) {
        self.machine
            .handle_stream(self.time(), id, StreamEvent::Connected);
        self.drain();
    }

    /// Delivers bytes on a connection.
    pub(crate) fn receive(&mut self, id: StreamId, bytes: &[u8]) {
        self.deliver(id, bytes, false);
    }

    /// Delivers bytes (perhaps none) and the end of the peer's stream.
    pub(crate) fn receive_end(&mut self, id: StreamId, bytes: &[u8]) {
        self.deliver(id, bytes, true);
    }

    fn deliver(&mut self, id: StreamId, bytes: &[u8], end: bool) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.unread.extend_from_slice(bytes);
            stream.end |= end;
            self.report_unread(id);
        }
    }

    /// Calls the machine again with all unconsumed bytes.
    fn report_unread(&mut self, id: StreamId) {
        let time = self.time();
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        if !matches!(stream.fate, Fate::Open | Fate::Finished) {
            return;
        }
        let event = StreamEvent::Received {
            bytes: &stream.unread,
            end: stream.end,
        };
        let count = self.machine.handle_stream(time, id, event);
        assert!(
            count <= stream.unread.len(),
            "the node consumed more bytes than there are"
        );
        stream.unread.drain(..count);
        self.drain();
    }

    /// Closes a connection, as the kernel does.
    pub(crate) fn close_by_kernel(&mut self, id: StreamId, why: CloseReason) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        if matches!(stream.fate, Fate::Open | Fate::Finished) {
            stream.fate = Fate::Gone;
            self.machine
                .handle_stream(self.time(), id, StreamEvent::Closed(why));
            self.drain();
        }
    }

    pub(crate) fn fate(&self, id: StreamId) -> Fate {
        self.streams[&id].fate
    }

    /// Returns the bytes that the node wrote on a connection since the last call.
    pub(crate) fn take_written(&mut self, id: StreamId) -> Vec<u8> {
        let stream = self.streams.get_mut(&id).expect("there is one");
        std::mem::take(&mut stream.written)
    }

    /// Returns the last opened connection, and its destination.
    pub(crate) fn candidate(&self) -> Option<(StreamId, SocketAddr)> {
        let last = *self.opened.last()?;
        let stream = &self.streams[&last];
        let is_open = matches!(stream.fate, Fate::Open | Fate::Finished);
        is_open.then_some((last, stream.peer))
    }

    /// Advances the time, and handles each timeout when it is due.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        for _ in 0..100_000 {
            let due = self.machine.poll_timeout().map(Instant::as_nanos);
            let due = due.map(Duration::from_nanos).filter(|due| *due <= end);
            let Some(due) = due else {
                self.now = end;
                return;
            };
            self.now = self.now.max(due);
            self.fire_timeout();
        }
        panic!("time-outs without an end");
    }

    /// Advances the time while the process is stalled.
    pub(crate) fn stall(&mut self, time: Duration) {
        self.now += time;
    }

    pub(crate) fn fire_timeout(&mut self) {
        self.machine.handle_timeout(self.time());
        self.drain();
    }

    /// Returns the time until the next timeout.
    pub(crate) fn due(&self) -> Option<Duration> {
        let due = self.machine.poll_timeout()?;
        Some(due.since(self.instant()))
    }

    fn vacant(&self) -> StreamId {
        StreamId {
            slot: self.next,
            generation: 7,
        }
    }

    fn add(&mut self, id: StreamId, peer: SocketAddr) {
        self.next += 1;
        let stream = Stream {
            peer,
            fate: Fate::Open,
            written: Vec::new(),
            unread: Vec::new(),
            end: false,
        };
        self.streams.insert(id, stream);
    }

    /// Takes all outputs. A driver must take all outputs after each input.
    pub(crate) fn drain(&mut self) {
        let mut told_again = Vec::new();
        loop {
            assert!(self.machine.poll_durable().is_none());
            let mut buf = [0; 64];
            if let Some(transmit) = self.machine.poll_transmit(&mut buf) {
                if self.outcome == SendOutcome::Accepted {
                    self.sent.push((transmit.to, buf[..transmit.len].to_vec()));
                }
                let (time, sent) = (self.time(), self.outcome);
                self.machine.handle_sent(time, transmit.ticket, sent);
                continue;
            }
            let vacant = self.vacant();
            match self.machine.poll_stream(Some(vacant)) {
                None => break,
                Some(StreamOp::Open(to)) => {
                    self.add(vacant, to);
                    self.opened.push(vacant);
                }
                Some(StreamOp::Write(id)) => self.write(id),
                Some(StreamOp::Read(id)) => told_again.push(id),
                Some(StreamOp::Finish(id)) => self.end(id, Fate::Finished),
                Some(StreamOp::Close(id)) => self.end(id, Fate::Closed),
                Some(StreamOp::Abort(id)) => self.end(id, Fate::Reset),
            }
        }
        self.events
            .extend(std::iter::from_fn(|| self.machine.poll_event()));
        self.jobs
            .extend(std::iter::from_fn(|| self.machine.poll_job()));
        for id in told_again {
            let has_any = self
                .streams
                .get(&id)
                .is_some_and(|it| it.end || !it.unread.is_empty());
            if has_any {
                self.report_unread(id);
            }
        }
    }

    fn write(&mut self, id: StreamId) {
        let mut room = vec![0; self.room];
        loop {
            let count = self.machine.poll_write(id, &mut room);
            let Some(stream) = self.streams.get_mut(&id).filter(|_| count > 0) else {
                break;
            };
            assert_eq!(stream.fate, Fate::Open, "no byte follows an end");
            stream.written.extend_from_slice(&room[..count]);
        }
    }

    fn end(&mut self, id: StreamId, fate: Fate) {
        if let Some(stream) = self.streams.get_mut(&id)
            && matches!(stream.fate, Fate::Open | Fate::Finished)
        {
            stream.fate = fate;
        }
    }
}

pub(crate) fn computing() -> Options {
    Options {
        compute: Compute::Program,
        ..Options::default()
    }
}

pub(crate) fn deciding() -> Options {
    Options {
        decide: Decide::Program,
        ..Options::default()
    }
}

pub(crate) fn room_for(max_nodes: u32) -> Options {
    Options {
        max_nodes,
        ..Options::default()
    }
}

pub(crate) fn holding(hold: Duration) -> Options {
    Options {
        hold,
        ..Options::default()
    }
}

pub(crate) fn network(number: u8) -> Network {
    Network {
        address: host(number),
        prefix: 24,
        scope: 3,
        tcp_port: tcp_port(number),
    }
}

/// Returns the network of node 1 on a segment that has only IPv6.
pub(crate) fn network_v6() -> Network {
    Network {
        address: "fe80::1".parse().expect("an address"),
        ..network(1)
    }
}

/// Exchanges that many tests need.
impl Rig {
    /// Connects as the node `from`, and offers a token.
    pub(crate) fn offer(&mut self, from: u8, token: i32, hash: i32) -> StreamId {
        let id = self.accept(from);
        self.receive(id, &tp1(token, hash));
        id
    }

    /// Gives a whole token with this list, on a new connection of a node.
    pub(crate) fn receive_token(
        &mut self,
        from: u8,
        token: i32,
        list: &[Node],
        data: &[u8],
    ) -> StreamId {
        let id = self.offer(from, token, hash(list));
        if self.take_written(id) == TP2 {
            self.receive(id, &tp4(list));
        }
        self.receive_end(id, &tp5(token, data));
        id
    }

    /// Makes a node known, so that it becomes a candidate.
    pub(crate) fn add_node(&mut self, number: u8) {
        let heard = tr1(-1, tcp_port(number));
        self.receive_datagram(number, &heard);
        self.clear_output();
    }

    /// Runs until the node tries a candidate, and returns this candidate.
    pub(crate) fn next_candidate(&mut self) -> (StreamId, u8) {
        for _ in 0..10_000 {
            if let Some((id, peer)) = self.candidate() {
                let IpAddr::V4(ip) = peer.ip() else {
                    panic!("{peer} is no host");
                };
                return (id, ip.octets()[3]);
            }
            let due = self.due().expect("a leader has time-outs");
            self.run(due);
        }
        panic!("there is no candidate");
    }

    /// Answers as a candidate that has the same list. Then the node sends its token.
    pub(crate) fn accept_pass(&mut self, id: StreamId) {
        self.open_by_kernel(id);
        self.receive(id, TP3);
    }

    /// Acknowledges the token as the candidate.
    pub(crate) fn acknowledge(&mut self, id: StreamId) {
        self.accept_pass(id);
        self.receive_end(id, &[]);
    }

    pub(crate) fn refuse_next(&mut self) -> u8 {
        let (stream, number) = self.next_candidate();
        self.close_by_kernel(stream, CloseReason::Refused);
        number
    }

    /// Refuses the candidates one by one. The candidate `last` is the last candidate that is refused.
    pub(crate) fn refuse(&mut self, last: u8) {
        while self.refuse_next() != last {}
    }

    /// Makes the next candidate take the token.
    pub(crate) fn pass(&mut self) {
        let (stream, _) = self.next_candidate();
        self.acknowledge(stream);
    }

    /// Refuses all candidates before the candidate `wanted`.
    pub(crate) fn refuse_until(&mut self, wanted: u8) -> StreamId {
        loop {
            let (id, number) = self.next_candidate();
            if number == wanted {
                return id;
            }
            self.close_by_kernel(id, CloseReason::Refused);
        }
    }
}
