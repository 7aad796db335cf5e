//! Repeats a recording of a daemon, and compares the outputs of the state machine with the recorded outputs.
//!
//! The recording contains every call of the state machine. So the inputs are repeated without a driver, in the recorded
//! order.

use std::fmt;
use std::time::Duration;

use ring_codec::lab2::FRAME_LEN_MAX;
use ring_proto::lab2::{Command, Event, Inspect, StoredState};
use ring_proto::time::Instant;
use ring_proto::{LinkState, Ticket, Transmit};
use ring_recording::{ReadError, Record, RecordingFile};
use ring_text::hex;
use serde::de::DeserializeOwned;

use crate::kernel::run::catch_panic;
use crate::lab2::line;

/// The name of the protocol in recordings.
const SYSTEM: &str = "lab2";

type Lab2Record = Record<Command, LinkState, Event, StoredState>;

/// The result of a repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repetition {
    /// All outputs are the same.
    Same {
        /// The number of inputs.
        inputs: usize,
        /// The number of outputs.
        outputs: usize,
    },
    /// The first difference.
    Different(Difference),
}

/// The first difference between the recorded outputs and the outputs of the state machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The number of the last input before the difference, counted from 1.
    pub input: usize,
    /// The last input before the difference.
    pub cause: String,
    /// The time since the first input.
    pub at: Duration,
    /// The recorded output.
    pub expected: String,
    /// The output of the state machine.
    pub got: String,
}

impl fmt::Display for Repetition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same { inputs, outputs } => {
                write!(f, "the same: {inputs} inputs, {outputs} outputs")
            }
            Self::Different(difference) => write!(
                f,
                "different after input {}, at {:?}: {}\n  expected: {}\n  got:      {}",
                difference.input,
                difference.at,
                difference.cause,
                difference.expected,
                difference.got
            ),
        }
    }
}

/// Reads the file of a recording.
///
/// # Errors
/// Fails if the file is not a recording of the state machine `M`.
pub fn read<M>(file: &[u8]) -> Result<RecordingFile<M>, ReadError>
where
    M: Inspect + DeserializeOwned,
{
    ring_recording::read(file, SYSTEM)
}

/// Repeats a recording with its own copy of the state machine. Stops at the first difference.
pub fn repeat<M: Inspect + Clone>(recording: &RecordingFile<M>) -> Repetition {
    let mut player = Player {
        machine: recording.start.clone(),
        buffer: vec![0; FRAME_LEN_MAX],
        inputs: 0,
        outputs: 0,
        cause: String::from("no input"),
        first: None,
        now: Instant::default(),
    };
    for (record, frame) in recording.records() {
        let played = catch_panic(|| player.play(record, frame)).unwrap_or_else(|text| {
            Err(Mismatch {
                expected: String::from("no panic"),
                got: format!("a panic: {text}"),
            })
        });
        if let Err(mismatch) = played {
            return Repetition::Different(player.difference(mismatch));
        }
    }
    Repetition::Same {
        inputs: player.inputs,
        outputs: player.outputs,
    }
}

/// A recorded output and a different output of the state machine.
struct Mismatch {
    expected: String,
    got: String,
}

struct Player<M> {
    machine: M,
    /// The buffer for the frames of the state machine.
    buffer: Vec<u8>,
    inputs: usize,
    outputs: usize,
    /// The last input.
    cause: String,
    first: Option<Instant>,
    /// The time of the last input.
    now: Instant,
}

impl<M: Inspect> Player<M> {
    fn play(&mut self, record: &Lab2Record, frame: &[u8]) -> Result<(), Mismatch> {
        let Some(now) = record.time() else {
            self.outputs += 1;
            return self.compare(record, frame);
        };
        let is_report = matches!(
            record,
            Record::Sent { .. } | Record::Flushed { .. } | Record::Stored { .. }
        );
        if !is_report && let Some(got) = self.next_output() {
            let expected = format!("no output before: {}", describe(record, frame));
            return Err(Mismatch { expected, got });
        }
        self.inputs += 1;
        self.cause = describe(record, frame);
        self.now = now.monotonic;
        self.first.get_or_insert(now.monotonic);
        self.handle(record, frame);
        Ok(())
    }

