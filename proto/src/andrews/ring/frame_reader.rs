//! Reads frames from a stream. The stream may be split at any byte (`docs/board/protocol/members.md` M6).

use ring_codec::andrews::Frame;
use ring_codec::{DecodeError, StreamState, Streamed};

use crate::andrews::message::{FRAME_LEN_MAX, OwnedMessage};
use crate::buffer::append;
use crate::time::Instant;

/// The bytes of an incomplete frame. The stored bytes never exceed one frame.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    bytes: Vec<u8>,
    /// The number of bytes that the reader needs before it tries to decode again.
    needed: usize,
    begun: Option<Instant>,
}

impl FrameReader {
    /// Removes the next frame from the front of `input`, and returns its sender and its message. Returns `None` if the
    /// reader has taken all bytes of `input` and the frame is still incomplete.
    pub(super) fn next(
        &mut self,
        input: &mut &[u8],
        now: Instant,
    ) -> Result<Option<(u32, OwnedMessage)>, DecodeError> {
        loop {
            let is_begun = !self.bytes.is_empty();
            // A frame that has arrived whole is decoded in place. Only a split frame is copied.
            let source = if is_begun {
                // The frame gets only the bytes that it needs, because the rest belongs to the next frame.
                let missing = self.needed.saturating_sub(self.bytes.len());
                let (taken, rest) = input.split_at(missing.min(input.len()));
                append(&mut self.bytes, taken, FRAME_LEN_MAX);
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
                        // The buffer ends exactly with its frame, so no byte of the next frame is lost.
                        *self = Self::default();
                    } else {
                        *input = input.get(consumed..).unwrap_or_default();
                    }
                    return Ok(Some(frame));
                }
                Streamed::Incomplete { more } if is_begun => self.needed = self.bytes.len() + more,
                Streamed::Incomplete { more } => {
                    // The buffer grows with the bytes that have arrived, and not with an announced length.
                    append(&mut self.bytes, input, FRAME_LEN_MAX);
                    self.needed = self.bytes.len() + more;
                    // The time limit of a frame begins once, so that a slow sender cannot extend it.
                    self.begun = Some(now);
                    *input = &[];
                    return Ok(None);
                }
            }
        }
    }

    /// Returns the arrival time of the incomplete frame's first byte.
    pub(super) const fn begun_at(&self) -> Option<Instant> {
        self.begun
    }

    /// Returns the type of the incomplete frame, if this byte has arrived.
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
