//! A hook's output, line by line.

use std::io::{ErrorKind, Read};

/// Maximum length of a line, in bytes; the rest is cut off.
const LONGEST: usize = 1000;
/// Maximum bytes read from one stream before the others have their turn.
const SHARE: usize = 64 << 10;

/// Whether a stream may have more output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Open,
    Ended,
}

/// An incomplete line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    line: Vec<u8>,
    /// Its end was cut off.
    cut: bool,
}

impl Lines {
    /// Reads without waiting, and passes on every complete line.
    pub(super) fn read(&mut self, stream: &mut impl Read, say: &mut dyn FnMut(&str)) -> Stream {
        let mut bytes = [0; 4096];
        let mut all = 0;
        while all < SHARE {
            match stream.read(&mut bytes) {
                Ok(0) => {
                    self.flush(say);
                    return Stream::Ended;
                }
                Ok(len) => {
                    self.take(&bytes[..len], say);
                    all += len;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return Stream::Ended,
            }
        }
        Stream::Open
    }

    fn take(&mut self, bytes: &[u8], say: &mut dyn FnMut(&str)) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ends) = match piece.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (piece, false),
            };
            let room = LONGEST - self.line.len();
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            self.cut |= text.len() > room;
            if ends {
                self.flush(say);
            }
        }
    }

    /// Passes on what there is of a line.
    pub(super) fn flush(&mut self, say: &mut dyn FnMut(&str)) {
        let line = std::mem::take(&mut self.line);
        let more = if std::mem::take(&mut self.cut) {
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

#[cfg(test)]
mod tests {
    use super::{LONGEST, Lines, Stream};

    fn said(pieces: &[&[u8]]) -> Vec<String> {
        let mut all = Vec::new();
        let mut say = |line: &str| all.push(line.to_owned());
        let mut lines = Lines::default();
        for piece in pieces {
            lines.take(piece, &mut say);
        }
        assert_eq!(lines.read(&mut &b""[..], &mut say), Stream::Ended);
        all
    }

    #[test]
    fn lines_are_put_together_and_the_last_needs_no_end() {
        let all = said(&[b"one\r\ntw", b"o\n\n\xff\nthr", b"ee"]);
        assert_eq!(all, ["one", "two", "\u{fffd}", "three"]);
    }

    #[test]
    fn a_line_without_an_end_takes_no_memory_without_bound() {
        let long = [b'x'; 3 * LONGEST];
        let all = said(&[&long, &long, b"\nshort\n"]);
        assert_eq!(all, ["x".repeat(LONGEST) + "…", "short".to_owned()]);
    }
}
