//! Pages of the tokens that this server serves (`docs/ftn.md`, section 6).

use std::fmt::Write as _;
use std::net::SocketAddr;

use ring_codec::ftn::{Message, Token as Entry};

use super::Server;
use super::serving::Serves;
use crate::ftn::catalog::hex;
use crate::ftn::server::tokens::Token;
use crate::ftn::server::{Reason, majority};
use crate::time::Instant;

/// How long a page is about, in bytes.
const PAGE: usize = 1_024;
/// The most sessions that are named of each kind.
const NAMED: usize = 16;
/// The most tokens that are looked at for a page.
const LOOKED_AT: usize = 256;

impl Server {
    /// A session asks for the page behind a name.
    pub(super) fn on_list(
        &mut self,
        now: Instant,
        from: SocketAddr,
        session: i32,
        msgnum: i64,
        after: &[u8],
    ) {
        if !self.is_serving(now) {
            return self.drop(from, Reason::NotServing);
        }
        let page = self.page(now, after);
        let message = Message::Grant {
            msgnum,
            token: Entry {
                name: b"",
                data: page.as_bytes(),
            },
        };
        self.out.send(from, session, message);
    }

    pub(crate) fn page(&self, now: Instant, after: &[u8]) -> String {
        let mut tokens = String::new();
        let mut next = None;
        let mut behind = self.tokens.after(after).enumerate().peekable();
        while let Some((looked_at, (_, token))) = behind.next() {
            if self.serves(now, token.name()) == Serves::Yes {
                let entry = self.entry(token);
                if !tokens.is_empty() {
                    tokens.push(',');
                }
                tokens.push_str(&entry);
            }
            let is_more = behind.peek().is_some();
            let upcoming = behind
                .peek()
                .map_or(0, |(_, (_, token))| self.entry(token).len());
            if is_more && (tokens.len() + upcoming > PAGE || looked_at + 1 >= LOOKED_AT) {
                next = Some(hex(token.name()));
                break;
            }
        }
        let next = next.map_or("null".to_owned(), |name| format!("\"{name}\""));
        // Who reads it is to know when both sides of a cut may grant the same token.
        let quorum = self.quorum();
        let quorum = if quorum < majority(self.servers.len()) {
            format!(",\"quorum\":{quorum}")
        } else {
            String::new()
        };
        format!("{{\"next\":{next},\"tokens\":[{tokens}]{quorum}}}")
    }
}

impl Server {
    /// A token as an object of JSON.
    fn entry(&self, token: &Token) -> String {
        let mut entry = format!(
            "{{\"name\":\"{}\",\"access\":{}",
            hex(token.name()),
            token.access()
        );
        list(&mut entry, "holders", token.holding());
        list(&mut entry, "waiting", token.sessions_waiting());
        let holding = token.holding().take(NAMED);
        let programs: Vec<String> = holding.filter_map(|id| self.program(id)).collect();
        // Writing to a string does not fail.
        let _ = write!(
            entry,
            ",\"bytes\":{},\"programs\":[{}]}}",
            token.data().len(),
            programs.join(",")
        );
        entry
    }

    /// The client of a session as an object of JSON: where it is, and what it says that it is.
    fn program(&self, id: i32) -> Option<String> {
        let address = self.sessions.get(id)?.address;
        let mut program = format!("{{\"session\":{id},\"address\":\"{address}\"");
        if let Some(text) = self.sessions.introduction(id) {
            // Without control characters this is all that JSON has escaped.
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            // Writing to a string does not fail.
            let _ = write!(program, ",\"program\":\"{text}\"");
        }
        program.push('}');
        Some(program)
    }
}

fn list(entry: &mut String, key: &str, sessions: impl Iterator<Item = i32>) {
    let sessions: Vec<String> = sessions.take(NAMED).map(|id| id.to_string()).collect();
    // Writing to a string does not fail.
    let _ = write!(entry, ",\"{key}\":[{}]", sessions.join(","));
}
