//! What every machine is to its driver. The contract is the crate's.

use std::fmt::Debug;
use std::time::Duration;

use crate::stream::{StreamEvent, StreamId, StreamOp};
use crate::time::{Instant, Now};

/// A message that a machine wants sent; it stands at the start of the buffer that was lent.
#[derive(Debug)]
#[must_use = "every transmit is to be sent and reported with `handle_sent`"]
pub struct Transmit<P = ()> {
    /// The message's length in bytes.
    pub len: usize,
    /// Whom it is for.
    pub to: P,
    /// To be handed back with the outcome.
    pub ticket: Ticket,
}

/// Ties the outcome of a send to the message: it cannot be cloned, so an outcome is reported once.
#[derive(Debug)]
#[must_use = "report the outcome with `handle_sent`"]
pub struct Ticket(u64);

impl Ticket {
    /// The ticket of the message that its machine knows as `id`.
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// What the machine knows the message as.
    pub const fn id(&self) -> u64 {
        self.0
    }
}

/// Whether a message was accepted for sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The link took it.
    Accepted,
    /// The link refused it (queue full, link down, …); it was not sent.
    Failed,
    /// It is longer than the link carries, and will be the next time; it was not sent.
    TooLong,
}

/// Whether what must survive a restart was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// It was.
    Done,
    /// It was not (disk full, …).
    Failed,
}

/// What a machine wants of who does its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobOp<J> {
    /// Do this job, after those that were started before it. Its outcome is a command.
    Start(J),
    /// End the job in hand, and have those that wait end as soon as they begin. Each still has its outcome:
    /// the one that it has come to meanwhile, or that it was cancelled.
    Cancel,
}

/// A protocol's state machine. See the [crate's contract](crate#contract).
pub trait Machine {
    /// Whom messages are from and for, as the link knows them; `()` where each says so itself.
    type Peer: Copy + Debug;
    /// What it is told of the network below it.
    type Net;
    /// What an application or an operator asks of it.
    type Command;
    /// What it tells its observers.
    type Event;
    /// What must survive a restart.
    type Durable;
    /// Work for which the loop must not wait: a program, a query. [`Infallible`](std::convert::Infallible)
    /// where there is none.
    type Job;

    /// Whether it matters to the machine that its process may have stood still since the clock was read:
    /// [`handle_lateness`](Self::handle_lateness) is called then.
    fn heeds_lateness(&self) -> bool {
        false
    }

    /// It is this late, before what has come is handled, and before a time-out is. Messages and time-outs keep the
    /// times at which they were due, which may be earlier.
    fn handle_lateness(&mut self, _now: Now) {}

    /// Whether it may be drained after several messages in a row, in place of after each: what they make it send then
    /// leaves in one call to the kernel, and [`handle_sent`](Self::handle_sent) comes after the last of them.
    fn gathers(&self) -> bool {
        false
    }

    /// A message came in, `age` ago.
    fn handle_message(&mut self, now: Now, from: Self::Peer, message: &[u8], age: Duration);
    /// An application or the operator wants something.
    fn handle_command(&mut self, now: Now, command: Self::Command);
    /// The network has changed.
    fn handle_link(&mut self, now: Now, net: Self::Net);
    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, now: Now);
    /// The outcome of sending the message that `ticket` came with.
    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: Sent);

    /// Whether it matters by when the messages that were sent last have left: [`handle_left`](Self::handle_left) says
    /// so then. Nobody reads a clock for a machine that does not ask.
    fn asks_when_left(&self) -> bool {
        false
    }
    /// What was accepted for sending had left by `by`. A process that the kernel takes off its processor between
    /// reading and answering learns of it here.
    fn handle_left(&mut self, _by: Now) {}

    /// Something has happened to a connection. Returns how many of the bytes received are done with; the
    /// others are told of again with those that come after them, or when they are asked for.
    fn handle_stream(
        &mut self,
        _now: Now,
        _id: StreamId,
        _event: StreamEvent<'_, Self::Peer>,
    ) -> usize {
        0
    }

    /// The outcome of storing what [`poll_durable`](Self::poll_durable) has returned.
    fn handle_stored(&mut self, now: Now, stored: Stored);

    /// What is to be stored before the next message leaves.
    fn poll_durable(&mut self) -> Option<Self::Durable>;
    /// Encodes the next message to send into `buf`, which holds at least the protocol's longest.
    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<Self::Peer>>;
    /// What is to be done with connections next. `vacant` is the id of the next that is opened; `None`: as
    /// many are open as can be.
    fn poll_stream(&mut self, _vacant: Option<StreamId>) -> Option<StreamOp<Self::Peer>> {
        None
    }
    /// Writes into `room` what is to be sent next on a connection, and returns how many bytes; 0: nothing
    /// for now, until [`StreamOp::Write`] says so again.
    fn poll_write(&mut self, _id: StreamId, _room: &mut [u8]) -> usize {
        0
    }
    /// The next thing to be done off the loop, or to be left.
    fn poll_job(&mut self) -> Option<JobOp<Self::Job>> {
        None
    }
    /// The next event for observers.
    fn poll_event(&mut self) -> Option<Self::Event>;
    /// When [`handle_timeout`](Self::handle_timeout) is to be called; `None`: never.
    fn poll_timeout(&self) -> Option<Instant>;
}

#[cfg(test)]
mod tests {
    use super::Machine;

    type Any = dyn Machine<Peer = (), Net = (), Command = (), Event = (), Durable = (), Job = ()>;

    #[test]
    fn machines_of_several_types_can_be_had_in_one_place() {
        // The model checker explores broken machines beside the one that ships.
        let machines: Vec<Box<Any>> = Vec::new();
        assert!(machines.is_empty());
    }
}
