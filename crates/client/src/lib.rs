//! What a program links to do its work on one machine at a time, by `ringd`.
//!
//! | module | for |
//! |---|---|
//! | [`lock`] | the token of the ring that this machine is in: exactly one machine of the segment has it |
//! | [`token`] | tokens with names, which the servers of the token service grant to clients anywhere |
//! | [`fencing`] | whatever the work acts upon: it refuses a holder that is late |
//! | [`daemon`], [`lines`], [`held`], [`lease`] | the parts of a [`lock`], for who has a loop of its own |
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ring_client::lock::{Lock, Wake, Wanted, socket};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut lock = Lock::acquire(&socket("eth0"), &Wanted::default())?;
//! loop {
//!     // Do a part of the work here, which takes less time than lock.remaining().
//!     match lock.wait(Duration::from_secs(1))? {
//!         Wake::Renewed | Wake::Late => {}
//!         Wake::Lost(why) => return Err(why.into()), // stop before lock.remaining() is zero
//!     }
//! }
//! # }
//! ```
//!
//! **A lock is a lease.** Nobody else is granted it before the lease ends, which is on `CLOCK_BOOTTIME`, and its daemon or
//! its servers renew it for as long as they can. A program that is stopped, or cannot reach them, must count its lock as
//! lost when the lease is over. No lock can keep a process from waking up later and acting as if it held it still: only
//! what it acts upon can, by the [fencing token](lock::Lock::fencing).
//!
//! Two examples are whole programs: `examples/lock.rs` and `examples/token.rs`.

#![forbid(unsafe_code)]

pub mod daemon;
pub mod fencing;
pub mod held;
pub mod lease;
pub mod lines;
pub mod lock;
pub mod token;
