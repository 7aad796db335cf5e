//! Tests of the recorder with a small state machine.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, Machine, SendOutcome, StoreOutcome, Ticket, Transmit};
use ring_recording::{
    About, Missing, ReadError, Record, RecordOf, Recorded, Recording, read, write,
};
use serde::{Deserialize, Serialize};

/// The command that makes the state machine panic.
const PANIC: u64 = u64::MAX;
/// The length of a frame of the state machine.
const FRAME_LEN: usize = 100;

/// A state machine that answers each command with a durable value, frames and an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counter {
    sum: u64,
    durable: Option<u64>,
    frames: u64,
    events: u64,
}

impl Machine for Counter {
    type Peer = ();
    type Net = LinkState;
    type Command = u64;
    type Event = String;
    type Durable = u64;
    type Job = ();

    fn handle_message(&mut self, _: Now, (): (), message: &[u8], _: Duration) {
        self.sum += message.len() as u64;
        self.events += 1;
    }

    fn handle_command(&mut self, _: Now, command: u64) {
        assert_ne!(command, PANIC, "a bug");
        self.sum += 1;
        self.durable = Some(self.sum);
        self.frames = command;
        self.events += 1;
    }

    fn handle_link(&mut self, _: Now, _: LinkState) {}

    fn handle_timeout(&mut self, _: Now) {}

    fn handle_sent(&mut self, _: Now, _: Ticket, _: SendOutcome) {}

    fn handle_stored(&mut self, _: Now, _: StoreOutcome) {}

    fn poll_durable(&mut self) -> Option<u64> {
        self.durable.take()
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        self.frames = self.frames.checked_sub(1)?;
        buf[..FRAME_LEN].fill(u8::try_from(self.sum % 256).expect("a byte"));
        Some(Transmit {
            len: FRAME_LEN,
            to: (),
            ticket: Ticket::new(self.frames),
        })
    }

    fn poll_event(&mut self) -> Option<String> {
        self.events = self.events.checked_sub(1)?;
        Some(format!("sum {}", self.sum))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(Instant::from_nanos(self.sum / 10))
    }
}

fn at(nanos: u64) -> Now {
    Now {
        monotonic: Instant::from_nanos(nanos),
        wall: 1_700_000_000_000_000_000 + nanos,
    }
}

/// Gives the state machine a command, and takes all outputs as a driver does.
fn command(machine: &mut Recorded<Counter>, now: Now, command: u64) {
    machine.handle_command(now, command);
    drain(machine, now);
}

fn drain(machine: &mut Recorded<Counter>, now: Now) {
    drain_outputs(machine, now);
    machine.end_iteration();
}

fn drain_outputs(machine: &mut Recorded<Counter>, now: Now) {
    while machine.poll_durable().is_some() {
        machine.handle_stored(now, StoreOutcome::Done);
    }
    let mut buffer = [0; FRAME_LEN];
    while let Some(transmit) = machine.poll_transmit(&mut buffer) {
        machine.handle_sent(now, transmit.ticket, SendOutcome::Accepted);
    }
    while machine.poll_event().is_some() {}
}

type CounterRecord = RecordOf<Counter>;

fn records(recording: &Recording<Counter>) -> Vec<(CounterRecord, Vec<u8>)> {
    let records = recording.records();
    records
        .map(|(record, frame)| (record.clone(), frame.to_vec()))
        .collect()
}

#[test]
fn each_input_and_output_is_recorded_in_order() {
    let mut machine = Recorded::new(Counter::default());
    let now = at(1);
    machine.handle_message(now, (), b"frame", Duration::from_nanos(7));
    drain(&mut machine, now);
    command(&mut machine, at(2), 1);
    machine.handle_timeout(at(3));
    let recording = machine.take_recording().expect("a recording");
    assert_eq!(*recording.start(), Counter::default());
    let expected: Vec<(CounterRecord, Vec<u8>)> = vec![
        (Record::Deadline(Some(Instant::from_nanos(0))), vec![]),
        (
            Record::Received {
                now,
                age: Duration::from_nanos(7),
                len: 5,
            },
            b"frame".to_vec(),
        ),
        (Record::Event("sum 5".to_owned()), vec![]),
        (
            Record::Command {
                now: at(2),
                command: 1,
            },
            vec![],
        ),
        (Record::Durable(6), vec![]),
        (
            Record::Stored {
                now: at(2),
                outcome: StoreOutcome::Done,
            },
            vec![],
        ),
        (
            Record::Frame {
                ticket: 0,
                len: 100,
            },
            vec![6; FRAME_LEN],
        ),
        (
            Record::Sent {
                now: at(2),
                ticket: 0,
                outcome: SendOutcome::Accepted,
            },
            vec![],
        ),
        (Record::Event("sum 6".to_owned()), vec![]),
        (Record::Timeout { now: at(3) }, vec![]),
    ];
    assert_eq!(records(&recording), expected);
    assert!(machine.take_recording().is_none(), "nothing happened since");
}

/// Checks that a replay of the records from the start leads to the present state.
fn check_complete(recording: &Recording<Counter>, machine: &Counter) -> usize {
    let mut sum = recording.start().sum;
    let records = records(recording);
    for (record, _) in &records {
        if let Record::Command { .. } = record {
            sum += 1;
        }
    }
    assert_eq!(sum, machine.sum, "a record is missing");
    records.len()
}

