//! Names of tokens: any bytes, on a command line, in JSON and on a screen.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::str;

use ring_client::token::MAX_NAME;
use ring_control::harmless;
use ring_text::hex;

/// A name of 1 to [`MAX_NAME`] bytes. Displayed so that a terminal shows what is in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(Box<[u8]>);

impl Name {
    /// The name that a user gives.
    ///
    /// # Errors
    /// It has no byte, or too many: why, as a sentence.
    pub fn given(name: OsString) -> Result<Self, String> {
        let name = name.into_vec();
        match name.len() {
            0 => Err("a token's name has at least one byte".to_owned()),
            1..=MAX_NAME => Ok(Self(name.into())),
            len => Err(format!(
                "{len} bytes are too many: a token's name has at most {MAX_NAME}"
            )),
        }
    }

    /// The name that hexadecimal digits stand for; `None`: they stand for none.
    pub(super) fn of_digits(digits: &str) -> Option<Self> {
        let name = hex::decode(digits)?;
        (1..=MAX_NAME)
            .contains(&name.len())
            .then(|| Self(name.into()))
    }

    /// Its bytes as hexadecimal digits.
    pub(super) fn digits(&self) -> String {
        hex::encode(&self.0)
    }

    /// Its bytes.
    pub(super) const fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match str::from_utf8(&self.0) {
            Ok(text) => f.write_str(&harmless(text)),
            Err(_) => write!(f, "{}", self.0.escape_ascii()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use super::Name;

    fn given(bytes: &[u8]) -> Result<Name, String> {
        Name::given(OsString::from_vec(bytes.to_vec()))
    }

    #[test]
    fn a_name_has_one_byte_at_least_and_a_kibibyte_at_most() {
        assert!(given(b"").is_err_and(|why| why.contains("at least one byte")));
        assert!(given(&[b'x'; 1024]).is_ok());
        assert!(given(&[b'x'; 1025]).is_err_and(|why| why.contains("1025 bytes are too many")));
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        for (bytes, shown) in [
            (&b"cache/it's"[..], "cache/it's"),
            ("caf\u{e9}".as_bytes(), "caf\u{e9}"),
            (b"\x1b[2J\n", "\\u{1b}[2J\\n"),
            (b"\xff\x00a", "\\xff\\x00a"),
        ] {
            let name = given(bytes).expect("it is a name");
            assert_eq!(name.to_string(), shown);
            assert_eq!(Name::of_digits(&name.digits()), Some(name));
        }
    }
}
