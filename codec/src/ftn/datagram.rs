//! Datagrams: a head and a message.

use super::{Kind, Message, Terms, wire};
use crate::reader::Reader;
use crate::writer::{self, Writer};
use crate::{DecodeError, EncodeError, Field};

/// Head of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// Sender: a server's index or a session's id.
    pub from: i32,
    /// Recipient: a server's index or a session's id.
    pub to: i32,
    /// [`server_signature`](super::server_signature) of the sender's list.
    pub ssig: i32,
}

/// A message with its head. Two datagrams are equal if their values are equal, even if their bytes differ.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    header: Header,
    message: Message<'a>,
    terms: Option<Terms>,
    /// Bytes of the received datagram; `None` for a new datagram.
    received: Option<&'a [u8]>,
}

impl<'a> Datagram<'a> {
    /// Returns a datagram that encodes to the shortest form of these values.
    pub const fn new(header: Header, message: Message<'a>) -> Self {
        Self {
            header,
            message,
            terms: None,
            received: None,
        }
    }

    /// If this message type has a trailer, adds the sender's options as a trailer.
    pub const fn with_terms(self, terms: Terms) -> Self {
        Self {
            terms: terms.for_kind(self.message.kind()),
            ..self
        }
    }

    /// Decodes a datagram from all of `bytes`.
    ///
    /// # Errors
    /// Returns the first field that breaks the [format](super#refused-datagrams), with its offset.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let kind = wire::decode_enum(&mut reader, Field::Type, |value| {
            u8::try_from(value).ok().and_then(Kind::from_wire)
        })?;
        let header = Header {
            from: wire::int(&mut reader, Field::From)?,
            to: wire::int(&mut reader, Field::To)?,
            ssig: wire::int(&mut reader, Field::Ssig)?,
        };
        let message = Message::read(kind, &mut reader)?;
        let terms = Terms::read(kind, &mut reader)?;
        reader.end_of_datagram()?;
        Ok(Self {
            header,
            message,
            terms,
            received: Some(bytes),
        })
    }

    /// Returns the head.
    pub const fn header(&self) -> Header {
        self.header
    }

    /// Returns the message.
    pub const fn message(&self) -> Message<'a> {
        self.message
    }

    /// Returns the sender's options; `None` if the datagram contains none.
    pub const fn terms(&self) -> Option<Terms> {
        self.terms
    }

    /// Whether every integer, length and count is in the shortest form.
    pub fn is_shortest(&self) -> bool {
        self.encoded_len() == writer::measure(|w| self.write_shortest(w))
    }

    /// Returns how many bytes [`encode`](Self::encode) writes.
    pub fn encoded_len(&self) -> usize {
        writer::measure(|w| self.write(w))
    }

    /// Writes the datagram at the start of `buf` and returns its length in bytes. A decoded datagram is encoded as the
    /// same bytes again. A new datagram is written in the shortest form.
    ///
    /// # Errors
    /// Returns an error, and writes nothing, if `buf` is too small or the message breaks the [format](super).
    pub fn encode(&self, buf: &mut [u8]) -> Result<usize, EncodeError> {
        writer::encode(buf, |w| self.write(w))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self.received {
            Some(bytes) => writer.bytes(bytes),
            None => self.write_shortest(writer),
        }
    }

    fn write_shortest(&self, writer: &mut Writer<'_>) {
        let Header { from, to, ssig } = self.header;
        wire::put(writer, self.message.kind() as u8);
        for value in [from, to, ssig] {
            wire::put(writer, value);
        }
        self.message.write(writer);
        if let Some(terms) = self.terms {
            terms.write(writer);
        }
    }
}

impl PartialEq for Datagram<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.header, self.message, self.terms) == (other.header, other.message, other.terms)
    }
}

impl Eq for Datagram<'_> {}