#[test]
fn a_long_run_keeps_its_last_records_in_bounded_memory() {
    const COMMANDS: u64 = 100_000;
    let mut machine = Recorded::new(Counter::default());
    for number in 0..COMMANDS {
        command(&mut machine, at(number), 1);
    }
    let recording = machine.take_recording().expect("a recording");
    assert!(recording.start().sum > 0, "older records are dropped");
    let records = check_complete(&recording, &machine);
    assert!((7_000..=2 * 8_192).contains(&records), "{records} records");
    let frames: usize = recording.records().map(|(_, frame)| frame.len()).sum();
    assert!((100_000..=1 << 20).contains(&frames), "{frames} bytes");
}

#[test]
fn an_iteration_with_more_records_than_the_memory_holds_begins_a_new_recording() {
    let mut machine = Recorded::new(Counter::default());
    for number in 0..10 {
        command(&mut machine, at(number), 1);
    }
    command(&mut machine, at(10), 30_000);
    command(&mut machine, at(11), 1);
    let recording = machine.take_recording().expect("a recording");
    assert_eq!(recording.start().sum, 11);
    check_complete(&recording, &machine);
    let Missing { before, after } = recording.missing();
    assert!(before > 10_000 && after == 0, "{before} {after}");
    command(&mut machine, at(12), 1);
    let recording = machine.take_recording().expect("a recording");
    assert!(!recording.missing().is_any());
}

#[test]
fn the_recording_of_an_iteration_with_too_many_records_ends_early() {
    let mut machine = Recorded::new(Counter::default());
    command(&mut machine, at(1), 1);
    machine.handle_command(at(2), 30_000);
    drain_outputs(&mut machine, at(2));
    let recording = machine.take_recording().expect("a recording");
    assert_eq!(*recording.start(), Counter::default());
    let Missing { before, after } = recording.missing();
    assert!(before == 0 && after > 10_000, "{before} {after}");
    let mut file = Vec::new();
    write(&mut file, &about(), &recording, |_| None).expect("written");
    let missing = read::<Counter>(&file, "counter")
        .expect("a recording")
        .missing;
    assert_eq!(missing, recording.missing());
    let text = String::from_utf8_lossy(&file).into_owned();
    assert!(text.contains(&missing.to_string()), "no comment");
}

#[test]
fn the_state_machine_is_copied_only_at_the_end_of_an_iteration() {
    let mut machine = Recorded::new(Counter::default());
    let step = |machine: &mut Recorded<Counter>, number| {
        machine.handle_timeout(at(number));
        machine.handle_command(at(number), 0);
        drain_outputs(machine, at(number));
    };
    // The first buffer is full, and the second one becomes full within one iteration. If the machine were copied at
    // this time, the first buffer would be lost.
    for number in 0..1_700 {
        step(&mut machine, number);
        machine.end_iteration();
    }
    for number in 1_700..3_700 {
        step(&mut machine, number);
    }
    let recording = machine.take_recording().expect("a recording");
    assert_eq!(*recording.start(), Counter::default());
    assert!(!recording.missing().is_any());
    check_complete(&recording, &machine);
}

#[test]
fn a_panic_hands_over_the_recording_with_its_input() {
    let found = Rc::new(RefCell::new(None));
    let place = Rc::clone(&found);
    let mut machine = Recorded::new(Counter::default())
        .with_panic_handler(move |recording| *place.borrow_mut() = Some(records(&recording)));
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        command(&mut machine, at(1), 0);
        command(&mut machine, at(2), PANIC);
    }));
    assert!(panicked.is_err());
    let records = found.take().expect("the handler was called");
    let (last, _) = records.last().expect("a record");
    assert_eq!(
        *last,
        Record::Command {
            now: at(2),
            command: PANIC,
        }
    );
}

#[test]
fn the_end_of_a_state_machine_without_a_panic_hands_over_nothing() {
    let mut machine = Recorded::new(Counter::default())
        .with_panic_handler(|_| unreachable!("there was no panic"));
    command(&mut machine, at(1), 1);
}

fn about() -> About {
    About {
        system: "counter".to_owned(),
        version: "1.2.3".to_owned(),
        ring: "eth0".to_owned(),
        reason: "a test".to_owned(),
    }
}

fn file() -> (Vec<u8>, Vec<(CounterRecord, Vec<u8>)>) {
    let mut machine = Recorded::new(Counter::default());
    for number in 0..20 {
        let now = at(number);
        machine.handle_message(now, (), &[7; 61], Duration::ZERO);
        drain(&mut machine, now);
        command(&mut machine, now, number % 3);
    }
    let recording = machine.take_recording().expect("a recording");
    let mut file = Vec::new();
    write(&mut file, &about(), &recording, |event| Some(event.clone())).expect("written");
    (file, records(&recording))
}

#[test]
fn a_file_is_read_as_it_was_written() {
    let (file, written) = file();
    let found = read::<Counter>(&file, "counter").expect("a recording");
    assert_eq!(found.about, about());
    assert_eq!(found.start, Counter::default());
    let records: Vec<_> = found
        .records()
        .map(|(record, frame)| (record.clone(), frame.to_vec()))
        .collect();
    assert_eq!(records, written);
}

#[test]
fn other_files_are_refused_with_a_reason() {
    let (file, _) = file();
    let reason = |file: &[u8], system| read::<Counter>(file, system).map(drop).unwrap_err();
    assert!(matches!(reason(&file, "other"), ReadError::System(found) if found == "counter"));
    assert!(matches!(reason(b"text", "counter"), ReadError::Capture(_)));
    assert!(matches!(
        reason(&file[..file.len() - 5], "counter"),
        ReadError::Capture(_)
    ));
    let place = file
        .windows(9)
        .position(|part| part == b"\"frames\":")
        .expect("a field");
    let mut newer = file.clone();
    newer[place + 1] = b'F';
    let error = reason(&newer, "counter");
    assert!(matches!(error, ReadError::Version { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("1.2.3") && text.contains("same build"),
        "{text}"
    );
}
