//! Whole datagrams: head and message.

use super::{Kind, Message, Terms, wire};
use crate::reader::Reader;
use crate::writer::{self, Writer};
use crate::{DecodeError, EncodeError, Field};

/// Who a message is from and to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// The sender: a server's index or a session's id.
    pub from: i32,
    /// The recipient, likewise.
    pub to: i32,
    /// The sender's [`server_signature`](super::server_signature).
    pub ssig: i32,
}

/// A message with its head. Two are equal if their values are, in whatever form.
#[derive(Debug, Clone, Copy)]
pub struct Datagram<'a> {
    header: Header,
    message: Message<'a>,
    terms: Option<Terms>,
    /// The bytes that this was decoded from.
    received: Option<&'a [u8]>,
}

impl<'a> Datagram<'a> {
    /// A datagram that encodes to the shortest form of these values.
    pub const fn new(header: Header, message: Message<'a>) -> Self {
        Self {
            header,
            message,
            terms: None,
            received: None,
        }
    }

    /// The same with its sender's options behind it, if a message of its type has room for them.
    pub const fn with_terms(self, terms: Terms) -> Self {
        Self {
            terms: terms.behind(self.message.kind()),
            ..self
        }
    }

    /// Reads a whole datagram.
    ///
    /// # Errors
    /// Names the first field that breaks the [format](super#what-is-refused), and its offset.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let kind = wire::known(&mut reader, Field::Type, |value| {
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

    /// Who it is from and to.
    pub const fn header(&self) -> Header {
        self.header
    }

    /// What it says.
    pub const fn message(&self) -> Message<'a> {
        self.message
    }

    /// Its sender's options, if it says them.
    pub const fn terms(&self) -> Option<Terms> {
        self.terms
    }

    /// Whether every integer of it is in the shortest form, lengths and counts included.
    pub fn is_shortest(&self) -> bool {
        self.encoded_len() == writer::measure(|w| self.write_shortest(w))
    }

    /// How many bytes [`encode`](Self::encode) writes.
    pub fn encoded_len(&self) -> usize {
        writer::measure(|w| self.write(w))
    }

    /// Writes the datagram at the start of `buf` and returns its length in bytes: the very bytes
    /// that it was decoded from, or the shortest form of a new one.
    ///
    /// # Errors
    /// Writes nothing if `buf` is too small or the message breaks the [format](super).
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
