//! The seventeen messages.

use super::{
    Access, Assignment, Flags, ListedSession, ServerState, Token, catalog, config, confirm, elect,
    grant, heartbeat, login, part, parted, request, return_, revoke, state, transfer, transferred,
};
use crate::list::List;
use crate::messages::messages;

messages! {
    /// Type of a message.
    kind Kind;
    /// A message without its head. Parts of variable length are borrowed from the input.
    message Message;

    /// From a client: asks for a session.
    11 "LOGIN" Login {
        /// Port of the client, as `:portnum`.
        p: &'a [u8],
    } in login;

    /// From a server: the configuration of the group. The head's `to` is the id of the client's session, or 0.
    12 "CONFIG" Config {
        /// Number of the configuration. This number determines the leader.
        leader: i64,
        /// State of every server.
        sstates: List<'a, ServerState>,
    } in config;

    /// From a client: the tokens that the client holds and for which the recipient is responsible.
    13 "CATALOG" Catalog {
        /// Tokens of the client, with markers.
        holdings: List<'a, Token<'a>>,
    } in catalog;

    /// From a client: a sign of life.
    14 "ALIVE" Alive;

    /// From a client: ends the client's session.
    15 "LOGOUT" Logout;

    /// From a client: asks for a token.
    21 "REQUEST" Request {
        /// Number of the message at the client.
        msgnum: i64,
        /// Token. The server ignores the token's data unless the data request a fencing number.
        token: Token<'a>,
        /// Requested access.
        access: Access,
    } in request;

    /// From a server: assigns a token.
    22 "GRANT" Grant {
        /// Msgnum of the REQUEST.
        msgnum: i64,
        /// Token with its data.
        token: Token<'a>,
    } in grant;

    /// From a server: asks for a token back.
    23 "REVOKE" Revoke {
        /// Name of the token.
        name: &'a [u8],
    } in revoke;

    /// From a client: sets the data of a token, gives the token up, or both.
    24 "RETURN" Return {
        /// Number of the message at the client.
        msgnum: i64,
        /// Token with its data.
        token: Token<'a>,
        /// Requested changes.
        flags: Flags,
    } in return_;

    /// From a server: acknowledges a RETURN.
    25 "CONFIRM" Confirm {
        /// Msgnum of the RETURN.
        msgnum: i64,
    } in confirm;

    /// From the leader to the servers: the state of the group, and a sign of life (not in the FTN documents).
    31 "STATE" State {
        /// Configuration and round. The seq grows with every round, so that a late message changes nothing.
        seq: i128,
        /// Number of the configuration. This number determines the leader.
        leader: i64,
        /// State of every server.
        sstates: List<'a, ServerState>,
        /// All sessions.
        clients: List<'a, ListedSession<'a>>,
    } in state;

    /// From a server to the leader: a sign of life (not in the FTN documents).
    32 "HEARTBEAT" Heartbeat {
        /// `seq` of the latest STATE that the sender has followed; 0 if the sender has followed no STATE.
        seq: i128,
        /// State that the sender announces.
        sstate: ServerState,
    } in heartbeat;

    /// Between servers: the sender looks for a leader (not in the FTN documents).
    33 "ELECT" Elect {
        /// `seq` of the latest STATE that the sender knows; 0 if the sender knows no STATE.
        seq: i128,
        /// Index of the server for which the sender votes; -1 if the sender votes for no server.
        leader: i32,
    } in elect;

    /// Between servers: tokens for which the recipient is responsible from now on (not in the FTN documents).
    34 "TRANSFER" Transfer {
        /// Number of the transfer, the same in all its parts.
        msgnum: i64,
        /// Number of this part, from 0.
        part: i32,
        /// Number of parts, at least 1.
        parts: i32,
        /// Tokens with their data and holders.
        assignments: List<'a, Assignment<'a>>,
    } in transfer;

    /// Between servers: acknowledges a part of a TRANSFER (not in the FTN documents).
    35 "TRANSFERRED" Transferred {
        /// Number of the transfer.
        msgnum: i64,
        /// Number of the part.
        part: i32,
    } in transferred;

    /// From a server or a client: a piece of a message that is too long for one datagram (not in the FTN documents).
    41 "PART" Part {
        /// Number of the message at the sender, the same in all its parts.
        content: i64,
        /// Number of this part, from 0.
        part: i32,
        /// Number of parts, at least 2.
        parts: i32,
        /// Bytes of the part.
        bytes: &'a [u8],
    } in part;

    /// From a server or a client: acknowledges parts of a message (not in the FTN documents).
    42 "PARTED" Parted {
        /// Number of the message.
        content: i64,
        /// One bit for each part: whether the part arrived. The first part has the lowest bit of the first byte. The
        /// list is empty if all parts have arrived.
        arrived: &'a [u8],
    } in parted;
}
