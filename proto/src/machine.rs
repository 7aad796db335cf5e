//! The interface between a state machine and its driver. The [documentation of the crate](crate#contract) describes the
//! contract.

use std::fmt::Debug;
use std::time::Duration;

use crate::stream::{StreamEvent, StreamId, StreamOp};
use crate::time::{Instant, Now};

/// A message to send. The bytes of the message are at the start of the buffer that the caller has passed to
/// `poll_transmit`.
#[derive(Debug)]
#[must_use = "every transmit is to be sent and reported with `handle_sent`"]
pub struct Transmit<P = ()> {
    /// Length of the message in bytes.
    pub len: usize,
    /// Receiver of the message.
    pub to: P,
    /// The ticket with which the caller reports the outcome.
    pub ticket: Ticket,
}

/// Identifies a sent message when the caller reports its outcome. A ticket cannot be cloned, so the caller reports each
/// outcome only once.
#[derive(Debug)]
#[must_use = "report the outcome with `handle_sent`"]
pub struct Ticket(u64);

impl Ticket {
    /// Returns the ticket of the message with the machine's number `id`.
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// Returns the machine's number of the message.
    pub const fn id(&self) -> u64 {
        self.0
    }
}

/// The outcome of sending a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum SendOutcome {
    /// The link took the message.
    Accepted,
    /// The link refused the message, for example because its queue is full or the link is down.
    Failed,
    /// The message is longer than the link can carry. A second attempt to send the same message would also fail.
    TooLong,
}

/// The outcome of storing a durable value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum StoreOutcome {
    /// The value is stored.
    Done,
    /// The value is not stored, for example because the disk is full.
    Failed,
}

/// A machine's request about its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobRequest<J> {
    /// Runs this job after the jobs that were requested earlier. The caller reports the outcome as a command.
    Start(J),
    /// Cancels the running job and all waiting jobs. The caller still reports an outcome for each job. If the job ended
    /// by itself, the outcome is its result. Otherwise, the outcome states that the job was cancelled.
    Cancel,
}

/// The state machine of a protocol. The [contract](crate#contract) describes the order in which to call the functions.
pub trait Machine {
    /// Address of a sender or receiver on the link. If each message names its sender, this type is `()`.
    type Peer: Copy + Debug;
    /// State of the network.
    type Net;
    /// Request of an application or an operator.
    type Command;
    /// Event for observers.
    type Event;
    /// Value that must survive a restart.
    type Durable;
    /// Work for which the event loop must not wait, such as running a program or a query. Machines without such work
    /// use [`Infallible`](std::convert::Infallible).
    type Job;

    /// Whether the machine needs to know that its process was stalled. For such a machine, the caller calls
    /// [`handle_lateness`](Self::handle_lateness).
    fn has_lateness_handler(&self) -> bool {
        false
    }

    /// Takes the present time before the caller passes messages and timeouts to the machine. The calls for messages and
    /// timeouts may then contain earlier times: the times at which the messages and timeouts were due.
    fn handle_lateness(&mut self, _now: Now) {}

    /// Whether the caller may poll after several messages instead of after each message. With such a machine, one
    /// system call sends all output, and the caller calls [`handle_sent`](Self::handle_sent) only after the last
    /// message.
    fn can_batch_output(&self) -> bool {
        false
    }

    /// Handles a message that arrived `age` ago.
    fn handle_message(&mut self, now: Now, from: Self::Peer, message: &[u8], age: Duration);
    /// Handles a request of an application or an operator.
    fn handle_command(&mut self, now: Now, command: Self::Command);
    /// Handles a change of the network.
    fn handle_link(&mut self, now: Now, net: Self::Net);
    /// Handles the timeout at the time from [`poll_timeout`](Self::poll_timeout).
    fn handle_timeout(&mut self, now: Now);
    /// Handles the outcome of sending the message of this `ticket`.
    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: SendOutcome);

    /// Whether the machine needs to know when its last messages have left the process. For such a machine, the caller
    /// reads the clock after it sends these messages, and calls [`handle_flushed`](Self::handle_flushed).
    fn wants_flush_report(&self) -> bool {
        false
    }
    /// Takes the time that the caller read after sending. All accepted messages left the process before this time. If
    /// the kernel interrupted the process between a message and its answer, this time includes the interruption.
    fn handle_flushed(&mut self, _by: Now) {}

    /// Handles an event of a connection. Returns the number of received bytes that the machine consumed. The caller
    /// passes the remaining bytes again together with later bytes, or after [`StreamOp::Read`].
    fn handle_stream(
        &mut self,
        _now: Now,
        _id: StreamId,
        _event: StreamEvent<'_, Self::Peer>,
    ) -> usize {
        0
    }

    /// Handles the outcome of storing the value from [`poll_durable`](Self::poll_durable).
    fn handle_stored(&mut self, now: Now, stored: StoreOutcome);

    /// Returns a value that must be stored before the next message leaves.
    fn poll_durable(&mut self) -> Option<Self::Durable>;
    /// Encodes the next message into `buf`. The buffer has space for the protocol's longest message.
    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit<Self::Peer>>;
    /// Returns the next operation on a connection. `vacant` is the id of the next connection to open, or `None` if no
    /// further connection can be opened.
    fn poll_stream(&mut self, _vacant: Option<StreamId>) -> Option<StreamOp<Self::Peer>> {
        None
    }
    /// Writes the next bytes of a connection into `room`, and returns their number. If the result is 0, the caller does
    /// not call this function again before the next [`StreamOp::Write`].
    fn poll_write(&mut self, _id: StreamId, _room: &mut [u8]) -> usize {
        0
    }
    /// Returns the next job to start or cancel.
    fn poll_job(&mut self) -> Option<JobRequest<Self::Job>> {
        None
    }
    /// Returns the next event for observers.
    fn poll_event(&mut self) -> Option<Self::Event>;
    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout), or `None` if no timeout is set.
    fn poll_timeout(&self) -> Option<Instant>;
}

#[cfg(test)]
mod tests {
    use super::Machine;

    type Any = dyn Machine<Peer = (), Net = (), Command = (), Event = (), Durable = (), Job = ()>;

    #[test]
    fn machines_of_several_types_fit_one_list() {
        // The model checker explores broken machines together with the shipped machine.
        let machines: Vec<Box<Any>> = Vec::new();
        assert!(machines.is_empty());
    }
}
