//! The fencing token of a ring: the order of tokens, and their text.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use ring_text::parse_mac;
use thiserror::Error;

/// A fencing token. A holder sends its fencing token to each resource that it uses. The text of a token is
/// progress-author-number, as in `1795-02:00:00:00:00:01-7`.
///
/// The greater of two tokens is newer, by the order of `docs/reference/lab2/states.md T1`: first the larger progress,
/// then the smaller author, then the smaller number. A comparison of the progress does not suffice, because the two
/// sides of a split can reach the same progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FencingToken(Token);

/// The error for a text that is not a fencing token.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is not a fencing token: give one like 1795-02:00:00:00:00:01-7, as in $RINGD_TOKEN")]
pub struct ParseTokenError(String);

impl FencingToken {
    /// Returns the ring's token.
    pub const fn token(self) -> Token {
        self.0
    }
}

impl From<Token> for FencingToken {
    fn from(token: Token) -> Self {
        Self(token)
    }
}

impl Ord for FencingToken {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.strength(&other.0)
    }
}

impl PartialOrd for FencingToken {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for FencingToken {
    type Err = ParseTokenError;

    fn from_str(text: &str) -> Result<Self, ParseTokenError> {
        parse(text).ok_or_else(|| ParseTokenError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<FencingToken> {
    let (progress, rest) = text.split_once('-')?;
    let (author, number) = rest.rsplit_once('-')?;
    let token = FencingToken(Token {
        progress: progress.parse().ok()?,
        author: MacAddr(parse_mac(author)?),
        number: number.parse().ok()?,
    });
    // Each token has only one valid spelling. If a token had two spellings, programs that compare the texts of tokens
    // would take them for different tokens.
    (token.to_string() == text).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::FencingToken;

    fn token(text: &str) -> FencingToken {
        text.parse().expect(text)
    }

    #[test]
    fn a_token_has_one_spelling() {
        for text in [
            "0-02:00:00:00:00:01-0",
            "1795-02:00:00:00:00:01-7",
            "18446744073709551615-fe:ff:ff:ff:ff:ff-4294967295",
        ] {
            assert_eq!(token(text).to_string(), text);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "1795",
            "1795-02:00:00:00:00:01",
            "1795-02:00:00:00:00-7",
            "-1-02:00:00:00:00:01-7",
            "+1-02:00:00:00:00:01-7",
            "01-02:00:00:00:00:01-7",
            "1795-02:00:00:00:00:0A-7",
            "1795-02-00-00-00-00-01-7",
            "1795-02:00:00:00:00:01-4294967296",
            "18446744073709551616-02:00:00:00:00:01-7",
            " 1795-02:00:00:00:00:01-7",
        ] {
            let error = text.parse::<FencingToken>().expect_err(text);
            assert!(error.to_string().contains("1795-02:00:00:00:00:01-7"));
        }
    }

    #[test]
    fn tokens_are_ordered_by_progress_then_author_then_number() {
        let ascending = [
            "9-02:00:00:00:00:01-1",
            "10-02:00:00:00:00:02-10",
            "10-02:00:00:00:00:02-9",
            "10-02:00:00:00:00:01-9",
        ];
        for pair in ascending.windows(2) {
            assert!(token(pair[0]) < token(pair[1]), "{pair:?}");
        }
    }
}
