//! Decoding from byte streams. The result contains the length of the decoded message, or the number of missing bytes.

use crate::DecodeError;
use crate::reader::Reader;

/// Whether a stream may bring more bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamState {
    /// More bytes may come.
    Open,
    /// The sender closed its side, so no more bytes follow.
    Ended,
}

/// The result of decoding the front of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed<M> {
    /// A whole message. The next message begins after `consumed` bytes.
    Message {
        /// The message.
        message: M,
        /// The length of the message, in bytes.
        consumed: usize,
    },
    /// The valid beginning of a message. Decode again when `more` bytes have arrived, or when the stream has ended. If
    /// the caller waits for `more` bytes each time, the total work is proportional to the number of received bytes.
    /// This is also true if only a few bytes arrive at a time.
    Incomplete {
        /// The smallest number of missing bytes, never 0.
        more: usize,
    },
}

/// Reads one message from the front of `bytes`.
pub(crate) fn decode<'a, M>(
    bytes: &'a [u8],
    state: StreamState,
    read: impl FnOnce(&mut Reader<'a>) -> Result<M, DecodeError>,
) -> Result<Streamed<M>, DecodeError> {
    let mut reader = Reader::new(bytes);
    match read(&mut reader) {
        Ok(message) => Ok(Streamed::Message {
            message,
            consumed: reader.offset(),
        }),
        Err(error) if error.is_truncated() && state == StreamState::Open => {
            Ok(Streamed::Incomplete {
                more: reader.missing(),
            })
        }
        Err(error) => Err(error),
    }
}
