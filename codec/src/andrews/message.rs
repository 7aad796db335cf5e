//! The six messages as values.

use super::{Election, coordinator_election, successor, token, token_ack};
use crate::messages::messages;

messages! {
    /// A message's type.
    kind Kind;
    /// One message, its variable parts borrowed from the input.
    message Message;

    /// A new node asks the coordinator for a place in the ring.
    1 "JOIN" Join;

    /// The coordinator names the node to connect to.
    2 "SUCCESSOR" Successor {
        /// The new successor's id.
        successor_id: u32,
    } in successor;

    /// A node whose successor has failed asks the coordinator for another.
    3 "SUCCESSOR_REQUEST" SuccessorRequest;

    /// The token, to the successor.
    4 "TOKEN" Token {
        /// Grows by one with every hop.
        sequence: u64,
    } in token;

    /// The token has come, to the predecessor.
    5 "TOKEN_ACK" TokenAck {
        /// The sequence of the token that came.
        sequence: u64,
    } in token_ack;

    /// A message of an election.
    6 "COORDINATOR_ELECTION" CoordinatorElection {
        /// Its method and what it says.
        election: Election<'a>,
    } in coordinator_election;
}
