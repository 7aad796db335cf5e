//! The reasons for which datagrams and exchanges are dropped (`docs/jitterbug.md`, section 11).

use ring_codec::{DecodeError, Field, Problem};

use crate::counted::reasons;

reasons! {
    /// The reason for which a datagram was dropped, or an exchange was reset. A dropped datagram gets no answer.
    pub enum Reason;

    /// A datagram, or an ended stream, is shorter than its message.
    Truncated "truncated" "it ends before its message does",
    /// The version is not 1.
    Version "version" "it is of another version of the protocol",
    /// The type does not exist.
    Type "type" "its type does not exist",
    /// A datagram is longer than its message.
    Trailing "trailing" "it goes on after its message",
    /// The token_id is 0 or -2^31.
    Token "token" "its token_id is none",
    /// A TP came in a datagram, or a TR on a stream.
    Transport "transport" "its type does not travel this way",
    /// The port in TR1 or in an entry of a list is 0.
    Port "port" "a node cannot listen on port 0",
    /// The source is outside the IPv4 subnet, or is its network or broadcast address, or is IPv6 and not link-local.
    /// For a stream also: it is the node's own address.
    OffLink "off_link" "its source is no node of this segment",
    /// TP1 or TP5 has a negative token_id.
    NotLeader "not_leader" "its sender does not hold the token that it gives",
    /// Another message is due, or TP5 has another token_id than TP1.
    Order "order" "it is not the message that is due",
    /// A list has more than max_nodes nodes.
    Count "count" "its list has too many nodes",
    /// A reserved bit of an entry's meta, or of the flags of terms, is set.
    Meta "meta" "a reserved bit is set",
    /// An entry has an address that no node can have.
    Node "node" "a node cannot have an address of its list",
    /// An address is twice in a list.
    Duplicate "duplicate" "an address is twice in its list",
    /// The list of TP4 does not have the hash of TP1.
    Hash "hash" "its list is not the one that was announced",
    /// The token belongs to a ring that computes or decides in another way.
    Policy "policy" "its sender computes or decides in another way",
    /// The giver announces an impossible lease.
    Lease "lease" "its sender announces a lease that no node may have",
    /// The data has more than max_data bytes.
    Data "data" "it has too much data",
    /// An exchange took longer than token_pass_timeout.
    Late "late" "it was not over in time",
    /// The peer or the kernel has reset the exchange.
    Reset "reset" "the connection was reset",
    /// The connection is a second one of its address, or exceeds the limit of 16.
    TooMany "too_many" "there are too many connections",
}

impl Reason {
    /// Returns the reason for bytes that do not decode.
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
