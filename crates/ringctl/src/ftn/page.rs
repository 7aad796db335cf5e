//! Pages of a server's list of tokens (`docs/token-service/protocol/tokens.md` I1 to I4).

use std::net::SocketAddr;

use ring_control::escape_control_characters;
use ring_text::Names;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::name::TokenName;

#[derive(Debug, Deserialize)]
pub(super) struct Page {
    /// The name after which the next page begins, in hexadecimal digits. `None` for the last page.
    pub(super) next: Option<String>,
    pub(super) tokens: Vec<Map<String, Value>>,
    /// The server's quorum, if it is less than a majority.
    pub(super) quorum: Option<usize>,
}

/// The known part of a token's object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedToken {
    pub(super) name: TokenName,
    pub(super) access: HoldMode,
    pub(super) holders: Vec<i64>,
    pub(super) waiting: Vec<i64>,
    pub(super) bytes: u64,
    /// The programs that hold the token, as the server knows them.
    pub(super) programs: Vec<Program>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Program {
    session: i64,
    address: SocketAddr,
    /// The text in which the program introduces itself.
    #[serde(rename = "program")]
    introduction: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldMode {
    Free,
    Shared,
    Exclusive,
}

impl Page {
    /// Parses a page; `None` if it is invalid.
    pub(super) fn parse(page: &[u8]) -> Option<Self> {
        serde_json::from_slice(page).ok()
    }
}

impl ListedToken {
    /// Parses a token of a page; `None` if it is invalid.
    pub(super) fn parse(token: &Map<String, Value>) -> Option<Self> {
        let sessions = |key| {
            let list = token.get(key).and_then(Value::as_array)?;
            list.iter().map(Value::as_i64).collect::<Option<Vec<_>>>()
        };
        Some(Self {
            name: TokenName::from_hex(token.get("name")?.as_str()?)?,
            access: match token.get("access")?.as_i64()? {
                0 => HoldMode::Free,
                1 => HoldMode::Shared,
                -1 => HoldMode::Exclusive,
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

    /// Returns a text for a holder: the name that the program gave itself, and its machine.
    pub(super) fn holder_text(&self, session: i64, names: &Names) -> String {
        let Some(known) = self.programs.iter().find(|it| it.session == session) else {
            return format!("session {session}");
        };
        let program = known.introduction.as_deref().map(escape_control_characters);
        let program = program.unwrap_or_else(|| format!("session {session}"));
        let ip = known.address.ip();
        match names.of_ip(ip) {
            Some(name) => format!("{program} on {ip} ({})", escape_control_characters(name)),
            None => format!("{program} on {ip}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HoldMode, ListedToken, Page};

    #[test]
    fn a_page_is_parsed() {
        let page = br#"{"next":"74","tokens":[{"name":"74","access":-1,"holders":[1048577],"waiting":[],"bytes":3}]}"#;
        let page = Page::parse(page).expect("a page");
        assert_eq!(page.next.as_deref(), Some("74"));
        let listed = ListedToken::parse(&page.tokens[0]).expect("a token");
        assert_eq!((listed.access, listed.bytes), (HoldMode::Exclusive, 3));
        assert_eq!(listed.holders, [1_048_577]);
        assert_eq!(listed.name.bytes(), b"t");
        assert!(Page::parse(b"{}").is_none());
        let odd = Page::parse(br#"{"next":null,"tokens":[{"name":"7"}]}"#).expect("a page");
        assert_eq!(ListedToken::parse(&odd.tokens[0]), None);
    }
}
