//! The protocols as pure state machines.
//!
//! This crate opens no socket, reads no clock, draws no random number and starts no thread. Time and randomness are
//! arguments, and messages are byte slices. The caller polls each state machine for its output. So the tests, the
//! simulator and the daemon run the same code. Start with [`Machine`], then read [`lab2`].
//!
//! # Contract
//! After **every** `handle_*` call the caller polls, in this order, until each function returns `None`:
//!
//! 1. [`Machine::poll_durable`]: store the value. Outputs that are polled later must not leave the process before the
//!    value is stored. Report the result with [`Machine::handle_stored`] before the next poll.
//! 2. [`Machine::poll_transmit`]: try to send the message, then report the result with [`Machine::handle_sent`]. The
//!    call of `handle_sent` may cause more output of steps 1 and 2.
//! 3. [`Machine::poll_stream`]: apply the operation. Call [`Machine::poll_write`] as long as the connection takes
//!    bytes. Report each event of the connection with [`Machine::handle_stream`], which is also a `handle_*` call.
//! 4. [`Machine::poll_event`]: pass the event to the observers.
//! 5. [`Machine::poll_job`]: start or cancel the job outside the event loop. Report the outcome of each job as a
//!    command.
//! 6. [`Machine::poll_timeout`]: call [`Machine::handle_timeout`] by this time.
//!
//! If [`Machine::can_batch_output`] returns `true`, the caller may poll after several messages instead of after each
//! message.
//!
//! A state machine **limits the output that one input may cause**, because messages, timeouts and clients wait while
//! the caller polls. Larger output, such as a list for ten thousand sessions, comes in steps of a few dozen messages.
//! Then [`Machine::poll_timeout`] returns a time that has already come, so that the caller asks for the next step at
//! once. Other inputs come between the steps.
//!
//! If [`Machine::has_lateness_handler`] returns `true`, the caller also calls [`Machine::handle_lateness`] with the
//! present time. The caller makes this call before it handles received messages, and before each timeout. So the
//! machine learns that its process was stalled. Events of connections always come with the present time.
//!
//! A call at the wrong time is harmless. Examples are a timeout that is not due, a message while the link is down, or a
//! time before the time of an earlier call. If a call has an earlier time, the clock of the machine stays at the later
//! time.

#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_macros,
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "these rules are for the machines, not for their tests"
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

/// The state of the network interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum LinkState {
    /// The interface can neither send nor receive.
    Down,
    /// The interface can send frames.
    Up {
        /// The MAC address of the interface.
        mac: MacAddr,
        /// The IP address of the interface: an IPv6 address, or an IPv4 address mapped to IPv6; `::` if the interface
        /// has no address.
        ip: [u8; 16],
        /// The length of the longest payload of a frame, in bytes.
        mtu: usize,
    },
}
