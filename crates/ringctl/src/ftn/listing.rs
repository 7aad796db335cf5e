//! Pages of a server's tokens, as it sends them (`docs/ftn.md`, section 6).

use std::net::SocketAddr;

use ring_control::harmless;
use ring_text::Names;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::name::Name;

/// A page of a server's tokens.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    /// The name after which the next page begins, in hexadecimal digits; `None`: there is none.
    pub(super) next: Option<String>,
    /// The tokens, as objects.
    pub(super) tokens: Vec<Map<String, Value>>,
    /// The server's quorum, if that is less than a majority.
    pub(super) quorum: Option<usize>,
}

/// A token, as far as it is known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) name: Name,
    pub(super) access: Held,
    pub(super) holders: Vec<i64>,
    pub(super) waiting: Vec<i64>,
    pub(super) bytes: u64,
    /// Of those that hold it, as far as the server tells.
    pub(super) programs: Vec<Program>,
}

/// The client of a session.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Program {
    session: i64,
    address: SocketAddr,
    /// What it says that it is.
    #[serde(rename = "program")]
    introduction: Option<String>,
}

/// How a token is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    Free,
    Shared,
    Exclusive,
}

impl Page {
    /// Reads a page; `None`: it is none.
    pub(super) fn read(page: &[u8]) -> Option<Self> {
        serde_json::from_slice(page).ok()
    }
}

impl Listed {
    /// Reads a token of a page; `None`: it is none.
    pub(super) fn of(token: &Map<String, Value>) -> Option<Self> {
        let sessions = |key| {
            let list = token.get(key).and_then(Value::as_array)?;
            list.iter().map(Value::as_i64).collect::<Option<Vec<_>>>()
        };
        Some(Self {
            name: Name::of_digits(token.get("name")?.as_str()?)?,
            access: match token.get("access")?.as_i64()? {
                0 => Held::Free,
                1 => Held::Shared,
                -1 => Held::Exclusive,
                _ => return None,
            },
            holders: sessions("holders")?,
            waiting: sessions("waiting")?,
            bytes: token.get("bytes")?.as_u64()?,
            programs: token
                .get("programs")
                .and_then(|programs| Deserialize::deserialize(programs).ok())
                .unwrap_or_default(),
        })
    }

    /// Returns who a session is that holds the token: the program, as it calls itself, and its machine.
    pub(super) fn holder(&self, session: i64, names: &Names) -> String {
        let Some(known) = self.programs.iter().find(|it| it.session == session) else {
            return format!("session {session}");
        };
        let program = known.introduction.as_deref().map(harmless);
        let program = program.unwrap_or_else(|| format!("session {session}"));
        let ip = known.address.ip();
        match names.of_ip(ip) {
            Some(name) => format!("{program} on {ip} ({})", harmless(name)),
            None => format!("{program} on {ip}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Held, Listed, Page};

    #[test]
    fn a_page_of_a_server_is_read() {
        let page = br#"{"next":"74","tokens":[{"name":"74","access":-1,"holders":[1048577],"waiting":[],"bytes":3}]}"#;
        let page = Page::read(page).expect("it is a page");
        assert_eq!(page.next.as_deref(), Some("74"));
        let listed = Listed::of(&page.tokens[0]).expect("it is a token");
        assert_eq!((listed.access, listed.bytes), (Held::Exclusive, 3));
        assert_eq!(listed.holders, [1_048_577]);
        assert_eq!(listed.name.bytes(), b"t");
        assert!(Page::read(b"{}").is_none());
        let odd = Page::read(br#"{"next":null,"tokens":[{"name":"7"}]}"#).expect("it is a page");
        assert_eq!(Listed::of(&odd.tokens[0]), None);
    }
}
