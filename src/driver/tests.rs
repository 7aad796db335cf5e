//! What the driver owes a machine, its store, its link and its observer, shown by doubles that
//! panic when they are misused and write down what happens in one journal.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, Machine, Sent, Stored, Ticket, Transmit};

use super::frames::{RECEIVE_BATCH, TRANSMIT_BATCH};
use super::{
    Driver, Environment, Link, Observe, Quota, ReceiveBatch, Refused, Store, TransmitBatch,
};

const NOW: Now = Now {
    monotonic: Instant::from_nanos(7),
    wall: 70,
};

/// What happened, in order, in everybody's words.
#[derive(Debug, Clone, Default)]
struct Journal(Rc<RefCell<Vec<String>>>);

impl Journal {
    fn write(&self, line: impl Into<String>) {
        self.0.borrow_mut().push(line.into());
    }

    fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

/// A machine that does what it hears: each byte of a frame or a command is an order.
///
/// `d`: something durable; `e`: an event; any capital letter: a frame of that letter. A frame
/// `X` that was accepted makes a durable and a frame `Y`.
#[derive(Debug, Default)]
struct Puppet {
    journal: Journal,
    durable: Option<u32>,
    stored: u32,
    unreported: bool,
    asks: bool,
    frames: VecDeque<u8>,
    unsettled: Vec<(u64, u8)>,
    next_ticket: u64,
    events: VecDeque<&'static str>,
    deadline: Option<Instant>,
}

impl Puppet {
    fn obey(&mut self, now: Now, orders: &[u8]) {
        assert_eq!(now, NOW, "the driver has a clock of its own");
        let drained = self.durable.is_none()
            && self.frames.is_empty()
            && self.unsettled.is_empty()
            && self.events.is_empty();
        assert!(drained, "not drained after the last input: {self:?}");
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

    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: Sent) {
        assert_eq!(now, NOW);
        let at = self.unsettled.iter().position(|&(id, _)| id == ticket.id());
        let (_, frame) = self.unsettled.remove(at.expect("a ticket of this machine"));
        self.journal
            .write(format!("{} {sent:?}", char::from(frame)));
        self.asks |= frame == b'Q';
        if frame == b'X' && sent == Sent::Accepted {
            self.durable = Some(self.stored + 1);
            self.frames.push_back(b'Y');
        }
    }

    fn asks_when_left(&self) -> bool {
        self.asks
    }

    fn handle_left(&mut self, by: Now) {
        self.asks = false;
        let after = by.monotonic.since(NOW.monotonic);
        self.journal.write(format!("left within {after:?}"));
    }

    fn handle_stored(&mut self, now: Now, stored: Stored) {
        assert_eq!((now, stored), (NOW, Stored::Done));
        assert!(self.unreported, "nothing was to be stored");
        self.unreported = false;
    }

    fn poll_durable(&mut self) -> Option<u32> {
        let durable = self.durable.take();
        self.stored = durable.unwrap_or(self.stored);
        self.unreported = durable.is_some();
        durable
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        assert_eq!(self.durable, None, "asked for a frame before the durable");
        assert!(!self.unreported, "asked for a frame before the outcome");
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
        assert!(self.unsettled.is_empty(), "an event before an outcome");
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }
}

impl Store<u32> for Journal {
    fn store(&mut self, durable: &u32) -> Stored {
        self.write(format!("store {durable}"));
        Stored::Done
    }
}

impl Observe<&'static str> for Journal {
    fn observe(&mut self, now: Now, event: &&'static str) {
        assert_eq!(now, NOW);
        self.write(*event);
    }
}

