//! Frames off a stream that may be cut at any byte (`docs/board.md`, section 11).

use ring_codec::andrews::Frame;
use ring_codec::{DecodeError, StreamState, Streamed};

use crate::andrews::message::{LONGEST, Said};
use crate::buffer::append;
use crate::time::Instant;

/// The beginning of a frame whose rest has not come. It is never longer than one frame.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    bytes: Vec<u8>,
    /// Bytes for which it is worth to wait before the next try.
    needed: usize,
    begun: Option<Instant>,
}

impl FrameReader {
    /// Takes the next frame off the front of `input`: its sender and what it says. `None`: all was taken, and more is
    /// needed.
    pub(super) fn next(
        &mut self,
        input: &mut &[u8],
        now: Instant,
    ) -> Result<Option<(u32, Said)>, DecodeError> {
        loop {
            let is_begun = !self.bytes.is_empty();
            let source = if is_begun {
                let missing = self.needed.saturating_sub(self.bytes.len());
                let (taken, rest) = input.split_at(missing.min(input.len()));
                append(&mut self.bytes, taken, LONGEST);
                *input = rest;
                if self.bytes.len() < self.needed {
                    return Ok(None);
                }
                &self.bytes
            } else {
                if input.is_empty() {
                    return Ok(None);
                }
                *input
            };
            match Frame::decode_stream(source, StreamState::Open)? {
                Streamed::Message { message, consumed } => {
                    let frame = (message.src_id, message.message.into());
                    if is_begun {
                        *self = Self::default();
                    } else {
                        *input = input.get(consumed..).unwrap_or_default();
                    }
                    return Ok(Some(frame));
                }
                Streamed::Incomplete { more } if is_begun => self.needed = self.bytes.len() + more,
                Streamed::Incomplete { more } => {
                    append(&mut self.bytes, input, LONGEST);
                    self.needed = self.bytes.len() + more;
                    self.begun = Some(now);
                    *input = &[];
                    return Ok(None);
                }
            }
        }
    }

    /// When a frame was begun that is not complete.
    pub(super) const fn begun(&self) -> Option<Instant> {
        self.begun
    }

    /// The type of a frame that is begun, as far as it has come.
    pub(super) fn kind(&self) -> Option<u8> {
        self.bytes.get(1).copied()
    }
}

#[cfg(test)]
impl FrameReader {
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }
}