    fn handle(&mut self, input: &Lab2Record, frame: &[u8]) {
        let machine = &mut self.machine;
        match *input {
            Record::Received { now, age, .. } => machine.handle_message(now, (), frame, age),
            Record::Command { now, ref command } => machine.handle_command(now, command.clone()),
            Record::Link { now, net } => machine.handle_link(now, net),
            Record::Timeout { now } => machine.handle_timeout(now),
            Record::Sent {
                now,
                ticket,
                outcome,
            } => machine.handle_sent(now, Ticket::new(ticket), outcome),
            Record::Flushed { by } => machine.handle_flushed(by),
            Record::Stored { now, outcome } => machine.handle_stored(now, outcome),
            Record::Durable(_) | Record::Frame { .. } | Record::Event(_) | Record::Deadline(_) => {}
        }
    }

    /// Compares the next output of the state machine with the recorded output.
    fn compare(&mut self, expected: &Lab2Record, frame: &[u8]) -> Result<(), Mismatch> {
        let got = match expected {
            Record::Deadline(_) => {
                let output = self.next_output();
                let deadline = || describe(&Record::Deadline(self.machine.poll_timeout()), &[]);
                output.unwrap_or_else(deadline)
            }
            _ => self.next_output().unwrap_or_else(|| "no output".to_owned()),
        };
        let expected = describe(expected, frame);
        if expected == got {
            return Ok(());
        }
        Err(Mismatch { expected, got })
    }

    /// Polls the state machine in the order of its contract. Returns the description of its next output; `None` if
    /// there is no output.
    fn next_output(&mut self) -> Option<String> {
        if let Some(durable) = self.machine.poll_durable() {
            return Some(describe(&Record::Durable(durable), &[]));
        }
        if let Some(Transmit { len, ticket, .. }) = self.machine.poll_transmit(&mut self.buffer) {
            let frame = &self.buffer[..len];
            let record = Record::Frame {
                ticket: ticket.id(),
                len: u32::try_from(len).unwrap_or(u32::MAX),
            };
            return Some(describe(&record, frame));
        }
        let event = self.machine.poll_event()?;
        Some(describe(&Record::Event(event), &[]))
    }

    fn difference(&self, Mismatch { expected, got }: Mismatch) -> Difference {
        Difference {
            input: self.inputs,
            cause: self.cause.clone(),
            at: self.now.since(self.first.unwrap_or(self.now)),
            expected,
            got,
        }
    }
}

/// Returns the complete text of a record. Equal records have equal texts.
fn describe(record: &Lab2Record, frame: &[u8]) -> String {
    match record {
        Record::Received { age, .. } => {
            format!("received, {age:?} ago: {}", frame_text(frame))
        }
        Record::Frame { ticket, .. } => format!("frame {ticket}: {}", frame_text(frame)),
        Record::Command { command, .. } => format!("command {command:?}"),
        Record::Link { net, .. } => format!("link {net:?}"),
        Record::Timeout { .. } => "timeout".to_owned(),
        Record::Sent {
            ticket, outcome, ..
        } => format!("frame {ticket} sent: {outcome:?}"),
        Record::Flushed { .. } => "frames flushed".to_owned(),
        Record::Stored { outcome, .. } => format!("stored: {outcome:?}"),
        Record::Durable(durable) => format!("store {durable:?}"),
        Record::Event(event) => format!("event {event:?}"),
        Record::Deadline(None) => "no timeout is set".to_owned(),
        Record::Deadline(Some(at)) => format!("next timeout at {} ns", at.as_nanos()),
    }
}

/// Returns the decoded frame. A decoded frame omits some fields, so its bytes follow.
fn frame_text(frame: &[u8]) -> String {
    format!("{}\n            {}", line(frame), hex::encode(frame))
}
