#![forbid(unsafe_code)]
//! One daemon between two peers that say what a test wants: how it behaves on the wire, to the
//! nanosecond. What runs is the daemon's own driver, machine and observers; the link and the clock
//! are the test's, so that nothing here needs a kernel or takes time. Frames are judged by the
//! decoder of `ring_segment`, which shares no code with the one under test.

mod addresses;
mod election;
mod frames;
mod leaving;
mod members;
mod owner;
mod passing;
mod stand;
mod waiter;
