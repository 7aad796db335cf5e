//! What a program asks of its client.

use std::net::SocketAddr;

use ring_codec::ftn::Access;

/// What a program asks of its client. Names have 1 to [`MAX_NAME`](crate::ftn::MAX_NAME) bytes, data up to
/// [`MAX_DATA`](crate::ftn::MAX_DATA).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Requests a token. Ends with [`Granted`](super::Event::Granted), unless it is cancelled.
    ///
    /// A holder may ask for the other access. With a downgrade (exclusive to shared) others may join from the very
    /// command on. An upgrade may take the shared token away before it is granted, and before the program hears of
    /// that ([`UpgradeRevoked`](super::Event::UpgradeRevoked)), so who asks for one is done with what was shared. A request with another access for a token
    /// that is awaited replaces the first, at the end of the queue. A token that is being returned is requested once
    /// that is confirmed.
    Request {
        /// The token's name.
        name: Box<[u8]>,
        /// How it is to be held.
        access: Access,
        /// Whether the grant is to carry a fencing number.
        fence: bool,
    },
    /// Sets a held token's data and goes on holding it: RETURN with UPDATE. Ends with
    /// [`Updated`](super::Event::Updated). Behind an update that is not confirmed yet the last one given waits.
    Update {
        /// The token's name.
        name: Box<[u8]>,
        /// The new data.
        data: Box<[u8]>,
    },
    /// Gives a held token back: RETURN with DEASSIGN. Ends with [`Returned`](super::Event::Returned). Waits until
    /// an update is confirmed; [`Cancel`](Self::Cancel) does not.
    Release {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// Sets a held token's data and gives it back, both or neither: RETURN with UPDATE and DEASSIGN. Ends with
    /// [`Updated`](super::Event::Updated) and [`Returned`](super::Event::Returned).
    UpdateAndRelease {
        /// The token's name.
        name: Box<[u8]>,
        /// The new data.
        data: Box<[u8]>,
    },
    /// Gives up whatever there is of a token at once: a request, or the token and an update that is not confirmed.
    /// Ends with [`Cancelled`](super::Event::Cancelled) if the token was not held, with
    /// [`Returned`](super::Event::Returned) if it was.
    Cancel {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// Asks a server for a page of its tokens, replacing an earlier question to it. Ends with
    /// [`Listed`](super::Event::Listed) or [`ListingFailed`](super::Event::ListingFailed); a server that is not READY
    /// does not answer.
    List {
        /// The server's index.
        server: usize,
        /// The page begins after this name; empty: with the first.
        after: Box<[u8]>,
    },
    /// The names of the servers were resolved again: their addresses from now on, by index. One without an address keeps the
    /// one it had.
    Addresses(Box<[Option<SocketAddr>]>),
    /// Ends the session, and with it every hold and request: from now on nothing is held. LOGOUT is sent
    /// at most three times; [`LoggedOut`](super::Event::LoggedOut) is the machine's last event, but for the refusal of
    /// commands that are given after it.
    Logout,
}
