//! The protocols as pure state machines.
//!
//! Nothing here opens a socket, reads a clock, draws a random number or starts a
//! thread: time and randomness are arguments, messages are byte slices, and what a machine wants
//! done is drained from it. So the machine that ships is the one that is tested and simulated.
//!
//! # Contract
//! After **every** `handle_*` call the caller drains, in this order and until each returns `None`:
//!
//! 1. [`Machine::poll_durable`]: store it before anything drained after it leaves the process, and
//!    report with [`Machine::handle_stored`] before anything else is drained.
//! 2. [`Machine::poll_transmit`]: try to send the message, then report with
//!    [`Machine::handle_sent`], which may make more of 1 and 2 available.
//! 3. [`Machine::poll_stream`]: carry it out, and ask [`Machine::poll_write`] while the connection takes
//!    bytes. What comes of it is told with [`Machine::handle_stream`], an input like any other.
//! 4. [`Machine::poll_event`].
//! 5. [`Machine::poll_job`]: have it done off the loop, or cancelled; the outcome of each job is a command.
//! 6. [`Machine::poll_timeout`]: when to call [`Machine::handle_timeout`] at the latest.
//!
//! One that says so with [`Machine::gathers`] may be drained after several messages.
//!
//! A machine **bounds its output for each input**: the caller drains it in one go, and whatever else waits, messages,
//! timeouts, clients, waits for that. What takes more (a list to ten thousand sessions, the repetition of all that is
//! unanswered) the machine does in parts, some tens of messages each: [`Machine::poll_timeout`] says that the next part
//! is due at once, and the inputs between two parts have their turn.
//!
//! A machine that has to know whether its process stood still says so with [`Machine::heeds_lateness`], and is told the
//! time once more, with [`Machine::handle_lateness`], between receiving messages and handling them, and before time-outs.
//! The events of connections always come with the time at which they are told.
//!
//! A call at the wrong time is harmless: a spurious time-out, a message while the link is down, a
//! time that is behind an earlier one (the machine's own clock then stands still).

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
mod counted;
pub mod draw;
pub mod ftn;
mod invariants;
pub mod jitterbug;
pub mod lab2;
mod machine;
pub mod penalty;
mod stream;
pub mod throttle;
pub mod time;
pub mod timers;

pub use backoff::Backoff;
pub use machine::{JobOp, Machine, Sent, Stored, Ticket, Transmit};
use ring_codec::MacAddr;
pub use stream::{Closed, StreamEvent, StreamId, StreamOp};

/// What the interface is like just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkState {
    /// Nothing can be sent or received.
    Down,
    /// Frames can be sent.
    Up {
        /// The interface's own address.
        mac: MacAddr,
        /// Its ip as the protocols carry it: IPv6, or IPv4 mapped; `::` if it has none.
        ip: [u8; 16],
        /// The longest payload of a frame, in bytes.
        mtu: usize,
    },
}
