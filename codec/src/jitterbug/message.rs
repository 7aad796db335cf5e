//! The eight messages.

use super::{MAX_NODES, Node, Terms, TokenId, VERSION, tp1, tp4, tp5, tp6, tr1, tr2};
use crate::list::List;
use crate::messages::messages;
use crate::reader::Reader;
use crate::stream::{self, StreamState, Streamed};
use crate::writer::{self, Writer};
use crate::{DecodeError, EncodeError, Field, Problem};

messages! {
    /// A message's type: the high four bits of its first byte.
    kind Kind;
    /// A message. Parts of variable length are borrowed from the input.
    message Message;

    /// UDP broadcast: an orphan asks whether a better token exists.
    0 "TR1" Tr1 {
        /// The token that the sender wants to restore.
        token_id: TokenId,
        /// The port of the sender's TCP listener.
        node_tcp_port: u16,
        /// The sender's terms. A node of an older version sends no terms.
        terms: Option<Terms>,
    } in tr1;

    /// UDP: a leader, or a node that knows a better token, answers a TR1.
    1 "TR2" Tr2 {
        /// The answering node's token.
        token_id: TokenId,
        /// The sender's terms, if the TR1 had terms.
        terms: Option<Terms>,
    } in tr2;

    /// TCP: the leader offers the token.
    2 "TP1" Tp1 {
        /// The leader's token.
        token_id: TokenId,
        /// The hash of the leader's node list.
        node_list_hash: i32,
    } in tp1;

    /// TCP: the candidate's node list differs from the leader's list.
    3 "TP2" Tp2;

    /// TCP: the candidate's node list equals the leader's list.
    4 "TP3" Tp3;

    /// TCP: the leader's node list.
    5 "TP4" Tp4 {
        /// The nodes in the order in which leaders added them.
        node_list: List<'a, Node>,
    } in tp4;

    /// TCP: the leader passes the token. The message ends with the stream.
    6 "TP5" Tp5 {
        /// The token.
        token_id: TokenId,
        /// The application's data.
        data: &'a [u8],
    } in tp5;

    /// TCP: the leader sends its terms before TP1.
    7 "TP6" Tp6 {
        /// The leader's terms.
        terms: Terms,
    } in tp6;
}

impl Kind {
    /// Whether messages of this type are datagrams. All other messages are parts of a stream.
    pub const fn is_datagram(self) -> bool {
        matches!(self, Self::Tr1 | Self::Tr2)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let offset = reader.offset();
        let first = reader.u8(Field::Type)?;
        let (version, kind) = (first & 0x0f, first >> 4);
        let unknown_value = |field, value: u8| {
            let value = value.into();
            DecodeError::new(field, offset, Problem::Unknown { value })
        };
        if version != VERSION {
            return Err(unknown_value(Field::Version, version));
        }
        Self::from_wire(kind).ok_or_else(|| unknown_value(Field::Type, kind))
    }

    fn require_transport(self, is_datagram: bool) -> Result<Self, DecodeError> {
        if self.is_datagram() == is_datagram {
            return Ok(self);
        }
        let value = (self as u8).into();
        Err(DecodeError::new(
            Field::Type,
            0,
            Problem::OtherTransport { value },
        ))
    }
}

impl<'a> Message<'a> {
    /// Decodes a datagram that is exactly one message.
    ///
    /// # Errors
    /// Returns the first field that violates the [format](super#refused-messages), and its offset.
    pub fn decode_datagram(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let kind = Kind::read(&mut reader)?.require_transport(true)?;
        let message = Self::read(kind, &mut reader)?;
        reader.end_of_datagram()?;
        Ok(message)
    }

    /// Decodes the message at the start of a stream. A node list may have at most `max_nodes` nodes and at most
    /// [`MAX_NODES`].
    ///
    /// A [`Tp5`](Self::Tp5) contains no length, so it is incomplete until the stream ends.
    ///
    /// # Errors
    /// Returns the first field that violates the [format](super#refused-messages), and its offset.
    pub fn decode_stream(
        bytes: &'a [u8],
        state: StreamState,
        max_nodes: u32,
    ) -> Result<Streamed<Self>, DecodeError> {
        stream::decode(bytes, state, |reader| {
            reader.limit_counts(max_nodes.min(MAX_NODES));
            let kind = Kind::read(reader)?.require_transport(false)?;
            let message = Self::read(kind, reader)?;
            if kind == Kind::Tp5 && state == StreamState::Open {
                return Err(reader.wait_for_end());
            }
            Ok(message)
        })
    }

    /// Returns how many bytes [`encode`](Self::encode) writes.
    pub fn encoded_len(&self) -> usize {
        writer::measure(|w| self.write_with_type(w))
    }

    /// Writes the message at the start of `buf` and returns its length in bytes.
    ///
    /// # Errors
    /// Fails and writes no byte if `buf` is too small or the node list has more than [`MAX_NODES`] nodes.
    pub fn encode(&self, buf: &mut [u8]) -> Result<usize, EncodeError> {
        writer::encode(buf, |w| self.write_with_type(w))
    }

    fn write_with_type(&self, writer: &mut Writer<'_>) {
        writer.bytes(&[(self.kind() as u8) << 4 | VERSION]);
        self.write(writer);
    }
}
