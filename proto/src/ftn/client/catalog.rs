//! Answers to CONFIG: what the session holds of a server's tokens, in parts (`docs/ftn.md`, sections 2 and 5).

use std::collections::BTreeMap;

use ring_codec::ftn::{Datagram, Header, Message, Token as Entry};

use super::outbox::{Content, Context};
use super::tokens::Tokens;
use crate::ftn::catalog::{Holding, Marker};
use crate::ftn::{Configuration, PART, WINDOW};

/// What head, count and the longest first marker take at most.
const HEAD: usize = 96;
/// What the lengths of name and data, or a marker of the kind, take at most.
const LENGTHS: usize = 8;

/// The answers to the servers that have asked for one in the present configuration. Each is made once.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Answers {
    by_server: BTreeMap<usize, Answer>,
}

#[derive(Debug, Clone, Hash)]
struct Answer {
    /// The datagrams.
    parts: Vec<Box<[u8]>>,
    /// The part that the next CONFIG brings first.
    next: usize,
}

/// A token as a part lists it.
type Listed<'a> = (Holding, &'a [u8], &'a [u8]);

impl Answers {
    /// The configuration has changed.
    pub(super) fn clear(&mut self) {
        self.by_server.clear();
    }

    pub(super) fn has(&self, server: usize) -> bool {
        self.by_server.contains_key(&server)
    }

    /// Makes the answer to a server: data as granted or last confirmed.
    pub(super) fn make(
        &mut self,
        context: &Context<'_>,
        session: i32,
        configuration: &Configuration,
        server: usize,
        tokens: &Tokens,
    ) {
        let servers = &context.options.servers;
        let is_its = |name: &[u8]| servers.responsible(name, configuration) == Some(server);
        let known = tokens.known.iter();
        let mut listed: Vec<Listed<'_>> = known
            .filter_map(|(name, token)| {
                let (kind, hold) = token.listed()?;
                Some((kind, &**name, &*hold.data))
            })
            .filter(|(_, name, _)| is_its(name))
            .collect();
        // Those of one kind need one marker.
        listed.sort_unstable();
        let parts = split(&listed);
        let header = Header {
            from: session,
            // The list has at most 32 servers.
            to: i32::try_from(server).unwrap_or(i32::MAX),
            ssig: servers.signature(),
        };
        let count = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let parts = (0..count).zip(&parts).map(|(part, listed)| {
            let marker = Marker {
                configuration: configuration.number(),
                part,
                parts: count,
                floor: context.numbers.peek(),
            };
            encode(header, marker, listed)
        });
        let parts = parts.collect();
        self.by_server.insert(server, Answer { parts, next: 0 });
    }

    /// Sends the next WINDOW parts of the answer to a server, round and round.
    pub(super) fn send(&mut self, context: &mut Context<'_>, server: usize) {
        let Some(Answer { parts, next }) = self.by_server.get_mut(&server) else {
            return;
        };
        for _ in 0..parts.len().min(WINDOW) {
            context.send(server, Content::Catalog(*next));
            *next = (*next + 1) % parts.len();
        }
    }

    /// A part, as a datagram.
    pub(super) fn part(&self, server: usize, part: usize) -> Option<&[u8]> {
        let answer = self.by_server.get(&server)?;
        answer.parts.get(part).map(|part| &**part)
    }
}

/// Distributes tokens to parts of at most PART bytes, or one token; there is at least one part.
fn split<'a, 'b>(mut listed: &'b [Listed<'a>]) -> Vec<&'b [Listed<'a>]> {
    let mut parts = Vec::new();
    loop {
        let mut room = PART - HEAD;
        let mut kind = None;
        let fitting = listed.iter().take_while(|(holding, name, data)| {
            let marker = if kind == Some(*holding) { 0 } else { LENGTHS };
            kind = Some(*holding);
            let need = LENGTHS + name.len() + data.len() + marker;
            let fits = need <= room;
            room = room.saturating_sub(need);
            fits
        });
        let count = fitting.count().max(1).min(listed.len());
        let (part, rest) = listed.split_at(count);
        parts.push(part);
        if rest.is_empty() {
            return parts;
        }
        listed = rest;
    }
}

fn encode(header: Header, marker: Marker, listed: &[Listed<'_>]) -> Box<[u8]> {
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
    // The buffer has the very length, and names and data were bounded when they came in.
    let written = datagram.encode(&mut bytes);
    debug_assert!(written.is_ok(), "a CATALOG that is not legal");
    bytes
}
