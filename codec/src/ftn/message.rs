//! The seventeen messages as values.

use super::{
    Access, Assignment, Client, Flags, ServerState, Token, catalog, config, confirm, elect, grant,
    heartbeat, login, part, parted, request, return_, revoke, state, transfer, transferred,
};
use crate::list::List;
use crate::messages::messages;

messages! {
    /// A message's type.
    kind Kind;
    /// What follows the head, its variable parts borrowed from the input.
    message Message;

    /// From a client: asks for a session.
    11 "LOGIN" Login {
        /// The client's incoming datagram port, as `:portnum`.
        p: &'a [u8],
    } in login;

    /// From a server: the state of the group. The head's `to`, if not 0, is the client's id.
    12 "CONFIG" Config {
        /// The configuration's number, which names the leading server.
        leader: i64,
        /// The state of every server.
        sstates: List<'a, ServerState>,
    } in config;

    /// From a client: what it holds of the tokens that the recipient serves.
    13 "CATALOG" Catalog {
        /// The tokens.
        holdings: List<'a, Token<'a>>,
    } in catalog;

    /// From a client: it still works.
    14 "ALIVE" Alive;

    /// From a client: ends its session.
    15 "LOGOUT" Logout;

    /// From a client: asks for a token.
    21 "REQUEST" Request {
        /// The client's number for the request.
        msgnum: i64,
        /// The token; its data is ignored.
        token: Token<'a>,
        /// How it is to be held.
        access: Access,
    } in request;

    /// From a server: assigns a token.
    22 "GRANT" Grant {
        /// The number of the request granted.
        msgnum: i64,
        /// The token with its data.
        token: Token<'a>,
    } in grant;

    /// From a server: asks for a token back.
    23 "REVOKE" Revoke {
        /// The token's name.
        name: &'a [u8],
    } in revoke;

    /// From a client: sets a token's data, gives the token up, or both.
    24 "RETURN" Return {
        /// The client's number for the message.
        msgnum: i64,
        /// The token with its data.
        token: Token<'a>,
        /// What is asked for.
        flags: Flags,
    } in return_;

    /// From a server: a RETURN has been carried out.
    25 "CONFIRM" Confirm {
        /// The number of that RETURN.
        msgnum: i64,
    } in confirm;

    /// From the leader to the servers: the global state, and the leader's heartbeat (ours).
    31 "STATE" State {
        /// Grows with every round, so that a late message cannot undo one.
        seq: i128,
        /// The configuration's number, which names the leading server.
        leader: i64,
        /// The state of every server.
        sstates: List<'a, ServerState>,
        /// The active clients.
        clients: List<'a, Client<'a>>,
    } in state;

    /// From a server to the leader: its heartbeat (ours).
    32 "HEARTBEAT" Heartbeat {
        /// The `seq` of the latest STATE that the sender has acted on; 0 for none.
        seq: i128,
        /// What the sender declares itself to be.
        sstate: ServerState,
    } in heartbeat;

    /// From server to server: no leader is heard of (ours).
    33 "ELECT" Elect {
        /// The `seq` of the latest STATE that the sender knows; 0 for none.
        seq: i128,
        /// The server that the sender takes for the next leader.
        leader: i32,
    } in elect;

    /// From server to server: tokens that the recipient is responsible for from now on (ours).
    34 "TRANSFER" Transfer {
        /// The sender's number for the transfer, the same in all its parts.
        msgnum: i64,
        /// Which part this is, from 0.
        part: i32,
        /// How many parts the transfer has, at least 1.
        parts: i32,
        /// The tokens, their data and their holders.
        assignments: List<'a, Assignment<'a>>,
    } in transfer;

    /// From server to server: a part of a TRANSFER has come (ours).
    35 "TRANSFERRED" Transferred {
        /// The number of the transfer.
        msgnum: i64,
        /// The part that has come.
        part: i32,
    } in transferred;

    /// From both: a piece of a message that is too long for one datagram (ours).
    41 "PART" Part {
        /// The sender's number for the message, the same in all its parts.
        content: i64,
        /// Which part this is, from 0.
        part: i32,
        /// How many parts the message has, at least 2.
        parts: i32,
        /// Its bytes.
        bytes: &'a [u8],
    } in part;

    /// From both: which parts of a message have come (ours).
    42 "PARTED" Parted {
        /// The number of the message.
        content: i64,
        /// A bit for each part that has come, the first part's is the lowest of the first byte; empty: all have.
        came: &'a [u8],
    } in parted;
}
