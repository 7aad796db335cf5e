//! Fencing: a resource refuses the work of a holder if it knows a newer token than the token of this holder.
//!
//! A holder that was stalled or cut off may still act when another holder already has the token. No lock service can
//! prevent such late actions. Only the resource can prevent them: it stores the newest token that it has seen, and
//! refuses older tokens. The type [`FencingToken`] is the token of a Lab2 ring (`RINGD_TOKEN`). The greater of two such
//! tokens is newer. A [`Record`] is a file that stores the newest token. A record can also store tokens of another
//! type, if this type has the trait [`Fence`].
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

/// A token that a [`Record`] can store. The greater of two tokens is newer. The text of a token has at most 78 bytes
/// and no space, and parses to the same token.
pub trait Fence: Copy + Ord + Display + FromStr {}

impl<T: Copy + Ord + Display + FromStr> Fence for T {}

#[cfg(test)]
mod tests {
    use super::FencingToken;

    pub(super) fn token(progress: u64) -> FencingToken {
        let text = format!("{progress}-02:00:00:00:00:01-7");
        text.parse().expect("a token")
    }
}
