//! Frames: header and payload.

use zerocopy::byteorder::network_endian::{U16, U32};

use super::payload::{self, LEN_OFFSET};
use super::{Kind, MAX_PAYLOAD_LEN, Message, VERSION};
use crate::layout::layout;
use crate::reader::Reader;
use crate::stream::{self, StreamState, Streamed};
use crate::writer::{self, Writer};
use crate::{DecodeError, EncodeError, Field, Problem};

/// A message and its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The sender's id.
    pub src_id: u32,
    /// The message.
    pub message: Message<'a>,
}

layout! {
    /// The header of every frame, 12 bytes.
    struct HeaderLayout {
        version: u8 = Version,
        kind: u8 = Type,
        reserved: U16 = Reserved,
        src_id: U32 = SrcId,
        payload_len: U32 = PayloadLen,
    }
}

impl HeaderLayout {
    /// If the header is legal, returns the message's kind and the payload's length in bytes.
    fn validate(&self) -> Result<(Kind, usize), DecodeError> {
        if self.version != VERSION {
            let value = self.version.into();
            return Err(DecodeError::new(
                Field::Version,
                0,
                Problem::Unknown { value },
            ));
        }
        let Some(kind) = Kind::from_wire(self.kind) else {
            let value = self.kind.into();
            return Err(DecodeError::new(Field::Type, 1, Problem::Unknown { value }));
        };
        if self.reserved != 0 {
            let value = self.reserved.get().into();
            return Err(DecodeError::new(
                Field::Reserved,
                2,
                Problem::Reserved { value },
            ));
        }
        let len = self.payload_len.get() as usize;
        if len > MAX_PAYLOAD_LEN {
            let (value, max) = (len as u64, MAX_PAYLOAD_LEN as u64);
            let problem = Problem::TooLarge { value, max };
            return Err(DecodeError::new(Field::PayloadLen, LEN_OFFSET, problem));
        }
        Ok((kind, len))
    }
}

impl<'a> Frame<'a> {
    /// Decodes a datagram that contains exactly one frame.
    ///
    /// # Errors
    /// Returns the first field that violates the [format](super#refused-frames), and its offset.
    pub fn decode_datagram(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let frame = Self::read(&mut reader)?;
        reader.end_of_datagram()?;
        Ok(frame)
    }

    /// Decodes the frame at the start of a stream.
    ///
    /// # Errors
    /// Returns the first field that violates the [format](super#refused-frames), and its offset.
    pub fn decode_stream(
        bytes: &'a [u8],
        state: StreamState,
    ) -> Result<Streamed<Self>, DecodeError> {
        stream::decode(bytes, state, Self::read)
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let header: &HeaderLayout = reader.view()?;
        let (kind, payload_len) = header.validate()?;
        reader.declare_end(payload_len);
        let message = Message::read(kind, reader)?;
        payload::require_end(reader, reader.offset() as u64)?;
        Ok(Self {
            src_id: header.src_id.get(),
            message,
        })
    }

    /// Returns how many bytes [`encode`](Self::encode) writes.
    pub fn encoded_len(&self) -> usize {
        writer::measure(|w| self.write(w))
    }

    /// Writes the frame at the start of `buf` and returns its length in bytes.
    ///
    /// # Errors
    /// Fails and writes no byte if `buf` is too small or an election has more than [`MAX_IDS`](super::MAX_IDS)
    /// candidates.
    pub fn encode(&self, buf: &mut [u8]) -> Result<usize, EncodeError> {
        writer::encode(buf, |w| self.write(w))
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let payload_len = writer::measure(|w| self.message.write(w));
        writer.layout(&HeaderLayout {
            version: VERSION,
            kind: self.message.kind() as u8,
            reserved: 0.into(),
            src_id: self.src_id.into(),
            // The message's own `write` reports a payload above the limit, so this value is never sent.
            payload_len: u32::try_from(payload_len).unwrap_or(u32::MAX).into(),
        });
        self.message.write(writer);
    }
}
