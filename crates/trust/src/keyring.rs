//! The keys of a key file.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use thiserror::Error;
use zeroize::Zeroizing;

/// Maximum number of keys in a keyring.
pub const KEYS_MAX: usize = 8;
/// Length of a key in bytes.
const KEY_LEN: usize = 32;

/// Number of a key. The number is not secret.
pub type KeyId = NonZeroU32;

/// A key with its id. `Debug` shows only the id, so that log lines never contain a key.
#[derive(Clone)]
pub struct Key {
    id: KeyId,
    secret: Zeroizing<[u8; KEY_LEN]>,
}

impl Key {
    /// Makes a key from 32 random bytes.
    pub fn new(id: KeyId, secret: [u8; KEY_LEN]) -> Self {
        Self {
            id,
            secret: Zeroizing::new(secret),
        }
    }

    /// Returns the key's id.
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Returns the text of this key for a line of a key file, without a line break.
    pub fn to_line(&self) -> Zeroizing<String> {
        // With this capacity, the text never moves in memory. If it moved, it would leave a copy of the key behind.
        let mut line = Zeroizing::new(String::with_capacity(80));
        line.push_str(&self.id.to_string());
        line.push(' ');
        for byte in self.secret.iter() {
            for digit in [byte >> 4, byte & 15] {
                line.push(char::from_digit(digit.into(), 16).unwrap_or_default());
            }
        }
        line
    }

    /// Derives a key for one use. The derived keys of different uses are independent of each other.
    pub(crate) fn derive(&self, context: &str) -> Zeroizing<[u8; KEY_LEN]> {
        Zeroizing::new(blake3::derive_key(context, &self.secret[..]))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The keys of a key file: at least one key, and at most [`KEYS_MAX`]. The first key signs, and all keys verify.
#[derive(Debug, Clone)]
pub struct Keyring(Vec<Key>);

impl Keyring {
    /// Reads the text of a key file. Each line has an id from 1 to 4294967295 and a key of 64 hexadecimal digits.
    /// Comments begin with `#`. Blank lines are ignored.
    ///
    /// # Errors
    /// Returns the first error of the text. The error contains no part of a key.
    pub fn parse(text: &str) -> Result<Self, KeyringError> {
        // With this capacity, the list never moves in memory. If it moved, it would leave copies of keys behind.
        let mut keys = Vec::with_capacity(KEYS_MAX);
        parse_lines(text, KEYS_MAX, |key, rest| {
            if let Some((column, _)) = rest.next() {
                return Err((column, KeyringProblem::Rest));
            }
            keys.push(key);
            Ok(())
        })?;
        Ok(Self(keys))
    }

    /// Makes a keyring of at least one key.
    pub(crate) fn new(keys: Vec<Key>) -> Self {
        Self(keys)
    }

    /// Returns the id of the key that signs.
    pub fn signing_id(&self) -> KeyId {
        self.0[0].id
    }

    /// Returns the ids of all keys. The first key signs.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = KeyId> {
        self.0.iter().map(|key| key.id)
    }

    pub(crate) fn keys(&self) -> &[Key] {
        &self.0
    }
}

/// Reads the lines of a key file. Calls `add` for each key, with the words after the key and the columns of these
/// words. If a word is wrong, `add` returns its column and the problem.
pub(crate) fn parse_lines<'a>(
    text: &'a str,
    max: usize,
    mut add: impl FnMut(
        Key,
        &mut dyn Iterator<Item = (usize, &'a str)>,
    ) -> Result<(), (usize, KeyringProblem)>,
) -> Result<(), KeyringError> {
    let mut lines: BTreeMap<KeyId, usize> = BTreeMap::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default();
        let error = |column, problem| KeyringError::Line {
            line,
            column,
            problem,
        };
        let mut words = words(text);
        let Some((column, id)) = words.next() else {
            continue;
        };
        // `parse` accepts a plus sign, which is not permitted here.
        let number = id.parse().ok().filter(|_| !id.starts_with('+'));
        let id: KeyId = number.ok_or_else(|| error(column, KeyringProblem::Id))?;
        if let Some(&first) = lines.get(&id) {
            return Err(error(column, KeyringProblem::SameId { first }));
        }
        if lines.len() == max {
            return Err(error(column, KeyringProblem::TooMany { max }));
        }
        let Some((at, digits)) = words.next() else {
            let end = text.trim_end().chars().count() + 1;
            return Err(error(end, KeyringProblem::NoKey));
        };
        let secret =
            parse_secret(digits).map_err(|(offset, problem)| error(at + offset, problem))?;
        add(Key { id, secret }, &mut words).map_err(|(at, problem)| error(at, problem))?;
        lines.insert(id, line);
    }
    if lines.is_empty() {
        return Err(KeyringError::Empty);
    }
    Ok(())
}

