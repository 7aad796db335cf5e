//! The rights of the daemon's clients.

/// A right of a client. A client that has the right `Act` also has the right `Read`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// The client may send requests that do not change anything, and that do not hinder other clients.
    Read,
    /// The client may send all requests.
    Act,
}
