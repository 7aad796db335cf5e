//! Short texts for people, in values that can be copied.

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
        // The bytes come from a text.
        str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}
