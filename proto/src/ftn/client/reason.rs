//! Reasons why the client drops a datagram.

use crate::counter_macros::reasons;

reasons! {
    /// Reason why a client dropped a datagram (`docs/token-service/protocol/conventions.md` D3).
    pub enum DropReason;

    /// The datagram does not decode.
    Malformed "malformed" "it is no message of the protocol",
    /// The name is longer than 1 KiB, or the data are longer than 32 KiB.
    TooLong "too_long" "a name or data is longer than allowed",
    /// The sender's list of servers differs from this client's list.
    Ssig "ssig" "its sender has a different list of servers",
    /// Only servers receive messages of this type.
    NotForClients "not_for_clients" "only servers receive such a message",
    /// The datagram names a server, but did not come from this server's address in the list.
    NotAServer "not_a_server" "its sender is not the server that it claims to be",
    /// The message belongs to a different session.
    NotForMe "not_for_me" "it is for another session",
    /// The client has no session, and the message does not answer LOGIN.
    NoSession "no_session" "this client has no session",
    /// The message is older than the client's state. The message has a lower configuration number than the state, or a
    /// msgnum that is no longer outstanding.
    Late "late" "a later message came before it",
    /// A different server is responsible for the token, or a different server leads.
    NotResponsible "not_responsible" "another server is responsible",
    /// A REQUEST or RETURN for the token is outstanding. Only the server's answer to that message may change the token.
    Outstanding "outstanding" "an answer about the token is awaited",
    /// The message has an invalid field: a wrong number of servers, an empty token name, or a grant without the
    /// requested fencing number.
    Illegal "illegal" "a field has a value that is not allowed",
    /// The sender announces such a short client timeout that a session would end before the confirmation of its
    /// renewal.
    ShortTimeout "short_timeout" "its sender announces a --client-timeout that is too short for a session",
    /// The answer to LOGIN has the id of an earlier session of this client. The client never uses such an id again.
    FormerSession "former_session" "it offers the id of a former session",
}
