#![forbid(unsafe_code)]
//! One daemon between two peers that send the test's frames: its behavior on the wire, exact to the nanosecond.
//!
//! Driver, state machine and observers are the daemon's own. Link and clock are the test's, so a test needs no
//! kernel and takes no time. The decoder of `ring_segment`, which shares no code with the daemon's, judges the
//! frames.

mod addresses;
mod election;
mod frames;
mod leaving;
mod members;
mod owner;
mod passing;
mod stand;
mod waiter;
