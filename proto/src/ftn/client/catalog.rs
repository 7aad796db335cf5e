//! Answers to CONFIG. An answer lists the session's tokens at one server, in parts
//! (`docs/token-service/protocol/sessions.md` S27 to S31).

use std::collections::BTreeMap;

use ring_codec::ftn::{Datagram, Header, Message, Token as Entry};

use super::outbox::{Content, Context};
use super::tokens::Tokens;
use crate::ftn::catalog::{HoldKind, Marker};
use crate::ftn::{Configuration, PART, WINDOW};

/// Upper limit for the header, the count and the first marker together, in bytes.
const HEAD_BYTES: usize = 96;
/// Upper limit for the length fields of an entry, and for a marker that names a kind, in bytes.
const LENGTH_BYTES: usize = 8;

/// Answers to the servers that asked this client in the present configuration. The client computes each answer only
/// once.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct CatalogAnswers {
    // An answer is kept for repeated questions, because parts of two different answers would not fit together.
    by_server: BTreeMap<usize, CatalogAnswer>,
}

#[derive(Debug, Clone, Hash)]
struct CatalogAnswer {
    /// Datagrams, one per part.
    parts: Vec<Box<[u8]>>,
    /// First part to send when the next CONFIG arrives.
    next: usize,
}

/// Entry of a part: the kind, name and data of a token.
type CatalogEntry<'a> = (HoldKind, &'a [u8], &'a [u8]);

impl CatalogAnswers {
    pub(super) fn clear(&mut self) {
        self.by_server.clear();
    }

    pub(super) fn has_answer(&self, server: usize) -> bool {
        self.by_server.contains_key(&server)
    }

    /// Makes the answer to a server. For each token, the answer contains the data of the last confirmed update, or of
    /// the grant if no update was confirmed.
    pub(super) fn make_answer(
        &mut self,
        context: &Context<'_>,
        session: i32,
        configuration: &Configuration,
        server: usize,
        tokens: &Tokens,
    ) {
        let servers = &context.options.servers;
        let is_its = |name: &[u8]| servers.responsible(name, configuration) == Some(server);
        let known = tokens.by_name.iter();
        let mut listed: Vec<CatalogEntry<'_>> = known
            .filter_map(|(name, token)| {
                let (kind, hold) = token.catalog_entry()?;
                Some((kind, &**name, &*hold.data))
            })
            .filter(|(_, name, _)| is_its(name))
            .collect();
        // The entries are sorted by kind, so that one marker serves all tokens of a kind.
        listed.sort_unstable();
        let parts = split(&listed);
        let header = Header {
            from: session,
            // Cannot fail: the list has at most 32 servers.
            to: i32::try_from(server).unwrap_or(i32::MAX),
            ssig: servers.signature(),
        };
        let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let parts = (0..count).zip(&parts).map(|(part, listed)| {
            let marker = Marker {
                configuration: configuration.number(),
                part,
                parts: count,
                // All earlier messages of the session about tokens become late: the CATALOG replaces them.
                floor: context.numbers.peek(),
            };
            encode(header, marker, listed)
        });
        let parts = parts.collect();
        self.by_server
            .insert(server, CatalogAnswer { parts, next: 0 });
    }

    /// Sends the next WINDOW parts of the answer to a server. After the last part, the client starts again with the
    /// first part.
    pub(super) fn send_parts(&mut self, context: &mut Context<'_>, server: usize) {
        let Some(CatalogAnswer { parts, next }) = self.by_server.get_mut(&server) else {
            return;
        };
        for _ in 0..parts.len().min(WINDOW) {
            context.send(server, Content::Catalog(*next));
            *next = (*next + 1) % parts.len();
        }
    }

    /// Returns a part as a datagram.
    pub(super) fn part(&self, server: usize, part: usize) -> Option<&[u8]> {
        let answer = self.by_server.get(&server)?;
        answer.parts.get(part).map(|part| &**part)
    }
}

/// Splits tokens into parts of at most PART bytes or one token. Returns at least one part.
fn split<'a, 'b>(mut listed: &'b [CatalogEntry<'a>]) -> Vec<&'b [CatalogEntry<'a>]> {
    let mut parts = Vec::new();
    loop {
        let mut room = PART - HEAD_BYTES;
        let mut kind = None;
        let fitting = listed.iter().take_while(|(holding, name, data)| {
            let marker = if kind == Some(*holding) {
                0
            } else {
                LENGTH_BYTES
            };
            kind = Some(*holding);
            let need = LENGTH_BYTES + name.len() + data.len() + marker;
            let fits = need <= room;
            room = room.saturating_sub(need);
            fits
        });
        // If a token is too long for PART, its CATALOG contains no other tokens, and the carrier cuts this CATALOG into
        // parts.
        let count = fitting.count().max(1).min(listed.len());
        let (part, rest) = listed.split_at(count);
        parts.push(part);
        if rest.is_empty() {
            return parts;
        }
        listed = rest;
    }
}

fn encode(header: Header, marker: Marker, listed: &[CatalogEntry<'_>]) -> Box<[u8]> {
    let marker = marker.to_string();
    let mut entries = vec![Entry {
        name: b"",
        data: marker.as_bytes(),
    }];
    let mut kind = None;
    for &(holding, name, data) in listed {
        if kind != Some(holding) {
            kind = Some(holding);
            entries.push(Entry {
                name: b"",
                data: holding.name().as_bytes(),
            });
        }
        entries.push(Entry { name, data });
    }
    let message = Message::Catalog {
        holdings: entries[..].into(),
    };
    let datagram = Datagram::new(header, message);
    let mut bytes = vec![0; datagram.encoded_len()].into_boxed_slice();
    // Cannot fail: the buffer has the exact length, and names and data were checked when they arrived.
    let written = datagram.encode(&mut bytes);
    debug_assert!(written.is_ok(), "encoding a CATALOG fails");
    bytes
}
