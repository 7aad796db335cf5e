//! Tests of the driver with a machine that uses datagrams and connections.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_proto::{
    JobRequest, Machine, SendOutcome, StoreOutcome, StreamEvent, StreamId, StreamOp, Ticket,
    Transmit,
};

use super::memory::{MemoryConnection, SharedLan};
use super::{
    Changed, Connections, Driver, Environment, Link, Observe, ReceiveBatch, Refused, Store,
    Streams, TransmitBatch,
};

const NOW: Now = Now {
    monotonic: Instant::from_nanos(7),
    wall: 70,
};

/// A machine that stores the length of all input, echoes the input, and starts a job for the input.
#[derive(Debug, Default)]
struct Recorder {
    durable: Option<usize>,
    is_stored: bool,
    replies: VecDeque<(u32, Vec<u8>)>,
    said: Vec<u8>,
    ops: VecDeque<StreamOp<u32>>,
    jobs: VecDeque<usize>,
    events: VecDeque<String>,
}

impl Recorder {
    fn hear(&mut self, bytes: &[u8]) {
        self.durable = Some(bytes.len());
        self.is_stored = false;
        self.jobs.push_back(bytes.len());
        self.events.push_back(format!("heard {}", bytes.len()));
    }
}

impl Machine for Recorder {
    type Peer = u32;
    type Net = ();
    type Command = u32;
    type Event = String;
    type Durable = usize;
    type Job = usize;

