//! What a program links to work under a token of `ringd`: a session with the token service, and fencing.
//!
//! - [`token`]: tokens with names, which any number of servers of the token service grant (`docs/ftn.md`).
//! - [`fencing`]: how what a holder acts upon refuses one that is late.

#![forbid(unsafe_code)]

pub mod fencing;
pub mod token;
