//! What decoding a byte stream has to say that decoding a datagram does not: how many bytes a
//! message took, and that there are not enough of them yet.

use crate::DecodeError;
use crate::reader::Reader;

/// Whether a stream may still bring bytes after those at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamState {
    /// More bytes may come.
    Open,
    /// The sender has closed its side: these bytes are the last.
    Ended,
}

/// What stands at the front of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed<M> {
    /// A whole message; the next one begins `consumed` bytes on.
    Message {
        /// The message.
        message: M,
        /// Bytes that it took.
        consumed: usize,
    },
    /// The beginning of a message, with nothing wrong so far. It is worth trying again when the
    /// stream has brought `more` bytes, or has ended; a caller who waits for that does work
    /// proportional to the bytes received, however few come at a time.
    Incomplete {
        /// Bytes that are missing at least, never 0.
        more: usize,
    },
}

/// Reads one message off the front of `bytes`.
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
