//! Fencing: to refuse what is done under a token that is no longer the newest.
//!
//! A holder can be late: paused, swapped out, cut off, and act when another one has the token
//! already. No lock service can prevent that; only what is acted upon can, by remembering the
//! newest token that it has seen and refusing all older ones. [`FencingToken`] is the token as
//! holders in a Lab2 ring are given it (`RINGD_TOKEN`) and how two compare; [`Record`] is the memory as a file, of
//! these or of any other token that can be ordered, displayed and parsed.
//!
//! ```
//! use ring_client::fencing::{FencingToken, Record};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("report.fence");
//! let newer: FencingToken = "1796-02:00:00:00:00:02-3".parse()?;
//! let older: FencingToken = "1795-02:00:00:00:00:01-7".parse()?;
//!
//! let mut record = Record::lock(&path)?;
//! record.admit(newer)?; // on disk from here on; act before `record` is dropped
//! assert!(record.admit(older).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod record;
mod slots;
mod token;

pub use record::{FencingError, Record};
pub use token::{FencingToken, ParseTokenError};

use std::fmt::Display;
use std::str::FromStr;

/// A token that a [`Record`] can remember: the greater is the newer, and its text, of at most 78 bytes and
/// without a space, is read back as the same token.
pub trait Fence: Copy + Ord + Display + FromStr {}

impl<T: Copy + Ord + Display + FromStr> Fence for T {}
