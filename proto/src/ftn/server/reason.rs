//! Reasons why a server drops a datagram.

use crate::counter_macros::reasons;

reasons! {
    /// Reason why a datagram had no effect. The sender of the datagram got no answer, or only a CONFIG.
    pub enum DropReason;

    /// The datagram does not decode, or contains a forbidden value.
    Malformed "malformed" "it is no message of the protocol",
    /// The sender's list of servers differs from this server's list.
    Signature "ssig" "its sender has a different list of servers",
    /// `to` is not the index of this server.
    NotForMe "not_for_me" "it is for another server",
    /// Only servers send this type, and they send it to clients.
    OtherRole "other_role" "only clients receive such a message",
    /// Servers send this type to each other, and the sender does not have the address of server `from`.
    NotAServer "not_a_server" "its sender is not the server that it claims to be",
    /// `p` of a LOGIN is not a port.
    Login "login" "its sender names a host, or no port",
    /// No session has this id and this address.
    NoSession "no_session" "its sender has no session",
    /// A name or the data is longer than allowed.
    TooLong "too_long" "a name or data is longer than allowed",
    /// The sender announces a client timeout that is too short for a session.
    ShortTimeout "short_timeout" "its sender announces a --client-timeout that is too short for a session",
    /// A later message overtook the datagram.
    Late "late" "a later message came before it",
    /// The server's role, state or authority does not allow an answer now.
    NotServing "not_serving" "this server may not answer it now",
    /// A different server must answer the message.
    NotResponsible "not_responsible" "another server is responsible",
    /// Only the leader handles the message.
    NotLeader "not_leader" "this server is not the leader",
    /// The server follows a different leader, from which it received a message recently.
    OtherLeader "other_leader" "this server follows another leader",
    /// The message names a configuration number beyond the limit for its sender.
    Ahead "ahead" "it names a configuration number that is too far above the known number",
    /// There is not enough memory for the message.
    Memory "memory" "there is no memory for it",
    /// The number of sessions or of pending ids has reached its limit.
    Full "full" "there are as many sessions as allowed",
    /// The server has not started, or has left.
    Stopped "stopped" "this server is not running",
}
