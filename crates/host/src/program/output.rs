//! Reads a program's output, either line by line or as a whole.

use std::io::{ErrorKind, Read};

/// Maximum length of a line, in bytes. The rest of a longer line is dropped.
const LINE_LEN_MAX: usize = 1000;
/// Maximum number of bytes that are read from one stream before the next stream is read.
pub(super) const READ_BYTES_MAX: usize = 64 << 10;

/// Whether a stream may have more output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamState {
    Open,
    Ended,
}

#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    /// Whether the line was too long, so that its end was dropped.
    is_cut: bool,
}

impl Lines {
    /// Reads without waiting and passes on every complete line.
    pub(super) fn read(
        &mut self,
        stream: &mut impl Read,
        say: &mut dyn FnMut(&str),
    ) -> StreamState {
        let mut bytes = [0; 4096];
        let mut all = 0;
        while all < READ_BYTES_MAX {
            match stream.read(&mut bytes) {
                Ok(0) => {
                    self.flush(say);
                    return StreamState::Ended;
                }
                Ok(len) => {
                    self.take(&bytes[..len], say);
                    all += len;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return StreamState::Ended,
            }
        }
        StreamState::Open
    }

    fn take(&mut self, bytes: &[u8], say: &mut dyn FnMut(&str)) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let space = LINE_LEN_MAX - self.line.len();
            self.line.extend_from_slice(&text[..text.len().min(space)]);
            self.is_cut |= text.len() > space;
            if ends {
                self.flush(say);
            }
        }
    }

    /// Passes on the incomplete line.
    pub(super) fn flush(&mut self, say: &mut dyn FnMut(&str)) {
        let line = std::mem::take(&mut self.line);
        let more = if std::mem::take(&mut self.is_cut) {
            "…"
        } else {
            ""
        };
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if !text.is_empty() {
            say(&format!("{text}{more}"));
        }
    }
}

/// A program's output, up to a limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// First bytes of the output.
    pub bytes: Vec<u8>,
    /// Whether the output was longer than the limit.
    pub is_cut: bool,
}

impl Captured {
    /// Reads at most `share` bytes, without waiting. Keeps up to `limit` bytes in total and drops the remaining bytes.
    pub(super) fn read(
        &mut self,
        stream: &mut impl Read,
        limit: usize,
        share: usize,
    ) -> StreamState {
        let mut bytes = [0; 4096];
        let mut all = 0;
        while all < share {
            match stream.read(&mut bytes) {
                Ok(0) => return StreamState::Ended,
                Ok(len) => {
                    let space = limit.saturating_sub(self.bytes.len());
                    self.bytes.extend_from_slice(&bytes[..len.min(space)]);
                    self.is_cut |= len > space;
                    all += len;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return StreamState::Ended,
            }
        }
        StreamState::Open
    }
}

#[cfg(test)]
mod tests {
    use super::{Captured, LINE_LEN_MAX, Lines, StreamState};

    #[test]
    fn a_capture_grows_up_to_its_limit() {
        let mut captured = Captured::default();
        let mut read = |mut bytes: &[u8]| {
            captured.read(&mut bytes, 5, usize::MAX);
            (captured.bytes.len(), captured.is_cut)
        };
        assert_eq!(read(b"abc"), (3, false));
        assert_eq!(read(b"de"), (5, false));
        assert_eq!(read(&[0; 9000]), (5, true));
        assert_eq!(captured.bytes, b"abcde");
    }

    fn lines_of(pieces: &[&[u8]]) -> Vec<String> {
        let mut all = Vec::new();
        let mut say = |line: &str| all.push(line.to_owned());
        let mut lines = Lines::default();
        for piece in pieces {
            lines.take(piece, &mut say);
        }
        assert_eq!(lines.read(&mut &b""[..], &mut say), StreamState::Ended);
        all
    }

    #[test]
    fn pieces_are_joined_to_lines_and_the_last_needs_no_end() {
        let all = lines_of(&[b"one\r\ntw", b"o\n\n\xff\nthr", b"ee"]);
        assert_eq!(all, ["one", "two", "\u{fffd}", "three"]);
    }

    #[test]
    fn a_line_without_an_end_takes_bounded_memory() {
        let long = [b'x'; 3 * LINE_LEN_MAX];
        let all = lines_of(&[&long, &long, b"\nshort\n"]);
        assert_eq!(all, ["x".repeat(LINE_LEN_MAX) + "…", "short".to_owned()]);
    }
}
