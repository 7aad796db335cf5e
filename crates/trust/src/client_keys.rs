//! The keys of clients, and the names that each key permits.

use std::collections::BTreeMap;
use std::fmt;

use crate::keyring::{Key, KeyId, Keyring, KeyringError, KeyringProblem, parse_lines};

/// Maximum number of keys of clients.
pub const CLIENT_KEYS_MAX: usize = 1000;

/// The keys of a file with lines of the form `ID KEY [PATTERN…]`. The patterns are names that the key permits. Servers
/// have a file with the keys of all clients. Each client has a file with the keys of this client.
#[derive(Debug, Clone)]
pub struct ClientKeys {
    keys: Vec<Key>,
    patterns: BTreeMap<KeyId, NamePatterns>,
}

impl ClientKeys {
    /// Reads the text of a file. No key may have an id that is in `ring`. The rules for lines, comments and keys are
    /// those of [`Keyring::parse`]. A pattern is a whole name, or the beginning of a name with a `*` after it. A key
    /// without a pattern permits all names.
    ///
    /// # Errors
    /// Returns the first error of the text. The error contains no part of a key.
    pub fn parse(text: &str, ring: &[KeyId]) -> Result<Self, KeyringError> {
        // With this capacity, the list never moves in memory. If it moved, it would leave copies of keys behind.
        let mut keys = Vec::with_capacity(CLIENT_KEYS_MAX.min(text.lines().count()));
        let mut patterns = BTreeMap::new();
        parse_lines(text, CLIENT_KEYS_MAX, |key, rest| {
            if ring.contains(&key.id()) {
                return Err((1, KeyringProblem::RingId));
            }
            patterns.insert(key.id(), NamePatterns::parse(rest)?);
            keys.push(key);
            Ok(())
        })?;
        Ok(Self { keys, patterns })
    }

    /// Returns the keys, in the order of the file.
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Returns the id of the first key. A client with this file signs with this key.
    pub fn signing_id(&self) -> KeyId {
        self.keys[0].id()
    }

    /// Returns the keyring of a client with this file. The client signs with the first key.
    pub fn keyring(&self) -> Keyring {
        Keyring::new(self.keys.clone())
    }

    /// Returns the names that a key permits; `None` if there is no such key.
    pub fn patterns(&self, id: KeyId) -> Option<&NamePatterns> {
        self.patterns.get(&id)
    }
}

/// The patterns of the names that a key permits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamePatterns(Box<[Pattern]>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Name(Box<str>),
    Prefix(Box<str>),
}

impl NamePatterns {
    fn parse(
        words: &mut dyn Iterator<Item = (usize, &str)>,
    ) -> Result<Self, (usize, KeyringProblem)> {
        let pattern = |(column, word): (usize, &str)| {
            let prefix = word.strip_suffix('*');
            let text = prefix.unwrap_or(word);
            if let Some(at) = text.chars().position(|it| it == '*') {
                return Err((column + at, KeyringProblem::Star));
            }
            Ok(match prefix {
                Some(prefix) => Pattern::Prefix(prefix.into()),
                None => Pattern::Name(word.into()),
            })
        };
        words.map(pattern).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the key permits this name.
    pub fn permit(&self, name: &[u8]) -> bool {
        self.0.is_empty()
            || self.0.iter().any(|pattern| match pattern {
                Pattern::Name(it) => it.as_bytes() == name,
                Pattern::Prefix(it) => name.starts_with(it.as_bytes()),
            })
    }
}

impl fmt::Display for NamePatterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("*");
        }
        for (at, pattern) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { " " };
            match pattern {
                Pattern::Name(it) => write!(f, "{separator}{it}")?,
                Pattern::Prefix(it) => write!(f, "{separator}{it}*")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CLIENT_KEYS_MAX, ClientKeys};
    use crate::{KeyId, KeyringError, KeyringProblem};

    fn key() -> String {
        "5e".repeat(32)
    }

    fn id(number: u32) -> KeyId {
        KeyId::new(number).expect("not zero")
    }

    fn problem(text: &str, ring: &[KeyId]) -> (usize, usize, KeyringProblem) {
        match ClientKeys::parse(text, ring) {
            Err(KeyringError::Line {
                line,
                column,
                problem,
            }) => (line, column, problem),
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn a_key_permits_names_and_starts_of_names() {
        let text = format!("7 {0} backup/* index # nightly\n8 {0}\n9 {0} *\n", key());
        let keys = ClientKeys::parse(&text, &[id(1)]).expect("legal");
        assert_eq!(keys.keys().len(), 3);
        assert_eq!(keys.keyring().signing_id(), id(7));
        let limited = keys.patterns(id(7)).expect("a key");
        assert_eq!(limited.to_string(), "backup/* index");
        for (name, is_permitted) in [
            ("backup/", true),
            ("backup/home", true),
            ("index", true),
            ("backup", false),
            ("index2", false),
            ("Index", false),
            ("*", false),
            ("nightly", false),
        ] {
            assert_eq!(limited.permit(name.as_bytes()), is_permitted, "{name}");
        }
        for all in [8, 9] {
            let all = keys.patterns(id(all)).expect("a key");
            assert!(all.permit(b"any") && all.permit(b"\xff"));
            assert_eq!(all.to_string(), "*");
        }
        assert!(keys.patterns(id(1)).is_none());
    }

    #[test]
    fn an_error_names_the_line_and_the_column() {
        let star = format!("7 {} ok ab*c", key());
        assert_eq!(problem(&star, &[]), (1, 73, KeyringProblem::Star));
        let double = format!("7 {} **", key());
        assert_eq!(problem(&double, &[]), (1, 68, KeyringProblem::Star));
        let same = format!("\n7 {0} a\n7 {0} b", key());
        let first = KeyringProblem::SameId { first: 2 };
        assert_eq!(problem(&same, &[]), (3, 1, first));
        let ring = format!("7 {0}\n20 {0}", key());
        let ring_id = (2, 1, KeyringProblem::RingId);
        assert_eq!(problem(&ring, &[id(20)]), ring_id);
        let short = problem("7 5e backup/*", &[]);
        assert_eq!(short, (1, 3, KeyringProblem::Length { digits: 2 }));
        assert_eq!(
            ClientKeys::parse("# none", &[]).err(),
            Some(KeyringError::Empty)
        );
    }

    #[test]
    fn there_are_at_most_a_thousand_keys_and_no_output_shows_one() {
        let line = |id| format!("{id} {} backup/{id}\n", key());
        let lines: Vec<String> = (1..=1001).map(line).collect();
        let keys = ClientKeys::parse(&lines[..CLIENT_KEYS_MAX].concat(), &[]).expect("legal");
        assert!(!format!("{keys:?}").contains("5e5e"));
        let max = CLIENT_KEYS_MAX;
        let too_many = KeyringProblem::TooMany { max };
        assert_eq!(problem(&lines.concat(), &[]), (1001, 1, too_many));
    }
}
