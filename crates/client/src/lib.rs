//! A client library of `ringd`. A program that uses this library does its work on only one machine at a time.
//!
//! | module | content |
//! |---|---|
//! | [`lock`] | the token of this machine's ring, which exactly one machine of the segment has |
//! | [`token`] | named tokens, which the servers of the token service grant to clients anywhere |
//! | [`fencing`] | fencing tokens, and a record that lets a resource refuse a late holder |
//! | [`daemon`], [`lines`], [`held_lock`], [`lease`] | parts of a [`lock`], for programs with their own event loop |
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
//! **A lock is a lease.** The daemon or the servers renew the lease as long as they can. Until the lease ends on
//! `CLOCK_BOOTTIME`, they grant the lock to no other program. After the end of the lease, the program must count its
//! lock as lost, even if it was stalled or cut off. No lock service can stop a process that was stalled, and then
//! continues as if it still held the lock. Only the resource can refuse the writes of such a process, by the [fencing
//! token](lock::Lock::fencing).
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
