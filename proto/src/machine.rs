//! The interface between a state machine and its driver. The [crate](crate#contract) describes the contract.

use std::fmt::Debug;
use std::time::Duration;

use crate::stream::{StreamEvent, StreamId, StreamOp};
use crate::time::{Instant, Now};

/// A message to send; its bytes are at the start of the buffer that the caller passed.
#[derive(Debug)]
#[must_use = "every transmit is to be sent and reported with `handle_sent`"]
pub struct Transmit<P = ()> {
    /// Length of the message in bytes.
    pub len: usize,
    /// Receiver of the message.
    pub to: P,
    /// Ticket to hand back with the outcome.
    pub ticket: Ticket,
}

/// Ties the outcome of a send to the message. A ticket cannot be cloned, so the caller reports each outcome only once.
#[derive(Debug)]
#[must_use = "report the outcome with `handle_sent`"]
pub struct Ticket(u64);

impl Ticket {
    /// Returns the ticket of the message with the machine's number `id`.
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// Returns the machine's number for the message.
    pub const fn id(&self) -> u64 {
        self.0
    }
}

/// Outcome of sending a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    /// The link has taken the message.
    Accepted,
    /// The link has refused the message, for example because its queue is full or the link is down.
    Failed,
    /// The message is longer than the link can carry. Sending it again fails too.
    TooLong,
}

/// Outcome of storing a durable value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreOutcome {
    /// The value is stored.
    Done,
    /// The value is not stored, for example because the disk is full.
    Failed,
}

/// A machine's request about its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobRequest<J> {
    /// Runs this job after the jobs that were started before it. Its outcome is a command.
    Start(J),
    /// Cancels the running job and all waiting jobs. Each job still has an outcome: its result if it has finished,
    /// otherwise that it was cancelled.
    Cancel,
}

/// A protocol's state machine. The [crate's contract](crate#contract) says in which order to call its functions.
pub trait Machine {
    /// Sender or receiver of messages, as the link names it; `()` if each message names its sender.
    type Peer: Copy + Debug;
    /// State of the network.
    type Net;
    /// Request of an application or an operator.
    type Command;
    /// Event for observers.
    type Event;
    /// Value that must survive a restart.
    type Durable;
    /// Work for which the event loop must not wait, such as a program or a query.
    /// [`Infallible`](std::convert::Infallible) if the machine has none.
    type Job;

    /// Whether the machine needs to know that its process was stalled. If so, the caller calls
    /// [`handle_lateness`](Self::handle_lateness).
    fn has_lateness_handler(&self) -> bool {
        false
    }

    /// Takes the present time before messages and timeouts are handled. Messages and timeouts have the times at which
    /// they were due, which may be earlier.
    fn handle_lateness(&mut self, _now: Now) {}

    /// Whether the caller may poll after several messages instead of after each one. Then one call to the kernel sends
    /// all output, and [`handle_sent`](Self::handle_sent) follows the last message.
    fn can_batch_output(&self) -> bool {
        false
    }

    /// Handles a message that arrived `age` ago.
    fn handle_message(&mut self, now: Now, from: Self::Peer, message: &[u8], age: Duration);
    /// Handles a request of an application or an operator.
    fn handle_command(&mut self, now: Now, command: Self::Command);
    /// Handles a change of the network.
    fn handle_link(&mut self, now: Now, net: Self::Net);
    /// Handles the timeout that [`poll_timeout`](Self::poll_timeout) returned.
    fn handle_timeout(&mut self, now: Now);
    /// Takes the outcome of sending the message of `ticket`.
    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: SendOutcome);

    /// Whether the machine needs to know when its last messages left the process. If so, the caller reads the clock
    /// after sending and calls [`handle_flushed`](Self::handle_flushed).
    fn wants_flush_report(&self) -> bool {
        false
    }
    /// Takes a time by which all accepted messages had left. It is later than expected if the kernel preempted the
    /// process between reading and answering.
    fn handle_flushed(&mut self, _by: Now) {}

    /// Handles an event of a connection. Returns how many of the received bytes the machine has consumed. The caller
    /// passes the others again with later bytes, or after [`StreamOp::Read`].
    fn handle_stream(
        &mut self,
        _now: Now,
        _id: StreamId,
        _event: StreamEvent<'_, Self::Peer>,
    ) -> usize {
        0
    }

    /// Takes the outcome of storing the value that [`poll_durable`](Self::poll_durable) returned.
    fn handle_stored(&mut self, now: Now, stored: StoreOutcome);

    /// Returns the value to store before the next message leaves.
    fn poll_durable(&mut self) -> Option<Self::Durable>;
    /// Encodes the next message into `buf`, which holds at least the protocol's longest message.
    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<Self::Peer>>;
    /// Returns the next operation on a connection. `vacant` is the id of the next connection to open, or `None` if no
    /// more can be open.
    fn poll_stream(&mut self, _vacant: Option<StreamId>) -> Option<StreamOp<Self::Peer>> {
        None
    }
    /// Writes the next bytes of a connection into `room` and returns their number. 0 means that there are none until
    /// the next [`StreamOp::Write`].
    fn poll_write(&mut self, _id: StreamId, _room: &mut [u8]) -> usize {
        0
    }
    /// Returns the next job to start or cancel.
    fn poll_job(&mut self) -> Option<JobRequest<Self::Job>> {
        None
    }
    /// Returns the next event for observers.
    fn poll_event(&mut self) -> Option<Self::Event>;
    /// Returns when to call [`handle_timeout`](Self::handle_timeout), or `None` if never.
    fn poll_timeout(&self) -> Option<Instant>;
}

#[cfg(test)]
mod tests {
    use super::Machine;

    type Any = dyn Machine<Peer = (), Net = (), Command = (), Event = (), Durable = (), Job = ()>;

    #[test]
    fn machines_of_several_types_fit_one_list() {
        // The model checker explores broken machines together with the shipped one.
        let machines: Vec<Box<Any>> = Vec::new();
        assert!(machines.is_empty());
    }
}
