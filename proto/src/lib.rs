//! The protocols as pure state machines.
//!
//! This crate opens no socket, reads no clock, draws no random number and starts no thread. Time and randomness are
//! arguments, messages are byte slices, and the caller polls each state machine for its output. So the tests, the
//! simulator and the daemon run the same code. Start reading at [`Machine`], then at [`lab2`].
//!
//! # Contract
//! After **every** `handle_*` call the caller polls, in this order, until each function returns `None`:
//!
//! 1. [`Machine::poll_durable`]: store the value before anything that is polled after it leaves the process. Report the
//!    result with [`Machine::handle_stored`] before the next poll.
//! 2. [`Machine::poll_transmit`]: try to send the message, then report the result with [`Machine::handle_sent`]. The
//!    call can make more output of 1 and 2 available.
//! 3. [`Machine::poll_stream`]: apply the operation. Call [`Machine::poll_write`] while the connection takes bytes.
//!    Report events of the connection with [`Machine::handle_stream`], an input like any other.
//! 4. [`Machine::poll_event`].
//! 5. [`Machine::poll_job`]: start or cancel the job outside the event loop. The outcome of each job is a command.
//! 6. [`Machine::poll_timeout`]: the latest time at which the caller calls [`Machine::handle_timeout`].
//!
//! If [`Machine::can_batch_output`] returns `true`, the caller may poll after several messages instead of after each one.
//!
//! A state machine **bounds its output for each input**, because messages, timeouts and clients wait while the caller
//! polls. The machine splits larger output, such as a list for ten thousand sessions, into steps of a few dozen
//! messages. [`Machine::poll_timeout`] then says that the next step is due at once, and other inputs come in between.
//!
//! If [`Machine::has_lateness_handler`] returns `true`, the caller also calls [`Machine::handle_lateness`] with the present
//! time. It does so after it has received messages and before it handles them, and before each timeout. So the machine
//! learns that its process was stalled. Events of connections always come with the present time.
//!
//! A call at the wrong time is harmless: a timeout that is not due, a message while the link is down, or a time before
//! an earlier one. In the last case the machine's clock does not move.

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_macros,
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "tests are around the machines"
    )
)]

pub mod andrews;
mod backoff;
mod buffer;
mod counter_macros;
pub mod ftn;
mod invariants;
pub mod jitterbug;
pub mod lab2;
mod machine;
pub mod penalty;
pub mod random;
mod stream;
pub mod throttle;
pub mod time;
pub mod timers;

pub use backoff::Backoff;
pub use machine::{JobRequest, Machine, SendOutcome, StoreOutcome, Ticket, Transmit};
use ring_codec::MacAddr;
pub use stream::{CloseReason, StreamEvent, StreamId, StreamOp};

/// State of the network interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// The interface can neither send nor receive.
    Down,
    /// The interface can send frames.
    Up {
        /// Address of the interface.
        mac: MacAddr,
        /// IP address of the interface: IPv6, or IPv4 mapped to IPv6; `::` if it has none.
        ip: [u8; 16],
        /// Longest payload of a frame, in bytes.
        mtu: usize,
    },
}