    fn handle_message(&mut self, _now: Now, from: u32, message: &[u8], _age: Duration) {
        self.hear(message);
        self.replies.push_back((from, message.to_vec()));
    }
    fn handle_command(&mut self, _now: Now, to: u32) {
        self.ops.push_back(StreamOp::Open(to));
    }
    fn handle_link(&mut self, _now: Now, (): ()) {}
    fn handle_timeout(&mut self, _now: Now) {}
    fn handle_sent(&mut self, _now: Now, ticket: Ticket, sent: SendOutcome) {
        self.events.push_back(format!("{} {sent:?}", ticket.id()));
    }
    fn handle_stream(&mut self, _now: Now, id: StreamId, event: StreamEvent<'_, u32>) -> usize {
        match event {
            StreamEvent::Received { bytes, end } => {
                if !end {
                    return 0;
                }
                self.hear(bytes);
                self.said = bytes.to_vec();
                self.ops.extend([StreamOp::Write(id), StreamOp::Close(id)]);
                bytes.len()
            }
            other => {
                self.events.push_back(format!("{} {other:?}", id.slot));
                0
            }
        }
    }
    fn handle_stored(&mut self, _now: Now, stored: StoreOutcome) {
        self.is_stored = stored == StoreOutcome::Done;
    }
    fn poll_durable(&mut self) -> Option<usize> {
        self.durable.take()
    }
    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<u32>> {
        let (to, bytes) = self.replies.pop_front()?;
        assert!(
            self.is_stored,
            "a message is sent before the length is stored"
        );
        buf[..bytes.len()].copy_from_slice(&bytes);
        Some(Transmit {
            len: bytes.len(),
            to,
            ticket: Ticket::new(to.into()),
        })
    }
    fn poll_stream(&mut self, _vacant: Option<StreamId>) -> Option<StreamOp<u32>> {
        self.ops.pop_front()
    }
    fn poll_write(&mut self, _id: StreamId, room: &mut [u8]) -> usize {
        assert!(
            self.is_stored,
            "a message is sent before the length is stored"
        );
        let count = room.len().min(self.said.len());
        room[..count].copy_from_slice(&self.said[..count]);
        self.said.drain(..count);
        count
    }
    fn poll_job(&mut self) -> Option<JobRequest<usize>> {
        self.jobs.pop_front().map(JobRequest::Start)
    }
    fn poll_event(&mut self) -> Option<String> {
        assert!(
            self.ops.is_empty(),
            "an event before all operations are done"
        );
        self.events.pop_front()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

struct TestLink {
    arrived: VecDeque<(u32, &'static [u8])>,
    sent: Vec<(u32, Vec<u8>)>,
    streams: Connections<SharedLan, u32>,
}

impl Link<u32> for TestLink {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch<u32>) -> io::Result<()> {
        batch.clear();
        while let Some((from, bytes)) = self.arrived.pop_front() {
            let room = batch.next_buffer().expect("room");
            room[..bytes.len()].copy_from_slice(bytes);
            batch.push(bytes.len(), from, now, Duration::ZERO);
        }
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch<u32>) -> Result<usize, Refused> {
        let sent = batch.iter().map(|(bytes, to)| (to, bytes.to_vec()));
        self.sent.extend(sent);
        Ok(batch.len())
    }

    fn streams(&mut self) -> Option<&mut dyn Streams<u32>> {
        Some(&mut self.streams)
    }
}

#[derive(Default)]
struct Disk(Vec<usize>);

impl Store<usize> for Disk {
    fn store(&mut self, durable: &usize) -> StoreOutcome {
        self.0.push(*durable);
        StoreOutcome::Done
    }
}

#[derive(Default)]
struct RecordedEvents(Vec<String>);

impl Observe<String> for RecordedEvents {
    fn observe(&mut self, _now: Now, event: &String) {
        self.0.push(event.clone());
    }
}

/// A driver with its environment.
struct StreamRig {
    driver: Driver<Recorder>,
    lan: SharedLan,
    place: TestLink,
    disk: Disk,
    seen: RecordedEvents,
}

impl StreamRig {
    fn new() -> Self {
        let lan = SharedLan::default();
        let batches = (ReceiveBatch::new(4, 16), TransmitBatch::of(4, 16));
        Self {
            driver: Driver::with_batches(Recorder::default(), batches.0, batches.1),
            place: TestLink {
                arrived: VecDeque::new(),
                sent: Vec::new(),
                streams: Connections::new(lan.clone(), 2),
            },
            lan,
            disk: Disk::default(),
            seen: RecordedEvents::default(),
        }
    }

    /// Runs one loop iteration with new input. If a command is given, runs the command and then one iteration without
    /// input. Returns the events.
    fn turn(&mut self, command: Option<u32>) -> Vec<String> {
        let mut environment = Environment {
            link: Some(&mut self.place),
            store: &mut self.disk,
            observer: &mut self.seen,
        };
        let arrived = command.is_none();
        if let Some(command) = command {
            self.driver.command(NOW, command, &mut environment);
        }
        let turn = self.driver.turn(NOW, arrived, || NOW, &mut environment);
        turn.expect("the link works");
        std::mem::take(&mut self.seen.0)
    }
}

#[test]
fn a_datagram_is_answered_to_its_sender() {
    let mut stage = StreamRig::new();
    stage.place.arrived.extend([(5, &b"ab"[..]), (6, b"c")]);
    let events = stage.turn(None);
    assert_eq!(events, ["heard 2", "5 Accepted", "heard 1", "6 Accepted"]);
    assert_eq!(stage.place.sent, [(5, b"ab".to_vec()), (6, b"c".to_vec())]);
    assert_eq!(stage.disk.0, [2, 1]);
    let jobs: Vec<_> = std::iter::from_fn(|| stage.driver.next_job()).collect();
    assert_eq!(jobs, [2, 1].map(JobRequest::Start));
}

#[test]
fn input_of_a_connection_is_stored_before_it_is_answered() {
    let mut stage = StreamRig::new();
    let wire = MemoryConnection::default();
    wire.0.borrow_mut().takes = 100;
    {
        let mut lan = stage.lan.0.borrow_mut();
        lan.calls.push_back((wire.clone(), 9));
        lan.changed.push_back(Changed::Listener);
    }
    assert_eq!(stage.turn(None), ["0 Accepted(9)"]);
    for (said, end) in [(&b"hel"[..], false), (b"lo", true)] {
        let mut peer = wire.0.borrow_mut();
        peer.sent.extend(said);
        peer.has_closed = end;
        let changed = Changed::Connection(peer.key);
        stage.lan.0.borrow_mut().changed.push_back(changed);
        drop(peer);
        let events = stage.turn(None);
        assert_eq!(events, if end { vec!["heard 5"] } else { vec![] });
    }
    let peer = wire.0.borrow();
    assert_eq!((&peer.read[..], peer.over), (&b"hello"[..], Some("closed")));
    assert_eq!(stage.disk.0, [5]);
}

#[test]
fn a_connection_is_opened_on_command_and_its_failure_is_reported() {
    let mut stage = StreamRig::new();
    assert_eq!(stage.turn(Some(3)), ["0 Closed(Failed)"]);
    let wire = MemoryConnection::default();
    stage.lan.0.borrow_mut().reachable.push_back(wire);
    assert_eq!(stage.turn(Some(3)), ["0 Connected"]);
}
