//! The framing: one JSON value per line in both directions.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Maximum length of a request in bytes, including its newline.
pub const REQUEST_LEN_MAX: usize = 4096;

/// The reason why a line is not a valid message.
#[derive(Debug, Error)]
pub enum FramingError {
    /// The line is longer than a request may be.
    #[error("a request must end with a newline within {REQUEST_LEN_MAX} bytes")]
    TooLong,
    /// The line is not JSON, or not a known message.
    #[error("unknown message: {0}")]
    Json(#[from] serde_json::Error),
}

/// A buffer that splits received bytes into lines. It holds at most `MAX` bytes, so no line is longer than `MAX` bytes.
#[derive(Debug)]
pub struct LineBuffer<const MAX: usize = REQUEST_LEN_MAX> {
    bytes: Box<[u8; MAX]>,
    filled: usize,
}

impl<const MAX: usize> LineBuffer<MAX> {
    /// Creates an empty buffer.
    pub fn new() -> Self {
        Self {
            bytes: Box::new([0; MAX]),
            filled: 0,
        }
    }

    /// Returns the free space for the next bytes. After [`next_line`](Self::next_line) returns `None`, the free space
    /// has at least one byte.
    pub fn space(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }

    /// Marks the first `len` bytes of [`space`](Self::space) as filled.
    pub fn mark_filled(&mut self, len: usize) {
        self.filled = (self.filled + len).min(MAX);
    }

    /// Whether [`next_line`](Self::next_line) would return a line or an error.
    pub fn has_line(&self) -> bool {
        self.filled == MAX || self.bytes[..self.filled].contains(&b'\n')
    }

    /// Removes the next complete line from the buffer and parses it. Returns `None` if no line is complete.
    ///
    /// # Errors
    /// Fails if the line is not a message, or if the line is too long. After a line that is too long, the buffer can
    /// return no further lines.
    pub fn next_line<T: DeserializeOwned>(&mut self) -> Option<Result<T, FramingError>> {
        let held = &self.bytes[..self.filled];
        let Some(end) = held.iter().position(|&byte| byte == b'\n') else {
            return (self.filled == MAX).then_some(Err(FramingError::TooLong));
        };
        let parsed = serde_json::from_slice(&held[..end]).map_err(FramingError::from);
        self.bytes.copy_within(end + 1..self.filled, 0);
        self.filled -= end + 1;
        Some(parsed)
    }
}

impl<const MAX: usize> Default for LineBuffer<MAX> {
    fn default() -> Self {
        Self::new()
    }
}

/// Encodes a message as a line, including its newline.
///
/// # Errors
/// Fails if the message cannot be encoded as JSON.
pub fn to_line<T: Serialize>(message: &T) -> Result<Vec<u8>, FramingError> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::{FramingError, LineBuffer, REQUEST_LEN_MAX, to_line};
    use crate::{NoRequest, Reply};

    type Request = crate::Request<NoRequest>;

    fn put(buffer: &mut LineBuffer, bytes: &[u8]) {
        buffer.space()[..bytes.len()].copy_from_slice(bytes);
        buffer.mark_filled(bytes.len());
    }

    #[test]
    fn a_request_is_one_line() {
        let line = to_line(&Request::Status).unwrap();
        assert_eq!(line, b"{\"request\":\"status\"}\n");
    }

    #[test]
    fn an_error_with_a_newline_is_one_line() {
        let line = to_line(&Reply::Error("one\ntwo".to_owned())).unwrap();
        assert_eq!(line, b"{\"error\":\"one\\ntwo\"}\n");
    }

    #[test]
    fn lines_are_complete_however_bytes_arrive() {
        let two = b"{\"request\":\"status\"}\n{\"request\":\"status\"}\n";
        for cut in 0..two.len() {
            let mut buffer = LineBuffer::new();
            let mut requests = 0;
            for part in [&two[..cut], &two[cut..]] {
                put(&mut buffer, part);
                while let Some(line) = buffer.next_line::<Request>() {
                    assert_eq!(line.unwrap(), Request::Status);
                    requests += 1;
                }
            }
            assert_eq!(requests, 2, "cut at {cut}");
        }
    }

    #[test]
    fn a_wrong_line_does_not_affect_the_next_one() {
        let mut buffer = LineBuffer::new();
        put(&mut buffer, b"\xff\n{}\n{\"request\":\"status\"}\n");
        for _ in 0..2 {
            let error = buffer.next_line::<Request>().unwrap().unwrap_err();
            assert!(matches!(error, FramingError::Json(_)));
        }
        assert_eq!(
            buffer.next_line::<Request>().unwrap().unwrap(),
            Request::Status
        );
        assert!(buffer.next_line::<Request>().is_none());
    }

    #[test]
    fn a_line_without_end_is_refused_when_the_buffer_is_full() {
        let mut buffer = LineBuffer::new();
        put(&mut buffer, &[b'x'; REQUEST_LEN_MAX - 1]);
        assert!(buffer.next_line::<Request>().is_none());
        put(&mut buffer, b"x");
        let error = buffer.next_line::<Request>().unwrap().unwrap_err();
        assert!(matches!(error, FramingError::TooLong));
        assert!(buffer.space().is_empty());
    }
}
