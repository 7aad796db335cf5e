#![forbid(unsafe_code)]
//! Tests one daemon between two peers that send the test's frames. The tests check the daemon's behavior on the wire,
//! exact to the nanosecond.
//!
//! The tests run the daemon's own driver, state machine and observers. The link and the clock are simulated, so a test
//! needs no kernel and takes almost no time. The decoder of `ring_segment` judges the frames. This decoder shares no
//! code with the daemon's decoder.

mod addresses;
mod election;
mod frames;
mod leaving;
mod members;
mod owner;
mod passing;
mod stand;
mod waiter;
