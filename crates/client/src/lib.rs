//! A client library of `ringd`: with it a program does its work on only one machine at a time.
//!
//! | module | content |
//! |---|---|
//! | [`lock`] | the token of this machine's ring, which exactly one machine of the segment has |
//! | [`token`] | named tokens, which the servers of the token service grant to clients anywhere |
//! | [`fencing`] | fencing tokens and their record, with which a resource refuses a late holder |
//! | [`daemon`], [`lines`], [`held_lock`], [`lease`] | the parts of a [`lock`], for programs with their own event loop |
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use ring_client::lock::{Lock, LockOptions, Wake, socket_path};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut lock = Lock::acquire(&socket_path("eth0"), &LockOptions::default())?;
//! loop {
//!     // Do a part of the work here that takes less time than lock.remaining().
//!     match lock.wait(Duration::from_secs(1))? {
//!         Wake::Renewed | Wake::TimedOut => {}
//!         Wake::Lost(reason) => return Err(reason.into()), // stop before lock.remaining() is zero
//!     }
//! }
//! # }
//! ```
//!
//! **A lock is a lease.** The daemon or the servers renew it as long as they can, and grant it to no other program
//! before it ends, on `CLOCK_BOOTTIME`. A program must count its lock as lost when the lease has ended, even if it
//! was stopped or cut off meanwhile. No lock can prevent that a process wakes up later and continues as if it still
//! held the lock. Only the resource can refuse its writes, by the [fencing token](lock::Lock::fencing).
//!
//! Two examples are complete programs: `examples/lock.rs` and `examples/token.rs`.

#![forbid(unsafe_code)]

pub mod daemon;
pub mod fencing;
pub mod held_lock;
pub mod lease;
pub mod lines;
pub mod lock;
pub mod token;
