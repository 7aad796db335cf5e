//! Reasons for which the client drops a datagram.

use crate::counter_macros::reasons;

reasons! {
    /// Reason why a client dropped a datagram (`docs/token-service/protocol/conventions.md` D3).
    pub enum DropReason;

    /// The datagram does not decode.
    Malformed "malformed" "it is no message of the protocol",
    /// The name is longer than 1 KiB, or the data are longer than 32 KiB.
    TooLong "too_long" "a name or data is longer than allowed",
    /// The sender's list of servers differs from this client's list.
    Ssig "ssig" "its sender has another list of servers",
    /// The message is of a type that only servers receive.
    NotForClients "not_for_clients" "only servers receive such a message",
    /// The datagram did not come from the listed address of the server that it names.
    NotAServer "not_a_server" "its sender is not the server that it claims to be",
    /// The message is for another session.
    NotForMe "not_for_me" "it is for another session",
    /// The client has no session, and the message is no answer to LOGIN.
    NoSession "no_session" "this client has no session",
    /// The message is older than the client's state. The message has a lower configuration number than the state, or a
    /// msgnum that is no longer outstanding.
    Late "late" "a later message came before it",
    /// Another server is responsible for the token, or another server leads.
    NotResponsible "not_responsible" "another server is responsible",
    /// A REQUEST or RETURN for the token is outstanding. Only the server's answer to that message may change the token.
    Outstanding "outstanding" "an answer about the token is awaited",
    /// The message has an invalid field: a wrong number of servers, an empty token name, or a grant without the
    /// requested fencing number.
    Illegal "illegal" "a field has a value that is not allowed",
    /// The sender announces a client timeout so short that a session would end before its renewal is confirmed.
    ShortTimeout "short_timeout" "its sender announces a --client-timeout that is too short for a session",
    /// The answer to LOGIN has the id of a former session of this client. The client never uses such an id again.
    FormerSession "former_session" "it offers the id of a former session",
}
