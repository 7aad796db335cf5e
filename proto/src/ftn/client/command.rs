//! Commands of the program that uses the client.

use std::net::SocketAddr;

use ring_codec::ftn::Access;

/// A command of the program that uses the client. Names have 1 to [`NAME_BYTES_MAX`](crate::ftn::NAME_BYTES_MAX) bytes, data have
/// up to [`DATA_BYTES_MAX`](crate::ftn::DATA_BYTES_MAX).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Requests a token. Ends with [`Granted`](super::Event::Granted), unless it is cancelled.
    ///
    /// A holder may ask for the other access. After a downgrade (exclusive to shared) others may join as soon as the
    /// command is given. An upgrade may take the shared token away before it is granted, and before the program
    /// receives [`UpgradeRevoked`](super::Event::UpgradeRevoked). So a program finishes its shared use before it asks
    /// for an upgrade.
    ///
    /// A request with another access for an awaited token replaces the first, at the end of the queue. A token that is
    /// being returned is requested once its return is confirmed.
    Request {
        /// The token's name.
        name: Box<[u8]>,
        /// The access, exclusive or shared.
        access: Access,
        /// Whether the grant carries a fencing number.
        fence: bool,
    },
    /// Sets the data of a held token and keeps the token: RETURN with UPDATE. Ends with
    /// [`Updated`](super::Event::Updated). While an update is unconfirmed, only the last later one waits.
    Update {
        /// The token's name.
        name: Box<[u8]>,
        /// The new data.
        data: Box<[u8]>,
    },
    /// Gives a held token back: RETURN with DEASSIGN. Ends with [`Returned`](super::Event::Returned). It waits until an
    /// unconfirmed update is confirmed; [`Cancel`](Self::Cancel) does not wait.
    Release {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// Sets the data of a held token and gives it back in one step: RETURN with UPDATE and DEASSIGN. Ends with
    /// [`Updated`](super::Event::Updated) and [`Returned`](super::Event::Returned).
    UpdateAndRelease {
        /// The token's name.
        name: Box<[u8]>,
        /// The new data.
        data: Box<[u8]>,
    },
    /// Gives up a request, or a held token with its unconfirmed update, at once. Ends with
    /// [`Cancelled`](super::Event::Cancelled) if the token was not held, otherwise with
    /// [`Returned`](super::Event::Returned).
    Cancel {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// Asks a server for a page of its tokens, and replaces an earlier question to it. Ends with
    /// [`Listed`](super::Event::Listed) or [`ListingFailed`](super::Event::ListingFailed). A server that is not READY
    /// does not answer.
    List {
        /// The server's index.
        server: usize,
        /// Name before the page, or empty for the first page.
        after: Box<[u8]>,
    },
    /// Sets the servers' addresses after their names were resolved again, by index. `None` keeps the earlier address.
    Addresses(Box<[Option<SocketAddr>]>),
    /// Ends the session and gives up all tokens and requests at once. The client sends LOGOUT at most three times.
    /// [`LoggedOut`](super::Event::LoggedOut) is its last event, except for refusals of later commands.
    Logout,
}
