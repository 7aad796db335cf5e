//! Why a datagram or an exchange was dropped (`docs/jitterbug.md`, section 11).

use ring_codec::{DecodeError, Field, Problem};

use crate::counted::reasons;

reasons! {
    /// Why a datagram changed nothing and was not answered, or an exchange was reset.
    pub enum Reason;

    /// A datagram, or an ended stream, is shorter than its message.
    Truncated "truncated" "it ends before its message does",
    /// Another version than 1.
    Version "version" "it is of another version of the protocol",
    /// A type that does not exist.
    Type "type" "its type does not exist",
    /// A datagram goes on after its message.
    Trailing "trailing" "it goes on after its message",
    /// A token_id of 0 or -2^31.
    Token "token" "its token_id is none",
    /// TP in a datagram, or TR on a stream.
    Transport "transport" "its type does not travel this way",
    /// Port 0, in TR1 or an entry of a list.
    Port "port" "a node cannot listen on port 0",
    /// An IPv4 source outside the subnet, or its network or broadcast address; an IPv6 source that is not link-local;
    /// a stream from the node's own address.
    OffLink "off_link" "its source is no node of this segment",
    /// TP1 or TP5 with a negative token_id.
    NotLeader "not_leader" "its sender does not hold the token that it gives",
    /// Not the message that is due, or TP5 with another token_id than TP1.
    Order "order" "it is not the message that is due",
    /// A list of more than max_nodes nodes.
    Count "count" "its list has too many nodes",
    /// A bit of meta, or of the flags of terms, that is reserved.
    Meta "meta" "a reserved bit is set",
    /// An entry whose address is none of a node.
    Node "node" "a node cannot have an address of its list",
    /// An address that is twice in a list.
    Duplicate "duplicate" "an address is twice in its list",
    /// TP4 whose list has not the hash of TP1.
    Hash "hash" "its list is not the one that was announced",
    /// A token of a ring that computes or decides in another way.
    Policy "policy" "its sender computes or decides in another way",
    /// A token of a node that announces an impossible lease.
    Lease "lease" "its sender announces a lease that no node may have",
    /// More than max_data bytes of data.
    Data "data" "it has too much data",
    /// An exchange that was not over after token_pass_timeout.
    Late "late" "it was not over in time",
    /// The peer, or the kernel, has reset the exchange.
    Reset "reset" "the connection was reset",
    /// A connection beside one from the same address, or beyond the 16 that may be open.
    TooMany "too_many" "there are too many connections",
}

impl Reason {
    /// What is wrong with bytes that do not decode.
    pub(super) fn of(error: &DecodeError) -> Self {
        match (error.problem, error.field) {
            (Problem::Truncated { .. }, _) => Self::Truncated,
            (Problem::OtherTransport { .. }, _) => Self::Transport,
            (Problem::Trailing { .. }, _) => Self::Trailing,
            (_, Field::Version) => Self::Version,
            (_, Field::TokenId) => Self::Token,
            (_, Field::Count) => Self::Count,
            (_, Field::Meta | Field::Flags) => Self::Meta,
            _ => Self::Type,
        }
    }
}
