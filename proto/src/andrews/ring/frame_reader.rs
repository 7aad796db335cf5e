//! Reading frames from a stream, which may be split at any byte (`docs/board.md`, section 11).

use ring_codec::andrews::Frame;
use ring_codec::{DecodeError, StreamState, Streamed};

use crate::andrews::message::{FRAME_LEN_MAX, OwnedMessage};
use crate::buffer::append;
use crate::time::Instant;

/// The beginning of a frame that is not complete. It is never longer than one frame.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    bytes: Vec<u8>,
    /// How many bytes the next attempt to decode needs.
    needed: usize,
    begun: Option<Instant>,
}

impl FrameReader {
    /// Removes the next frame from the front of `input`, and returns its sender and its message. `None`: all bytes were
    /// taken, and more are needed.
    pub(super) fn next(
        &mut self,
        input: &mut &[u8],
        now: Instant,
    ) -> Result<Option<(u32, OwnedMessage)>, DecodeError> {
        loop {
            let is_begun = !self.bytes.is_empty();
            // Whole frames are decoded where they are. Only a frame that is split is copied.
            let source = if is_begun {
                // No more is taken than the frame needs: the rest belongs to the next frame.
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
                        *self = Self::default();
                    } else {
                        *input = input.get(consumed..).unwrap_or_default();
                    }
                    return Ok(Some(frame));
                }
                Streamed::Incomplete { more } if is_begun => self.needed = self.bytes.len() + more,
                Streamed::Incomplete { more } => {
                    append(&mut self.bytes, input, FRAME_LEN_MAX);
                    self.needed = self.bytes.len() + more;
                    self.begun = Some(now);
                    *input = &[];
                    return Ok(None);
                }
            }
        }
    }

    /// Returns when the incomplete frame began.
    pub(super) const fn begun_at(&self) -> Option<Instant> {
        self.begun
    }

    /// Returns the type of the incomplete frame, if it has arrived.
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
