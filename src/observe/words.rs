//! Parts of log lines.

use std::fmt;
use std::net::Ipv6Addr;

use ring_codec::lab2::Token;

/// A token's identity as `progress-author-number`, as fencing tokens are spelled.
pub struct TokenId(pub Token);

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Token {
            progress,
            author,
            number,
        } = self.0;
        write!(f, "{progress}-{author}-{number}")
    }
}

/// `token 17-02:00:00:00:00:01-3`, or that there is none.
pub struct TokenWords(pub Option<Token>);

impl fmt::Display for TokenWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(token) => write!(f, "token {}", TokenId(token)),
            None => f.write_str("no token known"),
        }
    }
}

/// An ip as the protocol carries it, in the way that people write it.
pub struct Ip(pub [u8; 16]);

impl fmt::Display for Ip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Ipv6Addr::from(self.0) {
            Ipv6Addr::UNSPECIFIED => f.write_str("none"),
            ip => ip.to_canonical().fmt(f),
        }
    }
}

/// `4 members`.
pub struct Members(pub usize);

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(f, "{} member{plural}", self.0)
    }
}

/// How many lines were left out before this one; nothing if none was.
pub struct Hidden(pub u64);

impl fmt::Display for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            1 => f.write_str(" (1 line not shown)"),
            lines => write!(f, " ({lines} lines not shown)"),
        }
    }
}
