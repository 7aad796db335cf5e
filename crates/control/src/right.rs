//! The rights of the daemon's clients.

/// A right of a client. A client with the greater right also has the smaller right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// The client may send requests that change nothing and that keep nothing from other clients.
    Read,
    /// The client may send all requests.
    Act,
}
