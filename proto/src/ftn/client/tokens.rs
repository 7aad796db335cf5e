//! The tokens of a session, and the messages about them that await an answer. What ends with the session is here.

use std::collections::BTreeMap;

use ring_codec::ftn::{self, Access, Flags, Message};

use super::holding::{Hold, Leaving, Request, Token, Want};
use super::outbox::{Content, Context};
use super::outstanding::{Outstanding, Which};
use crate::ftn::{Configuration, Servers};
use crate::time::Instant;

/// How many messages one call sends at most; what is due beyond is sent at the next.
const BATCH: usize = 64;

/// The tokens of a session.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Tokens {
    pub(super) known: BTreeMap<Box<[u8]>, Token>,
    pub(super) outstanding: Outstanding,
    /// The question to each server for a page of its tokens, by number.
    pub(super) listings: BTreeMap<usize, i64>,
}

impl Tokens {
    /// A new message about a token, which is sent until it is answered.
    pub(super) fn start(&mut self, context: &mut Context<'_>, name: &[u8], which: Which) -> i64 {
        let number = context.numbers.take();
        self.outstanding.begin(number, name.into(), which);
        number
    }

    pub(super) fn start_request(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
        want: Want,
    ) -> Request {
        let number = self.start(context, name, Which::Request);
        Request { number, want }
    }

    /// Gives a token back, or makes sure that it is not held. Nothing else remains outstanding for it.
    pub(super) fn leave(&mut self, context: &mut Context<'_>, name: &[u8], leaving: LeavingAs) {
        let numbers = self.known.get(name).map(Token::numbers);
        self.outstanding_ends(numbers.into_iter().flatten().flatten());
        let LeavingAs {
            held,
            update,
            asked,
            then_request,
        } = leaving;
        let number = self.start(context, name, Which::Return);
        let leaving = Leaving {
            number,
            held,
            update,
            asked,
            then_request,
        };
        self.known.insert(name.into(), Token::Leaving(leaving));
    }

    /// These messages are given up.
    pub(super) fn outstanding_ends(&mut self, numbers: impl IntoIterator<Item = i64>) {
        for number in numbers {
            self.outstanding.end(number);
        }
    }

    /// When the next message is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.outstanding.due()
    }

    /// Sends what is due by `limit`, but not too much at once.
    pub(super) fn act(
        &mut self,
        context: &mut Context<'_>,
        configuration: &Configuration,
        limit: Instant,
    ) {
        let servers = &context.options.servers;
        for _ in 0..BATCH {
            let Some((number, entry)) = self.outstanding.take_due(context.now, limit) else {
                return;
            };
            let server = match entry.which {
                Which::List(server) => Some(server),
                Which::Request | Which::Return => servers.responsible(&entry.name, configuration),
            };
            // While all are DOWN it waits.
            if let Some(server) = server {
                context.send(server, Content::Outstanding(number));
            }
        }
    }

    /// Servers have changed their states: what another server is responsible for now goes to that at once.
    pub(super) fn adopt(&mut self, servers: &Servers, old: &Configuration, new: &Configuration) {
        let moved = |name: &[u8]| servers.responsible(name, old) != servers.responsible(name, new);
        let all = self.outstanding.iter();
        let moved: Vec<i64> = all
            .filter(|(_, entry)| !matches!(entry.which, Which::List(_)) && moved(&entry.name))
            .map(|(number, _)| number)
            .collect();
        for number in moved {
            self.outstanding.restart(number);
        }
    }

    /// A server was told what is held: messages with the numbers so far are of its former life. All that await its answer
    /// get new ones, in the same order.
    pub(super) fn renumber(
        &mut self,
        context: &mut Context<'_>,
        configuration: &Configuration,
        server: usize,
    ) {
        let servers = &context.options.servers;
        let is_its = |name: &[u8]| servers.responsible(name, configuration) == Some(server);
        let all = self.outstanding.iter();
        let its: Vec<i64> = all
            .filter(|(_, entry)| !matches!(entry.which, Which::List(_)) && is_its(&entry.name))
            .map(|(number, _)| number)
            .collect();
        for old in its {
            let Some(entry) = self.outstanding.end(old) else {
                continue;
            };
            let new = context.numbers.take();
            if let Some(token) = self.known.get_mut(&entry.name) {
                token.renumber(old, new);
            }
            self.outstanding.begin(new, entry.name, entry.which);
        }
    }

    /// What the outstanding message with this number says; `None`: it is no longer outstanding.
    pub(super) fn message(&self, msgnum: i64) -> Option<Message<'_>> {
        let entry = self.outstanding.get(msgnum)?;
        let name = &*entry.name;
        if matches!(entry.which, Which::List(_)) {
            return Some(Message::Request {
                msgnum,
                token: ftn::Token {
                    name: b"",
                    data: name,
                },
                access: Access::Shared,
            });
        }
        let request = |request: &Request| Message::Request {
            msgnum,
            token: ftn::Token {
                name,
                data: if request.want.fence { b"fence" } else { b"" },
            },
            access: request.want.access,
        };
        let give = |data, flags| Message::Return {
            msgnum,
            token: ftn::Token { name, data },
            flags,
        };
        match (self.known.get(name)?, entry.which) {
            (Token::Awaited(awaited), _) => Some(request(awaited)),
            (Token::Held(held), Which::Request) => held.request.as_ref().map(request),
            (Token::Held(held), _) => {
                let update = held.update.as_ref()?;
                Some(give(&update.data, Flags::Update))
            }
            (Token::Leaving(leaving), _) => {
                let data = leaving.update.as_deref().unwrap_or_default();
                Some(give(data, leaving.flags()))
            }
        }
    }
}

/// How a token is given back: [`Leaving`] before it has its number.
pub(super) struct LeavingAs {
    pub(super) held: Option<Hold>,
    pub(super) update: Option<Box<[u8]>>,
    pub(super) asked: bool,
    pub(super) then_request: Option<Want>,
}

impl LeavingAs {
    /// Not held, as far as the client knows.
    pub(super) const fn not_held(asked: bool) -> Self {
        Self {
            held: None,
            update: None,
            asked,
            then_request: None,
        }
    }
}
