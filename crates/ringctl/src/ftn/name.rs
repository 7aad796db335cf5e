//! Names of tokens on a command line, in JSON and on a screen. A name may contain any bytes.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::str;

use ring_client::token::NAME_BYTES_MAX;
use ring_control::escape_control_characters;
use ring_text::hex;

/// A name of 1 to [`MAX_NAME`] bytes. `Display` escapes control characters, so that a terminal shows them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TokenName(Box<[u8]>);

impl TokenName {
    /// Creates a name from the text that a user gives.
    ///
    /// # Errors
    /// Returns the reason as a sentence if the name is empty or too long.
    pub(crate) fn from_user(name: OsString) -> Result<Self, String> {
        let name = name.into_vec();
        match name.len() {
            0 => Err("the name is empty: a token's name has at least one byte".to_owned()),
            1..=NAME_BYTES_MAX => Ok(Self(name.into())),
            len => Err(format!(
                "{len} bytes are too many: a token's name has at most {NAME_BYTES_MAX} bytes"
            )),
        }
    }

    /// Decodes a name from hexadecimal digits; `None` if they are invalid.
    pub(super) fn from_hex(digits: &str) -> Option<Self> {
        let name = hex::decode(digits)?;
        (1..=NAME_BYTES_MAX)
            .contains(&name.len())
            .then(|| Self(name.into()))
    }

    pub(super) fn to_hex(&self) -> String {
        hex::encode(&self.0)
    }

    pub(super) const fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match str::from_utf8(&self.0) {
            Ok(text) => f.write_str(&escape_control_characters(text)),
            Err(_) => write!(f, "{}", self.0.escape_ascii()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use super::TokenName;

    fn name_of(bytes: &[u8]) -> Result<TokenName, String> {
        TokenName::from_user(OsString::from_vec(bytes.to_vec()))
    }

    #[test]
    fn a_name_has_between_1_and_1024_bytes() {
        assert!(name_of(b"").is_err_and(|why| why.contains("at least one byte")));
        assert!(name_of(&[b'x'; 1024]).is_ok());
        assert!(name_of(&[b'x'; 1025]).is_err_and(|why| why.contains("1025 bytes are too many")));
    }

    #[test]
    fn control_characters_are_escaped() {
        for (bytes, shown) in [
            (&b"cache/it's"[..], "cache/it's"),
            ("caf\u{e9}".as_bytes(), "caf\u{e9}"),
            (b"\x1b[2J\n", "\\u{1b}[2J\\n"),
            (b"\xff\x00a", "\\xff\\x00a"),
        ] {
            let name = name_of(bytes).expect("it is a name");
            assert_eq!(name.to_string(), shown);
            assert_eq!(TokenName::from_hex(&name.to_hex()), Some(name));
        }
    }
}
