//! Host names of members (`docs/reference/lab2/membership.md E5`). No rule of the protocol depends on a host name.

use std::fmt;

use ring_codec::lab2::{HOST_NAME_LEN_MAX, is_host_name};

use super::short_text::ShortText;

const _: () = assert!(HOST_NAME_LEN_MAX == ShortText::LEN_MAX);

/// A host name: 1 to 64 ASCII letters, digits, `-`, `.` and `_`. The first character is a letter or a digit.
#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HostName(ShortText);

impl HostName {
    /// Parses a name from a text. Returns `None` if the text is not a valid host name.
    pub fn new(text: &str) -> Option<Self> {
        is_host_name(text).then(|| ShortText::new(text).map(Self))?
    }

    /// Returns the name as a text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
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
