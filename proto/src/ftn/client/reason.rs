//! Reasons for which the client drops a datagram.

use crate::counter_macros::reasons;

reasons! {
    /// Reason why a client dropped a datagram (`docs/ftn.md`, section 3).
    pub enum DropReason;

    /// The datagram does not decode.
    Malformed "malformed" "it is no message of the protocol",
    /// The name is longer than 1 KiB, or the data are longer than 32 KiB.
    TooLong "too_long" "a name or data is longer than allowed",
    /// The sender has another list of servers.
    Ssig "ssig" "its sender has another list of servers",
    /// The message is of a type that only servers receive.
    NotForClients "not_for_clients" "only servers receive such a message",
    /// The datagram did not come from the listed address of the server that it names.
    NotAServer "not_a_server" "its sender is not the server that it claims to be",
    /// The message is for another session.
    NotForMe "not_for_me" "it is for another session",
    /// The client has no session, and the message is no answer to LOGIN.
    NoSession "no_session" "this client has no session",
    /// The message is older than the client's state: it has a lower configuration number, or a msgnum that is no longer
    /// outstanding.
    Late "late" "a later message came before it",
    /// Another server is responsible for the token, or another server leads.
    NotResponsible "not_responsible" "another server is responsible",
    /// A REQUEST or RETURN for the token is outstanding, and its answer settles the matter.
    Outstanding "outstanding" "an answer about the token is awaited",
    /// The configuration has another number of servers, a token has the empty name, or a grant lacks the fencing number.
    Illegal "illegal" "a field has a value that is not allowed",
    /// The sender ends sessions before their renewals are confirmed.
    ShortTimeout "short_timeout" "its sender announces a --client-timeout that no session outlasts",
    /// The answer to LOGIN has the id of a former session of this client, which it never uses again.
    FormerSession "former_session" "it offers the id of a former session",
}
