//! Host names of members (`docs/reference/lab2/membership.md E5`). No rule of the protocol depends on a host name.

use std::fmt;

use ring_codec::lab2::{HOST_NAME_LEN_MAX, is_host_name};

/// A host name: 1 to 64 ASCII letters, digits, `-`, `.` and `_`. The first character is a letter or a digit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HostName {
    bytes: [u8; HOST_NAME_LEN_MAX],
    len: usize,
}

impl HostName {
    /// Parses a name from a text. Returns `None` if the text is not a valid host name.
    pub fn new(text: &str) -> Option<Self> {
        if !is_host_name(text) {
            return None;
        }
        let (mut bytes, len) = ([0; HOST_NAME_LEN_MAX], text.len());
        bytes.get_mut(..len)?.copy_from_slice(text.as_bytes());
        Some(Self { bytes, len })
    }

    /// Returns the name as a text.
    pub fn as_str(&self) -> &str {
        // The name consists of ASCII characters.
        str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
