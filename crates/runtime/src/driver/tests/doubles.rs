//! A machine, a store, a link and an observer for tests. Each of these doubles panics if the driver misuses it, and all
//! of them write their calls into one journal.

use super::super::{
    Driver, Environment, Link, Observe, ReceiveBatch, Refused, Store, TransmitBatch,
};
use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, Machine, SendOutcome, StoreOutcome, Ticket, Transmit};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::time::Duration;

pub(super) const NOW: Now = Now {
    monotonic: Instant::from_nanos(7),
    wall: 70,
};

/// A record of all calls, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Journal(Rc<RefCell<Vec<String>>>);

impl Journal {
    pub(super) fn write(&self, line: impl Into<String>) {
        self.0.borrow_mut().push(line.into());
    }

    pub(super) fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

/// A machine whose input controls it: each byte of a frame or a command is an order.
///
/// `d` changes the durable data. `e` makes an event. A capital letter makes a frame with this letter. When the link
/// accepts a frame `X`, the machine changes the durable data, and makes a frame `Y`. When the machine makes a frame
/// `Q`, it asks for the time at which the frame was sent.
#[derive(Debug, Default)]
pub(super) struct Puppet {
    journal: Journal,
    durable: Option<u32>,
    stored: u32,
    unreported: bool,
    asks: bool,
    gathers: bool,
    frames: VecDeque<u8>,
    unsettled: Vec<(u64, u8)>,
    next_ticket: u64,
    events: VecDeque<&'static str>,
    pub deadline: Option<Instant>,
}

impl Puppet {
    pub(super) fn due_at(deadline: Instant, journal: &Journal) -> Self {
        Self {
            journal: journal.clone(),
            deadline: Some(deadline),
            ..Self::default()
        }
    }

    fn obey(&mut self, now: Now, orders: &[u8]) {
        assert_eq!(now, NOW, "the driver reads its own clock");
        let drained = self.durable.is_none()
            && self.frames.is_empty()
            && self.unsettled.is_empty()
            && self.events.is_empty();
        assert!(
            drained || self.gathers,
            "the outputs of the last input are not taken: {self:?}"
        );
        for &order in orders {
            match order {
                b'd' => self.durable = Some(self.stored + 1),
                b'e' => self.events.push_back("e"),
                frame => self.frames.push_back(frame),
            }
        }
    }
}

impl Machine for Puppet {
    type Peer = ();
    type Net = LinkState;
    type Job = Infallible;
    type Command = &'static [u8];
    type Event = &'static str;
    type Durable = u32;

    fn handle_message(&mut self, now: Now, (): (), frame: &[u8], age: Duration) {
        let text = String::from_utf8_lossy(frame);
        self.journal.write(format!("hears {text} of {age:?}"));
        self.obey(now, frame);
    }

    fn handle_command(&mut self, now: Now, command: &'static [u8]) {
        self.journal.write("is commanded");
        self.obey(now, command);
    }

    fn handle_link(&mut self, now: Now, link: LinkState) {
        self.journal.write(format!("link {link:?}"));
        self.obey(now, b"deA");
    }

    fn handle_timeout(&mut self, now: Now) {
        self.journal.write("time-out");
        self.obey(now, b"deA");
    }

    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: SendOutcome) {
        assert_eq!(now, NOW);
        let at = self.unsettled.iter().position(|&(id, _)| id == ticket.id());
        let (_, frame) = self.unsettled.remove(at.expect("a ticket of this machine"));
        self.journal
            .write(format!("{} {sent:?}", char::from(frame)));
        self.asks |= frame == b'Q';
        if frame == b'X' && sent == SendOutcome::Accepted {
            self.durable = Some(self.stored + 1);
            self.frames.push_back(b'Y');
        }
    }

    fn can_batch_output(&self) -> bool {
        self.gathers
    }

    fn wants_flush_report(&self) -> bool {
        self.asks
    }

    fn handle_flushed(&mut self, by: Now) {
        self.asks = false;
        let after = by.monotonic.since(NOW.monotonic);
        self.journal.write(format!("left within {after:?}"));
    }

    fn handle_stored(&mut self, now: Now, stored: StoreOutcome) {
        assert_eq!((now, stored), (NOW, StoreOutcome::Done));
        assert!(self.unreported, "there were no data to store");
        self.unreported = false;
    }

