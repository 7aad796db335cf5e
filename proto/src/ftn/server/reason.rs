//! Why a datagram was dropped.

use crate::counted::reasons;

reasons! {
    /// Why a datagram changed nothing and was not answered, or only with CONFIG.
    pub enum Reason;

    /// It does not decode wholly, or a field of it cannot be.
    Malformed "malformed" "it is no message of the protocol",
    /// Another ssig.
    Signature "ssig" "its sender has another list of servers",
    /// `to` is not this server's index.
    NotForMe "not_for_me" "it is for another server",
    /// A type that servers send to clients.
    OtherRole "other_role" "only clients receive such a message",
    /// A server-to-server type from elsewhere than the listed address of server `from`.
    NotAServer "not_a_server" "its sender is not the server that it claims to be",
    /// A LOGIN whose `p` is not a port.
    Login "login" "its sender names a host, or no port",
    /// No session has this id at this address.
    NoSession "no_session" "its sender has no session",
    /// A name or data beyond the limits.
    TooLong "too_long" "a name or data is longer than allowed",
    /// Its sender announces a client timeout with which no session lasts.
    ShortTimeout "short_timeout" "its sender announces a --client-timeout that no session outlasts",
    /// An earlier message overtook it.
    Late "late" "a later message came before it",
    /// Nothing may be answered now: the role, the state or the authority for it is lacking.
    NotServing "not_serving" "this server may not answer it now",
    /// Another server answers such a message.
    NotResponsible "not_responsible" "another server is responsible",
    /// The role that such a message is for is another's.
    NotLeader "not_leader" "this server is not the leader",
    /// The leader that is followed was heard too recently.
    OtherLeader "other_leader" "another leader is followed",
    /// It names a configuration that its sender may not move this server to, or not at once.
    Ahead "ahead" "it names a configuration too far beyond the known one",
    /// No memory is left for it.
    Memory "memory" "there is no memory for it",
    /// As many sessions as allowed, or ids waiting for their second message.
    Full "full" "there are as many sessions as allowed",
    /// The server is shut down or has not started.
    Stopped "stopped" "this server is not running",
}
