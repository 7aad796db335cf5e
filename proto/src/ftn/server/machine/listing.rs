//! Listings of the tokens that this server serves, page by page (`docs/token-service/protocol/tokens.md` I1 to I4).

use std::fmt::Write as _;
use std::net::SocketAddr;

use ring_codec::ftn::{Message, Token as Entry};

use super::Server;
use super::service::ServeDecision;
use crate::ftn::catalog::hex_digits;
use crate::ftn::server::tokens::Token;
use crate::ftn::server::{DropReason, majority};
use crate::time::Instant;

/// Length of a page in bytes. If a page is longer than this, the server adds no more tokens to it.
const PAGE_BYTES: usize = 1_024;
/// Largest number of sessions that an entry names in each list.
// The lists are bounded, because thousands of sessions may share a token.
const NAMED_SESSIONS_MAX: usize = 16;
/// Maximum number of tokens that the server examines for one page.
// The search is bounded, because the server may not serve most of its tokens now.
const EXAMINED_TOKENS_MAX: usize = 256;

impl Server {
    /// Handles a REQUEST for the page that begins after a name.
    pub(super) fn on_list(
        &mut self,
        now: Instant,
        from: SocketAddr,
        session: i32,
        msgnum: i64,
        after: &[u8],
    ) {
        if !self.is_serving(now) {
            return self.drop(from, DropReason::NotServing);
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
        let mut behind = self.tokens.iter_after(after).enumerate().peekable();
        while let Some((looked_at, (_, token))) = behind.next() {
            if self.serve_decision(now, token.name()) == ServeDecision::Serve {
                let entry = self.token_entry(token);
                if !tokens.is_empty() {
                    tokens.push(',');
                }
                tokens.push_str(&entry);
            }
            let is_more = behind.peek().is_some();
            let upcoming = behind
                .peek()
                .map_or(0, |(_, (_, token))| self.token_entry(token).len());
            if is_more
                && (tokens.len() + upcoming > PAGE_BYTES || looked_at + 1 >= EXAMINED_TOKENS_MAX)
            {
                next = Some(hex_digits(token.name()));
                break;
            }
        }
        let next = next.map_or("null".to_owned(), |name| format!("\"{name}\""));
        // The reader needs this number. With a quorum below a majority, both sides of a split may grant the same token.
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
    /// Returns a token as a JSON object.
    fn token_entry(&self, token: &Token) -> String {
        let mut entry = format!(
            "{{\"name\":\"{}\",\"access\":{}",
            hex_digits(token.name()),
            token.access()
        );
        push_sessions(&mut entry, "holders", token.holders());
        push_sessions(&mut entry, "waiting", token.waiting_sessions());
        let holding = token.holders().take(NAMED_SESSIONS_MAX);
        let programs: Vec<String> = holding.filter_map(|id| self.program_entry(id)).collect();
        // Writing to a string cannot fail.
        let _ = write!(
            entry,
            ",\"bytes\":{},\"programs\":[{}]}}",
            token.data().len(),
            programs.join(",")
        );
        entry
    }

    /// Returns a session's client as a JSON object: its address and its introduction.
    fn program_entry(&self, id: i32) -> Option<String> {
        let address = self.sessions.get(id)?.address;
        let mut program = format!("{{\"session\":{id},\"address\":\"{address}\"");
        if let Some(text) = self.sessions.introduction(id) {
            // JSON requires no other escapes, because an introduction has no control characters.
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            // Writing to a string cannot fail.
            let _ = write!(program, ",\"program\":\"{text}\"");
        }
        program.push('}');
        Some(program)
    }
}

fn push_sessions(entry: &mut String, key: &str, sessions: impl Iterator<Item = i32>) {
    let sessions: Vec<String> = sessions
        .take(NAMED_SESSIONS_MAX)
        .map(|id| id.to_string())
        .collect();
    // Writing to a string cannot fail.
    let _ = write!(entry, ",\"{key}\":[{}]", sessions.join(","));
}