    fn poll_durable(&mut self) -> Option<u32> {
        let durable = self.durable.take();
        self.stored = durable.unwrap_or(self.stored);
        self.unreported = durable.is_some();
        durable
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        assert_eq!(
            self.durable, None,
            "the driver asked for a frame before it stored the durable data"
        );
        assert!(
            !self.unreported,
            "the driver asked for a frame before it reported an outcome"
        );
        let frame = self.frames.pop_front()?;
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.unsettled.push((ticket, frame));
        buf[0] = frame;
        Some(Transmit {
            len: 1,
            to: (),
            ticket: Ticket::new(ticket),
        })
    }

    fn poll_event(&mut self) -> Option<&'static str> {
        assert!(
            self.unsettled.is_empty(),
            "the driver took an event before it reported an outcome"
        );
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }
}

impl Store<u32> for Journal {
    fn store(&mut self, durable: &u32) -> StoreOutcome {
        self.write(format!("store {durable}"));
        StoreOutcome::Done
    }
}

impl Observe<&'static str> for Journal {
    fn observe(&mut self, now: Now, event: &&'static str) {
        assert_eq!(now, NOW);
        self.write(*event);
    }
}

pub(super) type ArrivedFrames = Vec<(&'static [u8], Duration)>;

/// A link with a prepared result for each call. A call without a prepared result panics.
#[derive(Debug, Default)]
pub(super) struct ScriptedLink {
    journal: Journal,
    pub arrived: VecDeque<io::Result<ArrivedFrames>>,
    pub takes: VecDeque<Result<usize, Refused>>,
}

impl Link for ScriptedLink {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
        assert_eq!(now, NOW);
        let arrived = self
            .arrived
            .pop_front()
            .expect("the test has prepared no frame to receive")?;
        batch.clear();
        for (frame, age) in arrived {
            let Some(buffer) = batch.next_buffer() else {
                break;
            };
            buffer[..frame.len()].copy_from_slice(frame);
            batch.push(frame.len(), (), now, age);
        }
        Ok(())
    }

    fn sent_by(&self, now: Now) -> Now {
        Now {
            monotonic: now.monotonic + Duration::from_millis(7),
            ..now
        }
    }

    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
        assert!(!batch.is_empty(), "the driver sent an empty batch");
        let frames: Vec<u8> = batch.iter().map(|(frame, ())| frame[0]).collect();
        let text = String::from_utf8_lossy(&frames);
        self.journal.write(format!("send {text}"));
        self.takes
            .pop_front()
            .expect("the test has prepared no result for a send")
    }
}

/// A driver with its environment. All parts write into the same journal.
pub(super) struct DriverRig {
    pub driver: Driver<Puppet>,
    pub wire: ScriptedLink,
    pub journal: Journal,
}

impl DriverRig {
    pub(super) fn new() -> Self {
        Self::of(false)
    }

    /// Makes a driver whose machine handles a whole batch before the driver takes the outputs.
    pub(super) fn gathering() -> Self {
        Self::of(true)
    }

    fn of(gathers: bool) -> Self {
        let journal = Journal::default();
        let puppet = Puppet {
            journal: journal.clone(),
            gathers,
            ..Puppet::default()
        };
        Self {
            driver: Driver::new(puppet),
            wire: ScriptedLink {
                journal: journal.clone(),
                ..ScriptedLink::default()
            },
            journal,
        }
    }

    pub(super) fn takes(mut self, count: usize) -> Self {
        self.wire.takes.push_back(Ok(count));
        self
    }

    pub(super) fn refuses(mut self, kind: io::ErrorKind) -> Self {
        self.wire.takes.push_back(Err(io::Error::from(kind).into()));
        self
    }

    pub(super) fn arrived(mut self, frames: &[&'static [u8]]) -> Self {
        let ages = (1..).map(Duration::from_nanos);
        let frames = frames.iter().copied().zip(ages).collect();
        self.wire.arrived.push_back(Ok(frames));
        self
    }

    /// Calls `act` with the driver and a link. Returns the journal.
    pub(super) fn with<T>(
        &mut self,
        act: impl FnOnce(&mut Driver<Puppet>, &mut Environment<'_, ScriptedLink, Journal, Journal>) -> T,
    ) -> (T, Vec<String>) {
        let mut environment = Environment {
            link: Some(&mut self.wire),
            store: &mut self.journal.clone(),
            observer: &mut self.journal.clone(),
        };
        let result = act(&mut self.driver, &mut environment);
        (result, self.journal.take())
    }

    pub(super) fn command(&mut self, orders: &'static [u8]) -> Vec<String> {
        self.with(|driver, environment| driver.command(NOW, orders, environment))
            .1
    }
}
