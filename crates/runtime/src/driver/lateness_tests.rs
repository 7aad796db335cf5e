//! Tests of the reports about lateness. The driver sends these reports to state machines that need them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, SendOutcome, StoreOutcome, StreamEvent, StreamId, Ticket, Transmit};

use super::memory::{MemoryConnection, SharedLan};
use super::{
    Changed, Connections, Driver, Environment, Link, Observe, ReceiveBatch, Refused, Store,
    Streams, TransmitBatch,
};

const fn at(nanos: u64) -> Now {
    Now {
        monotonic: Instant::from_nanos(nanos),
        wall: 0,
    }
}

/// Records each call and its time.
#[derive(Debug, Default)]
struct LatenessRecorder {
    calls: VecDeque<String>,
    is_due: bool,
}

impl LatenessRecorder {
    fn tell(&mut self, what: &str, now: Now) {
        let at = now.monotonic.as_nanos();
        self.calls.push_back(format!("{what} {at}"));
    }
}

impl Machine for LatenessRecorder {
    type Peer = u32;
    type Net = ();
    type Command = ();
    type Event = String;
    type Durable = Infallible;
    type Job = Infallible;

    fn has_lateness_handler(&self) -> bool {
        true
    }

    fn handle_lateness(&mut self, now: Now) {
        self.tell("late", now);
    }
    fn handle_message(&mut self, now: Now, _from: u32, _message: &[u8], _age: Duration) {
        self.tell("message", now);
    }
    fn handle_stream(&mut self, now: Now, _id: StreamId, _event: StreamEvent<'_, u32>) -> usize {
        self.tell("stream", now);
        0
    }
    fn handle_command(&mut self, _now: Now, (): ()) {}
    fn handle_link(&mut self, _now: Now, (): ()) {}
    fn handle_timeout(&mut self, now: Now) {
        self.is_due = false;
        self.tell("timeout", now);
    }
    fn handle_sent(&mut self, _now: Now, _ticket: Ticket, _sent: SendOutcome) {}
    fn handle_stored(&mut self, _now: Now, _stored: StoreOutcome) {}
    fn poll_durable(&mut self) -> Option<Infallible> {
        None
    }
    fn poll_transmit(&mut self, _buf: &mut [u8]) -> Option<Transmit<u32>> {
        None
    }
    fn poll_event(&mut self) -> Option<String> {
        self.calls.pop_front()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.is_due.then(|| Instant::from_nanos(10))
    }
}

/// A link with messages, their times of arrival, and connections.
struct LatenessLink {
    arrived: VecDeque<u64>,
    streams: Connections<SharedLan, u32>,
}

impl Link<u32> for LatenessLink {
    fn receive(&mut self, _now: Now, batch: &mut ReceiveBatch<u32>) -> io::Result<()> {
        batch.clear();
        while let Some(came) = self.arrived.pop_front() {
            batch.next_buffer().expect("room")[0] = 1;
            batch.push(1, 5, at(came), Duration::ZERO);
        }
        Ok(())
    }

    fn send(&mut self, _batch: &TransmitBatch<u32>) -> Result<usize, Refused> {
        Ok(0)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams<u32>> {
        Some(&mut self.streams)
    }
}

struct NoDisk;

impl Store<Infallible> for NoDisk {
    fn store(&mut self, durable: &Infallible) -> StoreOutcome {
        match *durable {}
    }
}

#[derive(Default)]
struct LatenessEvents(Vec<String>);

impl Observe<String> for LatenessEvents {
    fn observe(&mut self, _now: Now, event: &String) {
        self.0.push(event.clone());
    }
}

/// After the process reads the clock, it stalls for 5,000 ns. The driver reports the lateness before it handles
/// messages and timeouts. The driver still passes each message with its time of arrival, and each timeout with the time
/// before the stall.
#[test]
fn lateness_is_reported_before_messages_and_timeouts() {
    let lan = SharedLan::default();
    {
        let mut lan = lan.0.borrow_mut();
        lan.calls.push_back((MemoryConnection::default(), 9));
        lan.changed.push_back(Changed::Listener);
    }
    let mut place = LatenessLink {
        arrived: [100, 200].into(),
        streams: Connections::new(lan, 2),
    };
    let (mut disk, mut seen) = (NoDisk, LatenessEvents::default());
    let batches = (ReceiveBatch::new(4, 16), TransmitBatch::of(4, 16));
    let sleeper = LatenessRecorder {
        is_due: true,
        ..LatenessRecorder::default()
    };
    let mut driver = Driver::with_batches(sleeper, batches.0, batches.1);
    let mut environment = Environment {
        link: Some(&mut place),
        store: &mut disk,
        observer: &mut seen,
    };
    let turn = driver.turn(at(10), true, || at(5010), &mut environment);
    turn.expect("the link works");
    let calls = "late 5010; message 100; message 200; stream 5010; late 5010; timeout 10";
    assert_eq!(seen.0.join("; "), calls);
}
