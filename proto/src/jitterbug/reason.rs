//! The reasons why datagrams and exchanges are dropped (`docs/jitterbug/protocol/messages.md` X1).

use ring_codec::{DecodeError, Field, Problem};

use crate::counter_macros::reasons;

reasons! {
    /// The reason why a datagram was dropped, or an exchange was reset. A dropped datagram gets no answer.
    pub enum Reason;

    /// A datagram or an ended stream is shorter than its message.
    Truncated "truncated" "the message is incomplete",
    /// The version is not 1.
    Version "version" "the version of the protocol is unknown",
    /// The type does not exist.
    Type "type" "the type of the message is unknown",
    /// A datagram is longer than its message.
    Trailing "trailing" "there are bytes after the message",
    /// The token_id is 0 or -2^31.
    Token "token" "the token_id is illegal",
    /// A message for streams (TP) came in a datagram, or a message for datagrams (TR) came on a stream.
    Transport "transport" "this transport does not allow the type of the message",
    /// The port in TR1 or in an entry of a list is 0.
    Port "port" "a node cannot listen on port 0",
    /// The source is outside the IPv4 subnet, is the subnet's network or broadcast address, or is an IPv6 address that
    /// is not link-local. The source of a stream may also be the node's own address.
    OffLink "off_link" "the source is not in this network segment",
    /// TP1 or TP5 has a negative token_id.
    NotLeader "not_leader" "the sender does not hold the token that it passes",
    /// The exchange needs a different message now, or the token_id in TP5 differs from the token_id in TP1.
    Order "order" "the exchange needs another message now",
    /// A list contains more than max_nodes nodes.
    Count "count" "the node list has too many nodes",
    /// A reserved bit is set, in the meta of an entry or in the flags of terms.
    Meta "meta" "a reserved bit is set",
    /// An entry contains an impossible address.
    Node "node" "the node list has an address that no node can have",
    /// An address is twice in a list.
    Duplicate "duplicate" "the node list has an address twice",
    /// The hash of the list in TP4 differs from the hash in TP1.
    Hash "hash" "the node list does not match the announced hash",
    /// The token belongs to a ring with a different computation or decision.
    Policy "policy" "the sender has a different --compute or --decide",
    /// The giver announces an impossible lease.
    Lease "lease" "the sender announces an impossible lease",
    /// The data are longer than max_data bytes.
    Data "data" "the token has too much data",
    /// An exchange took longer than token_pass_timeout.
    Late "late" "the exchange took longer than --token-pass-timeout",
    /// The peer or the kernel reset the exchange.
    Reset "reset" "the connection was reset",
    /// The address already has an open connection, or 16 connections already exist.
    TooMany "too_many" "there are too many connections",
}

impl Reason {
    /// Returns the reason for bytes that do not decode.
    pub(super) fn of(error: &DecodeError) -> Self {
        // The kind of problem comes first: an incomplete message may break off in any field.
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
