//! Short texts for people, in values that can be copied.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text of at most 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ShortText {
    bytes: [u8; Self::LEN_MAX],
    len: usize,
}

impl ShortText {
    pub(super) const LEN_MAX: usize = 64;
    pub(super) const EMPTY: Self = Self {
        bytes: [0; Self::LEN_MAX],
        len: 0,
    };

    /// Returns `None` if the text is too long.
    pub(super) fn new(text: &str) -> Option<Self> {
        let mut copy = Self {
            len: text.len(),
            ..Self::EMPTY
        };
        let bytes = copy.bytes.get_mut(..text.len())?;
        bytes.copy_from_slice(text.as_bytes());
        Some(copy)
    }

    pub(super) fn as_str(&self) -> &str {
        // The bytes are valid UTF-8, because they come from a text.
        str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl Serialize for ShortText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ShortText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).ok_or_else(|| D::Error::invalid_length(text.len(), &"at most 64 bytes"))
    }
}
