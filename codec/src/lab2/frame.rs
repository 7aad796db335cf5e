//! Whole frames: Ethernet header, message header, message.

use super::parts::{EthernetHeader, HeaderLayout};
use super::{Kind, Message};
use crate::reader::Reader;
use crate::writer::{self, Writer};
use crate::{DecodeError, EncodeError, MacAddr, Problem};

/// A message with the addresses of the frame that carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// A member's address or [`MacAddr::BROADCAST`].
    pub destination: MacAddr,
    /// The Ethernet source address, which is the message's author.
    pub author: MacAddr,
    /// What the author says.
    pub message: Message<'a>,
}

impl HeaderLayout {
    /// The kind of a header that began at `offset` in a frame from `source`.
    #[inline]
    fn legal(self, offset: usize, source: MacAddr) -> Result<Kind, DecodeError> {
        let Some(kind) = Kind::from_wire(self.kind) else {
            let value = self.kind.into();
            return Err(DecodeError::new("kind", offset, Problem::Unknown { value }));
        };
        if self.reserved != 0 {
            let value = self.reserved.into();
            let problem = Problem::Reserved { value };
            return Err(DecodeError::new("reserved", offset + 1, problem));
        }
        let author = |problem| DecodeError::new("messageAuthorMAC", offset + 2, problem);
        if !self.author.is_station() {
            return Err(author(Problem::NotAStation));
        }
        if self.author != source {
            return Err(author(Problem::NotTheSource));
        }
        Ok(kind)
    }
}

impl<'a> Frame<'a> {
    /// Reads a whole Ethernet frame; bytes after the message's own length are padding.
    /// The EtherType is not looked at: the socket's filter has done that.
    ///
    /// # Errors
    /// Names the first field that breaks the [format](super#what-is-refused), and its offset in
    /// the frame.
    #[inline]
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let ethernet: &EthernetHeader = reader.view()?;
        let offset = reader.offset();
        let header: &HeaderLayout = reader.view()?;
        let kind = header.legal(offset, ethernet.source)?;
        Ok(Self {
            destination: ethernet.destination,
            author: header.author,
            message: Message::read(kind, &mut reader)?,
        })
    }

    /// How many bytes [`encode`](Self::encode) writes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        writer::measure(|w| self.write(0, w))
    }

    /// Writes the whole Ethernet frame at the start of `buf` and returns its length in bytes.
    ///
    /// # Errors
    /// Writes nothing if `buf` is too small or the message breaks the [format](super).
    #[inline]
    pub fn encode(&self, ethertype: u16, buf: &mut [u8]) -> Result<usize, EncodeError> {
        writer::encode(buf, |w| self.write(ethertype, w))
    }

    #[inline]
    fn write(&self, ethertype: u16, writer: &mut Writer<'_>) {
        writer.require(self.author.is_station(), "messageAuthorMAC");
        writer.layout(&EthernetHeader {
            destination: self.destination,
            source: self.author,
            ethertype: ethertype.into(),
        });
        writer.layout(&HeaderLayout {
            kind: self.message.kind() as u8,
            reserved: 0,
            author: self.author,
        });
        self.message.write(writer);
    }
}
