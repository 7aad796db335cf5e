//! A state machine that is recorded.

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;
use std::thread;
use std::time::Duration;

use ring_proto::time::{Instant, Now};
use ring_proto::{JobRequest, Machine, SendOutcome, StoreOutcome, Ticket, Transmit};

use super::buffer::{Buffers, Recording};
use super::record::{Record, RecordOf};

type OnPanic<M> = Box<dyn FnOnce(Recording<M>)>;

/// A state machine whose inputs and outputs are recorded. It behaves as the state machine that it contains.
pub struct Recorded<M: Machine + Clone> {
    machine: M,
    /// A cell is necessary, because the caller takes a recording through a shared reference to the state machine.
    buffers: RefCell<Buffers<M>>,
    /// The last recorded deadline.
    deadline: Option<Instant>,
    on_panic: Option<OnPanic<M>>,
}

impl<M: Machine + Clone> Recorded<M> {
    /// Begins to record a state machine.
    pub fn new(machine: M) -> Self {
        Self {
            buffers: RefCell::new(Buffers::new(machine.clone())),
            machine,
            deadline: None,
            on_panic: None,
        }
    }

    /// Sets a function that gets the recording if the thread panics.
    pub fn with_panic_handler(mut self, handler: impl FnOnce(Recording<M>) + 'static) -> Self {
        self.on_panic = Some(Box::new(handler));
        self
    }

    /// Takes the recording of the last inputs and outputs, and begins a new recording. Returns `None` if there was no
    /// input after the last call.
    pub fn take_recording(&self) -> Option<Recording<M>> {
        self.buffers.borrow_mut().take(&self.machine)
    }

    /// Marks the end of an iteration of the caller's loop. At this time, the state machine must have no pending output.
    /// Only this method copies the state machine and frees old records. So this work delays no input.
    pub fn end_iteration(&self) {
        self.buffers.borrow_mut().end_iteration(&self.machine);
    }
}

impl<M> Recorded<M>
where
    M: Machine<Command: Clone, Net: Clone, Event: Clone, Durable: Clone> + Clone,
{
    fn add(&mut self, record: RecordOf<M>) {
        self.buffers.get_mut().add(record, &[]);
    }

    /// Records an input that is not the result of an earlier output.
    fn add_input(&mut self, record: RecordOf<M>, frame: &[u8]) {
        let deadline = self.machine.poll_timeout();
        if self.deadline != deadline {
            self.deadline = deadline;
            self.add(Record::Deadline(deadline));
        }
        self.buffers.get_mut().add(record, frame);
    }
}

fn len(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

impl<M> Machine for Recorded<M>
where
    M: Machine<Peer = (), Command: Clone, Net: Clone, Event: Clone, Durable: Clone> + Clone,
{
    type Peer = ();
    type Net = M::Net;
    type Command = M::Command;
    type Event = M::Event;
    type Durable = M::Durable;
    type Job = M::Job;

    fn handle_message(&mut self, now: Now, (): (), message: &[u8], age: Duration) {
        let len = len(message);
        self.add_input(Record::Received { now, age, len }, message);
        self.machine.handle_message(now, (), message, age);
    }

    fn handle_command(&mut self, now: Now, command: M::Command) {
        let record = Record::Command {
            now,
            command: command.clone(),
        };
        self.add_input(record, &[]);
        self.machine.handle_command(now, command);
    }

    fn handle_link(&mut self, now: Now, net: M::Net) {
        self.add_input(
            Record::Link {
                now,
                net: net.clone(),
            },
            &[],
        );
        self.machine.handle_link(now, net);
    }

    fn handle_timeout(&mut self, now: Now) {
        self.add_input(Record::Timeout { now }, &[]);
        self.machine.handle_timeout(now);
    }

    fn handle_sent(&mut self, now: Now, ticket: Ticket, outcome: SendOutcome) {
        self.add(Record::Sent {
            now,
            ticket: ticket.id(),
            outcome,
        });
        self.machine.handle_sent(now, ticket, outcome);
    }

    fn wants_flush_report(&self) -> bool {
        self.machine.wants_flush_report()
    }

    fn handle_flushed(&mut self, by: Now) {
        self.add(Record::Flushed { by });
        self.machine.handle_flushed(by);
    }

    fn handle_stored(&mut self, now: Now, outcome: StoreOutcome) {
        self.add(Record::Stored { now, outcome });
        self.machine.handle_stored(now, outcome);
    }

    fn poll_durable(&mut self) -> Option<M::Durable> {
        let durable = self.machine.poll_durable()?;
        self.add(Record::Durable(durable.clone()));
        Some(durable)
    }

    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit> {
        let transmit = self.machine.poll_transmit(buf)?;
        let frame = &buf[..transmit.len];
        let record = Record::Frame {
            ticket: transmit.ticket.id(),
            len: len(frame),
        };
        self.buffers.get_mut().add(record, frame);
        Some(transmit)
    }

    fn poll_job(&mut self) -> Option<JobRequest<M::Job>> {
        self.machine.poll_job()
    }

    fn poll_event(&mut self) -> Option<M::Event> {
        let event = self.machine.poll_event()?;
        self.add(Record::Event(event.clone()));
        Some(event)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.machine.poll_timeout()
    }
}

impl<M: Machine + Clone> Deref for Recorded<M> {
    type Target = M;

    fn deref(&self) -> &M {
        &self.machine
    }
}

impl<M: Machine + Clone + fmt::Debug> fmt::Debug for Recorded<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.machine.fmt(f)
    }
}

impl<M: Machine + Clone> Drop for Recorded<M> {
    fn drop(&mut self) {
        if thread::panicking()
            && let Some(handler) = self.on_panic.take()
            && let Some(recording) = self.buffers.get_mut().take(&self.machine)
        {
            handler(recording);
        }
    }
}
