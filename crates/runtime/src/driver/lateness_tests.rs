//! What the driver owes a machine to which it matters whether its process stood still.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_proto::{Machine, Sent, Stored, StreamEvent, StreamId, Ticket, Transmit};

use super::memory::{Shared, Wire};
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

/// Writes down what it is told, and when that was.
#[derive(Debug, Default)]
struct Sleeper {
    told: VecDeque<String>,
    is_due: bool,
}

impl Sleeper {
    fn tell(&mut self, what: &str, now: Now) {
        let at = now.monotonic.as_nanos();
        self.told.push_back(format!("{what} {at}"));
    }
}

impl Machine for Sleeper {
    type Peer = u32;
    type Net = ();
    type Command = ();
    type Event = String;
    type Durable = Infallible;
    type Job = Infallible;

    fn heeds_lateness(&self) -> bool {
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
    fn handle_sent(&mut self, _now: Now, _ticket: Ticket, _sent: Sent) {}
    fn handle_stored(&mut self, _now: Now, _stored: Stored) {}
    fn poll_durable(&mut self) -> Option<Infallible> {
        None
    }
    fn poll_transmit(&mut self, _buf: &mut [u8]) -> Option<Transmit<u32>> {
        None
    }
    fn poll_event(&mut self) -> Option<String> {
        self.told.pop_front()
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.is_due.then(|| Instant::from_nanos(10))
    }
}

/// Messages with the times at which they came, and connections.
struct Place {
    arrived: VecDeque<u64>,
    streams: Connections<Shared, u32>,
}

impl Link<u32> for Place {
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
    fn store(&mut self, durable: &Infallible) -> Stored {
        match *durable {}
    }
}

#[derive(Default)]
struct Seen(Vec<String>);

impl Observe<String> for Seen {
    fn observe(&mut self, _now: Now, event: &String) {
        self.0.push(event.clone());
    }
}

/// A process stops for 5,000 ns after it has read the clock: what comes meanwhile has its own times, but first the machine
/// is told how late it is.
#[test]
fn lateness_is_told_before_messages_and_time_outs() {
    let lan = Shared::default();
    {
        let mut lan = lan.0.borrow_mut();
        lan.calls.push_back((Wire::default(), 9));
        lan.changed.push_back(Changed::Listener);
    }
    let mut place = Place {
        arrived: [100, 200].into(),
        streams: Connections::new(lan, 2),
    };
    let (mut disk, mut seen) = (NoDisk, Seen::default());
    let batches = (ReceiveBatch::of(4, 16), TransmitBatch::of(4, 16));
    let sleeper = Sleeper {
        is_due: true,
        ..Sleeper::default()
    };
    let mut driver = Driver::with_batches(sleeper, batches.0, batches.1);
    let mut environment = Environment {
        link: Some(&mut place),
        store: &mut disk,
        observer: &mut seen,
    };
    let turn = driver.turn(at(10), true, || at(5010), &mut environment);
    turn.expect("the link works");
    let told = [
        "late 5010",
        "message 100",
        "message 200",
        "stream 5010",
        "late 5010",
        "timeout 10",
    ];
    assert_eq!(seen.0, told);
}