/// Returns the words of a line, each with the number of its first column.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut column = 1;
    line.split(|it: char| it.is_whitespace())
        .filter_map(move |word| {
            let at = column;
            column += word.chars().count() + 1;
            (!word.is_empty()).then_some((at, word))
        })
}

/// Reads 64 hexadecimal digits. An error contains the number of characters before the wrong character.
fn parse_secret(digits: &str) -> Result<Zeroizing<[u8; KEY_LEN]>, (usize, KeyringProblem)> {
    let mut secret = Zeroizing::new([0; KEY_LEN]);
    let mut count = 0;
    for (at, digit) in digits.chars().enumerate() {
        let value = digit.to_digit(16).ok_or((at, KeyringProblem::Digit))?;
        if let Some(byte) = secret.get_mut(at / 2) {
            *byte = *byte << 4 | u8::try_from(value).unwrap_or_default();
        }
        count += 1;
    }
    if count != 2 * KEY_LEN {
        return Err((0, KeyringProblem::Length { digits: count }));
    }
    Ok(secret)
}

/// The reason why a text is not a keyring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyringError {
    /// The text has no key.
    #[error("there is no key; add a line of `ringd keygen`")]
    Empty,
    /// A line is wrong.
    #[error("line {line}, column {column}: {problem}")]
    Line {
        /// Number of the line. The first line is 1.
        line: usize,
        /// Number of the character in the line. The first character is 1.
        column: usize,
        /// Problem of the line.
        problem: KeyringProblem,
    },
}

/// A problem of a line of a key file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyringProblem {
    /// The first word is not an id.
    #[error("the first word is not an id; write a number from 1 to 4294967295")]
    Id,
    /// An earlier line has the same id.
    #[error("line {first} has the same id; give each key a different id")]
    SameId {
        /// Number of the earlier line.
        first: usize,
    },
    /// There is no key after the id.
    #[error("the line has an id but no key; write 64 hexadecimal digits after the id")]
    NoKey,
    /// A character of the key is not a hexadecimal digit.
    #[error(
        "a character of the key is not a hexadecimal digit; write 64 digits from 0 to 9 and a to f"
    )]
    Digit,
    /// The key has the wrong length.
    #[error("the key has {digits} digits instead of 64; copy the whole line of `ringd keygen`")]
    Length {
        /// Number of digits.
        digits: usize,
    },
    /// There is text after the key.
    #[error("there is text after the key; begin a comment with `#`")]
    Rest,
    /// There are too many keys.
    #[error("there are more than {max} keys; remove the keys that no program uses")]
    TooMany {
        /// Maximum number of keys.
        max: usize,
    },
    /// A key of a client has the id of a key of the servers.
    #[error("the key file of the servers has the same id; give each key a different id")]
    RingId,
    /// A pattern has a star before its end.
    #[error("a pattern may have a `*` only at its end, as in backup/*; remove the other `*`")]
    Star,
}

#[cfg(test)]
#[path = "keyring_tests.rs"]
mod tests;
