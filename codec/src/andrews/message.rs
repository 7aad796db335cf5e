//! The six messages.

use super::{Election, coordinator_election, successor, token, token_ack};
use crate::messages::messages;

messages! {
    /// A message's type.
    kind Kind;
    /// A message. Parts of variable length are borrowed from the input.
    message Message;

    /// A new node asks the coordinator to add it to the ring.
    1 "JOIN" Join;

    /// The coordinator tells a node its successor.
    2 "SUCCESSOR" Successor {
        /// The new successor's id.
        successor_id: u32,
    } in successor;

    /// A node whose successor failed asks the coordinator for a new successor.
    3 "SUCCESSOR_REQUEST" SuccessorRequest;

    /// A node passes the token to its successor.
    4 "TOKEN" Token {
        /// The number of hops of the token. Each hop adds one.
        sequence: u64,
    } in token;

    /// A node informs its predecessor that the token arrived.
    5 "TOKEN_ACK" TokenAck {
        /// The sequence of the token that arrived.
        sequence: u64,
    } in token_ack;

    /// A message of an election.
    6 "COORDINATOR_ELECTION" CoordinatorElection {
        /// The election's method and data.
        election: Election<'a>,
    } in coordinator_election;
}
