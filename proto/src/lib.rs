//! The protocols as pure state machines.
//!
//! Nothing here opens a socket, reads a clock, draws a random number or starts a
//! thread: time and randomness are arguments, frames are byte slices, and what a machine wants
//! done is drained from it. So the machine that ships is the one that is tested and simulated.
//!
//! # Contract
//! After **every** `handle_*` call the caller drains, in this order and until each returns `None`:
//!
//! 1. [`Machine::poll_durable`]: store it before anything drained after it leaves the process, and
//!    report with [`Machine::handle_stored`] before anything else is drained.
//! 2. [`Machine::poll_transmit`]: try to send the frame, then report with
//!    [`Machine::handle_sent`], which may make more of 1 and 2 available.
//! 3. [`Machine::poll_event`].
//! 4. [`Machine::poll_timeout`]: when to call [`Machine::handle_timeout`] at the latest.
//!
//! A call at the wrong time is harmless: a spurious time-out, a frame while the link is down, a
//! time that is behind an earlier one (the machine's own clock then stands still).

#![forbid(unsafe_code)]

pub mod lab2;
pub mod penalty;
pub mod time;
pub mod timers;

use std::time::Duration;

use ring_codec::MacAddr;
use time::{Instant, Now};

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

/// A frame that a machine wants sent; it stands at the start of the buffer that was lent.
#[derive(Debug)]
#[must_use = "every transmit is to be sent and reported with `handle_sent`"]
pub struct Transmit {
    /// The frame's length in bytes.
    pub len: usize,
    /// To be handed back with the outcome.
    pub ticket: Ticket,
}

/// Ties the outcome of a send to the frame: it cannot be cloned, so an outcome is reported once.
#[derive(Debug)]
#[must_use = "report the outcome with `handle_sent`"]
pub struct Ticket(u64);

impl Ticket {
    /// The ticket of the frame that its machine knows as `id`.
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// What the machine knows the frame as.
    #[must_use]
    pub const fn id(&self) -> u64 {
        self.0
    }
}

/// Whether a frame was accepted for sending.
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

/// A protocol's state machine. See the [crate's contract](crate#contract).
pub trait Machine {
    /// What an application or an operator asks of it.
    type Command;
    /// What it tells its observers.
    type Event;
    /// What must survive a restart.
    type Durable;

    /// A frame came in, `age` ago.
    fn handle_frame(&mut self, now: Now, frame: &[u8], age: Duration);
    /// An application or the operator wants something.
    fn handle_command(&mut self, now: Now, command: Self::Command);
    /// The interface has changed.
    fn handle_link(&mut self, now: Now, link: LinkState);
    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    fn handle_timeout(&mut self, now: Now);
    /// The outcome of sending the frame that `ticket` came with.
    fn handle_sent(&mut self, now: Now, ticket: Ticket, sent: Sent);

    /// The outcome of storing what [`poll_durable`](Self::poll_durable) has returned.
    fn handle_stored(&mut self, now: Now, stored: Stored);

    /// What is to be stored before the next frame leaves.
    fn poll_durable(&mut self) -> Option<Self::Durable>;
    /// Encodes the next frame to send into `buf`, which holds at least the protocol's longest.
    fn poll_transmit(&mut self, buf: &mut [u8]) -> Option<Transmit>;
    /// The next event for observers.
    fn poll_event(&mut self) -> Option<Self::Event>;
    /// When [`handle_timeout`](Self::handle_timeout) is to be called; `None`: never.
    fn poll_timeout(&self) -> Option<Instant>;
}
