//! Commands of the program that uses the client.

use std::net::SocketAddr;

use ring_codec::ftn::Access;

/// A command of the program that uses the client. A name has 1 to [`NAME_BYTES_MAX`](crate::ftn::NAME_BYTES_MAX) bytes,
/// and data have at most [`DATA_BYTES_MAX`](crate::ftn::DATA_BYTES_MAX) bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Requests a token. The request ends with [`Granted`](super::Event::Granted), unless the program cancels the
    /// request.
    ///
    /// A holder may request the other kind of access: a downgrade to shared access, or an upgrade to exclusive access.
    /// After the command for a downgrade, other clients may share the token at once. While an upgrade waits, the client
    /// may lose the shared token before the program receives [`UpgradeRevoked`](super::Event::UpgradeRevoked). So a
    /// program finishes its shared use before it requests an upgrade.
    ///
    /// If the program requests an awaited token again with the other kind of access, the new request replaces the first
    /// request. The new request goes to the end of the queue. If the client is already returning the token, it sends
    /// the REQUEST after the confirmation of the return.
    Request {
        /// The token's name.
        name: Box<[u8]>,
        /// The access, exclusive or shared.
        access: Access,
        /// Whether the grant carries a fencing number.
        fence: bool,
    },
    /// Sets the data of a held token and keeps the token: RETURN with UPDATE. Ends with
    /// [`Updated`](super::Event::Updated). Several updates may wait for the confirmation of an earlier update. The
    /// client then sends only the last of these updates.
    Update {
        /// The token's name.
        name: Box<[u8]>,
        /// The new data.
        data: Box<[u8]>,
    },
    /// Returns a held token: RETURN with DEASSIGN. Ends with [`Returned`](super::Event::Returned). The return waits
    /// until the server confirms an outstanding update. [`Cancel`](Self::Cancel) does not wait.
    Release {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// Sets the data of a held token and returns the token in one step: The client sends a RETURN with UPDATE and
    /// DEASSIGN. The command ends with [`Updated`](super::Event::Updated) and [`Returned`](super::Event::Returned).
    UpdateAndRelease {
        /// The token's name.
        name: Box<[u8]>,
        /// The new data.
        data: Box<[u8]>,
    },
    /// Gives up a request at once, or returns a held token at once. An unconfirmed update of the token is given up too.
    /// The command ends with [`Cancelled`](super::Event::Cancelled) if the token was not held, otherwise with
    /// [`Returned`](super::Event::Returned).
    Cancel {
        /// The token's name.
        name: Box<[u8]>,
    },
    /// Asks a server for a page of its tokens, and replaces an earlier question to that server. The command ends with
    /// [`Listed`](super::Event::Listed) or [`ListingFailed`](super::Event::ListingFailed). Only READY servers answer.
    List {
        /// The server's index.
        server: usize,
        /// The page begins after this name; empty for the first page.
        after: Box<[u8]>,
    },
    /// Sets the address of each server, by index, after the names were resolved again. `None` keeps the earlier
    /// address.
    Addresses(Box<[Option<SocketAddr>]>),
    /// Ends the session and gives up all tokens and requests at once. The client sends LOGOUT at most three times.
    /// [`LoggedOut`](super::Event::LoggedOut) is the last event of this client, apart from refusals of later commands.
    Logout,
}
