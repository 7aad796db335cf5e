//! A deterministic world: virtual time, links with faults, and the machines that ship.
//!
//! Nothing here reads a clock, draws randomness that does not come from the seed, or starts a
//! thread: the same seed makes the same run, to the byte.

mod subject;

pub use subject::Subject;