/// Frames with their ages.
type Arrived = Vec<(&'static [u8], Duration)>;

/// A link with one answer for each call that is to come; one more call panics.
#[derive(Debug, Default)]
struct Wire {
    journal: Journal,
    arrived: VecDeque<io::Result<Arrived>>,
    takes: VecDeque<Result<usize, Refused>>,
}

impl Link for Wire {
    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
        assert_eq!(now, NOW);
        let arrived = self
            .arrived
            .pop_front()
            .expect("nothing is to be received")?;
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

    fn left_by(&self, now: Now) -> Now {
        Now {
            monotonic: now.monotonic + Duration::from_millis(7),
            ..now
        }
    }

    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
        assert!(!batch.is_empty(), "a call for nothing");
        let frames: Vec<u8> = batch.iter().map(|(frame, ())| frame[0]).collect();
        let text = String::from_utf8_lossy(&frames);
        self.journal.write(format!("send {text}"));
        self.takes.pop_front().expect("nothing is to be sent")
    }
}

/// A driver with its surroundings; one journal for all.
struct Stage {
    driver: Driver<Puppet>,
    wire: Wire,
    journal: Journal,
}

impl Stage {
    fn new() -> Self {
        let journal = Journal::default();
        let puppet = Puppet {
            journal: journal.clone(),
            ..Puppet::default()
        };
        Self {
            driver: Driver::new(puppet),
            wire: Wire {
                journal: journal.clone(),
                ..Wire::default()
            },
            journal,
        }
    }

    /// The link will take this many frames of the next batch.
    fn takes(mut self, count: usize) -> Self {
        self.wire.takes.push_back(Ok(count));
        self
    }

    fn refuses(mut self, kind: io::ErrorKind) -> Self {
        self.wire.takes.push_back(Err(io::Error::from(kind).into()));
        self
    }

    fn arrived(mut self, frames: &[&'static [u8]]) -> Self {
        let ages = (1..).map(Duration::from_nanos);
        let frames = frames.iter().copied().zip(ages).collect();
        self.wire.arrived.push_back(Ok(frames));
        self
    }

    /// Does something with the driver while the link is there, and says what happened.
    fn with<T>(
        &mut self,
        act: impl FnOnce(&mut Driver<Puppet>, &mut Environment<'_, Wire, Journal, Journal>) -> T,
    ) -> (T, Vec<String>) {
        let mut environment = Environment {
            link: Some(&mut self.wire),
            store: &mut self.journal.clone(),
            observer: &mut self.journal.clone(),
        };
        let result = act(&mut self.driver, &mut environment);
        (result, self.journal.take())
    }

    fn command(&mut self, orders: &'static [u8]) -> Vec<String> {
        self.with(|driver, environment| driver.command(NOW, orders, environment))
            .1
    }
}

#[test]
fn the_durable_is_stored_before_a_frame_leaves_and_events_come_last() {
    let mut stage = Stage::new().takes(1);
    let said = stage.command(b"edA");
    assert_eq!(
        said,
        ["is commanded", "store 1", "send A", "A Accepted", "e"]
    );
}

#[test]
fn what_follows_from_an_accepted_frame_is_stored_and_sent_in_its_turn() {
    let mut stage = Stage::new().takes(2).takes(1);
    let said = stage.command(b"dXBe");
    let expected = [
        "is commanded",
        "store 1",
        "send XB",
        "X Accepted",
        "B Accepted",
        "store 2",
        "send Y",
        "Y Accepted",
        "e",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_machine_that_asks_is_told_by_when_a_frame_has_left() {
    let mut stage = Stage::new().takes(2);
    let said = stage.command(b"QAe");
    let expected = [
        "is commanded",
        "send QA",
        "Q Accepted",
        "A Accepted",
        "left within 7ms",
        "e",
    ];
    assert_eq!(said, expected);
}

#[test]
fn every_input_is_drained() {
    let mut stage = Stage::new().takes(1).takes(1).takes(1);
    let drained = ["store", "send A", "A Accepted", "e"];
    let ((), timeout) = stage.with(|driver, environment| driver.timeout(NOW, environment));
    let ((), link) =
        stage.with(|driver, environment| driver.link_changed(NOW, LinkState::Down, environment));
    let command = stage.command(b"deA");
    for said in [timeout, link, command] {
        let after_the_input = said[1..].iter().zip(drained);
        for (found, expected) in after_the_input {
            assert!(found.starts_with(expected), "{said:?}");
        }
        assert_eq!(said.len(), 1 + drained.len());
    }
}

#[test]
fn frames_that_the_link_did_not_take_are_reported_as_failed_one_by_one() {
    let refused = io::ErrorKind::OutOfMemory;
    let mut stage = Stage::new().takes(1).refuses(refused).takes(1);
    let said = stage.command(b"ABC");
    let outcomes = [
        "is commanded",
        "send ABC",
        "A Accepted",
        "send BC",
        "B Failed",
        "send C",
        "C Accepted",
    ];
    assert_eq!(said, outcomes);
}

#[test]
fn a_frame_that_is_too_long_does_not_make_those_behind_it_lost() {
    let mut stage = Stage::new().takes(1);
    stage.wire.takes.push_back(Err(Refused::TooLong));
    let mut stage = stage.takes(1);
    let said = stage.command(b"ABC");
    let outcomes = [
        "is commanded",
        "send ABC",
        "A Accepted",
        "send BC",
        "B TooLong",
        "send C",
        "C Accepted",
    ];
    assert_eq!(said, outcomes);
}

#[test]
fn frames_of_a_batch_that_the_link_refused_are_reported_as_failed() {
    let down = io::ErrorKind::NetworkDown;
    let mut stage = Stage::new().refuses(down).refuses(down);
    let said = stage.command(b"XB");
    assert_eq!(said[2..], ["X Failed", "send B", "B Failed"]);
}

#[test]
fn without_a_link_every_frame_has_failed_and_nothing_is_received() {
    let mut stage = Stage::new();
    let mut environment: Environment<'_, Wire, _, _> = Environment {
        link: None,
        store: &mut stage.journal.clone(),
        observer: &mut stage.journal.clone(),
    };
    stage.driver.command(NOW, b"dAe", &mut environment);
    let more = stage.driver.receive(NOW, &mut environment);
    assert!(!more.expect("no link, no error"));
    let said = stage.journal.take();
    assert_eq!(said, ["is commanded", "store 1", "A Failed", "e"]);
}

#[test]
fn more_frames_than_one_batch_holds_go_in_several() {
    let mut stage = Stage::new().takes(TRANSMIT_BATCH).takes(1);
    let said = stage.command(b"ABCDEFGHI");
    let sends: Vec<_> = said
        .iter()
        .filter(|line| line.starts_with("send"))
        .collect();
    assert_eq!(sends, ["send ABCDEFGH", "send I"]);
    assert_eq!(
        said.iter()
            .filter(|line| line.ends_with("Accepted"))
            .count(),
        9
    );
}

#[test]
fn each_received_frame_is_handled_and_drained_before_the_next() {
    let mut stage = Stage::new()
        .arrived(&[b"dAe", b"B", b"e"])
        .takes(1)
        .takes(1);
    let (more, said) = stage.with(|driver, environment| driver.receive(NOW, environment));
    assert!(!more.expect("received"), "there is no more");
    let expected = [
        "hears dAe of 1ns",
        "store 1",
        "send A",
        "A Accepted",
        "e",
        "hears B of 2ns",
        "send B",
        "B Accepted",
        "hears e of 3ns",
        "e",
    ];
    assert_eq!(said, expected);
}

#[test]
fn a_full_batch_says_that_there_may_be_more_and_is_one_call() {
    let frames = [b"e".as_slice(); RECEIVE_BATCH];
    let mut stage = Stage::new().arrived(&frames);
    let (more, said) = stage.with(|driver, environment| driver.receive(NOW, environment));
    assert!(more.expect("received"));
    assert_eq!(said.len(), 2 * RECEIVE_BATCH);
}

/// A turn at [`NOW`] of a machine whose time comes at `due`; frames lie in the link's queue.
fn turn(mut stage: Stage, due: u64, arrived: bool) -> Vec<String> {
    stage.driver = Driver::new(Puppet {
        journal: stage.journal.clone(),
        deadline: Some(Instant::from_nanos(due)),
        ..Puppet::default()
    });
    let (result, said) =
        stage.with(|driver, environment| driver.turn(NOW, arrived, || NOW, environment));
    result.expect("received");
    said
}

#[test]
fn what_lies_unread_is_handled_before_a_time_out_though_nobody_has_told_of_it() {
    let stage = Stage::new().arrived(&[b"e"]);
    let stage = (0..4).fold(stage, |stage, _| stage.takes(1));
    let said = turn(stage, NOW.monotonic.as_nanos(), false);
    assert_eq!(said[..3], ["hears e of 1ns", "e", "time-out"]);
}

#[test]
fn a_turn_without_a_frame_or_a_time_out_does_not_touch_the_link() {
    let said = turn(Stage::new(), NOW.monotonic.as_nanos() + 1, false);
    assert_eq!(said, [""; 0]);
}

#[test]
fn a_turn_reads_on_before_a_time_out_until_nothing_older_than_itself_is_left() {
    let full = [b"e".as_slice(); RECEIVE_BATCH];
    let batches = 6;
    let stage = (0..batches).fold(Stage::new(), |stage, _| stage.arrived(&full));
    let stage = (0..4).fold(stage.arrived(&[]), |stage, _| stage.takes(1));
    let said = turn(stage, NOW.monotonic.as_nanos(), true);
    let heard = said.iter().take_while(|line| *line != "time-out").count();
    assert_eq!(heard, batches * 2 * RECEIVE_BATCH);
}

/// A link that never runs dry.
#[derive(Debug)]
struct Spring;

impl Link for Spring {
    const QUOTA: Quota = Quota::of_messages(2, 5);

    fn receive(&mut self, now: Now, batch: &mut ReceiveBatch) -> io::Result<()> {
        batch.clear();
        while let Some(buffer) = batch.next_buffer() {
            buffer[0] = b'e';
            batch.push(1, (), now, Duration::from_nanos(1));
        }
        Ok(())
    }

    fn send(&mut self, batch: &TransmitBatch) -> Result<usize, Refused> {
        Ok(batch.len())
    }
}

#[test]
fn how_much_a_turn_handles_is_the_links_to_say() {
    let now = NOW.monotonic.as_nanos();
    for (due, expected) in [(now + 1, 2), (now, 5)] {
        let mut journal = Journal::default();
        let puppet = Puppet {
            journal: journal.clone(),
            deadline: Some(Instant::from_nanos(due)),
            ..Puppet::default()
        };
        let (received, transmit) = (ReceiveBatch::of(1, 8), TransmitBatch::of(1, 8));
        let mut driver = Driver::with_batches(puppet, received, transmit);
        let mut environment = Environment {
            link: Some(&mut Spring),
            store: &mut journal.clone(),
            observer: &mut journal,
        };
        let turn = driver.turn(NOW, true, || NOW, &mut environment);
        turn.expect("it can be received from");
        let heard = journal.take();
        let heard = heard.iter().filter(|line| line.starts_with("hears"));
        assert_eq!(heard.count(), expected);
    }
}

#[test]
fn nothing_received_is_nothing_done() {
    let mut stage = Stage::new().arrived(&[]);
    let (more, said) = stage.with(|driver, environment| driver.receive(NOW, environment));
    assert!(!more.expect("received"));
    assert_eq!(said, [""; 0]);
}

#[test]
fn an_error_of_the_link_passes_through_and_the_machine_is_untouched() {
    let mut stage = Stage::new().arrived(&[b"e"]);
    stage.with(|driver, environment| driver.receive(NOW, environment).expect("received"));
    let broken = Err(io::ErrorKind::NetworkDown.into());
    stage.wire.arrived.push_back(broken);
    let (result, said) = stage.with(|driver, environment| driver.receive(NOW, environment));
    let error = result.expect_err("the link is broken");
    assert_eq!(error.kind(), io::ErrorKind::NetworkDown);
    assert_eq!(said, [""; 0], "not even the last batch's frames again");
}

#[test]
fn the_deadline_is_the_machines() {
    let deadline = Some(Instant::from_nanos(99));
    let driver = Driver::new(Puppet {
        deadline,
        ..Puppet::default()
    });
    assert_eq!(driver.deadline(), deadline);
    assert_eq!(driver.machine().deadline, deadline);
}
