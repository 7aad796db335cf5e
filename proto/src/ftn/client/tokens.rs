//! The tokens of a session, and the messages about these tokens that wait for an answer.

use std::collections::BTreeMap;

use ring_codec::ftn::{self, Access, Flags, Message};

use super::holding::{Hold, Request, ReturningToken, TokenState, Want};
use super::outbox::{Content, Context};
use super::outstanding_messages::{MessageKind, OutstandingMessages};
use crate::ftn::{Configuration, Servers};
use crate::time::Instant;

/// Maximum number of messages that one call sends. The next call sends the remaining messages, so the client reads
/// answers in between.
const BATCH: usize = 64;

#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Tokens {
    pub(super) by_name: BTreeMap<Box<[u8]>, TokenState>,
    pub(super) outstanding: OutstandingMessages,
    /// Number of the outstanding listing REQUEST to each server.
    pub(super) listings: BTreeMap<usize, i64>,
}

impl Tokens {
    /// Starts a message about a token. The client repeats the message until an answer arrives.
    pub(super) fn start_message(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
        kind: MessageKind,
    ) -> i64 {
        let number = context.numbers.take();
        self.outstanding.begin(number, name.into(), kind);
        number
    }

    pub(super) fn start_request(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
        want: Want,
    ) -> Request {
        let number = self.start_message(context, name, MessageKind::Request);
        Request { number, want }
    }

    /// Returns a token, or informs the server that the client does not hold the token. Ends all other outstanding
    /// messages about the token.
    pub(super) fn start_return(
        &mut self,
        context: &mut Context<'_>,
        name: &[u8],
        returning: ReturnPlan,
    ) {
        // The RETURN has a larger number than these messages, so the server ignores them if they arrive later.
        let numbers = self.by_name.get(name).map(TokenState::numbers);
        self.end_outstanding(numbers.into_iter().flatten().flatten());
        let ReturnPlan {
            held,
            update,
            is_requested,
            then_request,
        } = returning;
        let number = self.start_message(context, name, MessageKind::Return);
        let returning = ReturningToken {
            number,
            held,
            update,
            is_requested,
            then_request,
        };
        self.by_name
            .insert(name.into(), TokenState::Returning(returning));
    }

    pub(super) fn end_outstanding(&mut self, numbers: impl IntoIterator<Item = i64>) {
        for number in numbers {
            self.outstanding.end(number);
        }
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.outstanding.due()
    }

    /// Sends messages that are due by `limit`, at most BATCH of them.
    pub(super) fn send_due(
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
            let server = match entry.kind {
                MessageKind::List(server) => Some(server),
                MessageKind::Request | MessageKind::Return => {
                    servers.responsible(&entry.name, configuration)
                }
            };
            // While all servers are DOWN the message waits.
            if let Some(server) = server {
                context.send(server, Content::Outstanding(number));
            }
        }
    }

    /// When the responsible server of a token changes, sends the outstanding messages to the new server at once.
    pub(super) fn adopt(&mut self, servers: &Servers, old: &Configuration, new: &Configuration) {
        // A listing asks one server by its index, so it never moves.
        let moved = |name: &[u8]| servers.responsible(name, old) != servers.responsible(name, new);
        let all = self.outstanding.iter();
        let moved: Vec<i64> = all
            .filter(|(_, entry)| !matches!(entry.kind, MessageKind::List(_)) && moved(&entry.name))
            .map(|(number, _)| number)
            .collect();
        for number in moved {
            self.outstanding.restart(number);
        }
    }

    /// Gives new numbers to all messages that wait for an answer of a server, and keeps their order. After this
    /// renumbering, the client rejects a GRANT that the server sent before its survey.
    pub(super) fn renumber(
        &mut self,
        context: &mut Context<'_>,
        configuration: &Configuration,
        server: usize,
    ) {
        let servers = &context.options.servers;
        let is_its = |name: &[u8]| servers.responsible(name, configuration) == Some(server);
        let all = self.outstanding.iter();
        // Listings keep their numbers, because a late page does no harm.
        let its: Vec<i64> = all
            .filter(|(_, entry)| !matches!(entry.kind, MessageKind::List(_)) && is_its(&entry.name))
            .map(|(number, _)| number)
            .collect();
        // The order of the messages stays, because an update must have a larger number than its upgrade.
        for old in its {
            let Some(entry) = self.outstanding.end(old) else {
                continue;
            };
            let new = context.numbers.take();
            if let Some(token) = self.by_name.get_mut(&entry.name) {
                token.renumber(old, new);
            }
            self.outstanding.begin(new, entry.name, entry.kind);
        }
    }

    /// Returns the outstanding message with this number, or `None` if there is no such message.
    pub(super) fn message(&self, msgnum: i64) -> Option<Message<'_>> {
        let entry = self.outstanding.get(msgnum)?;
        let name = &*entry.name;
        // A listing has no token: its name is only the position of the page.
        if matches!(entry.kind, MessageKind::List(_)) {
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
        match (self.by_name.get(name)?, entry.kind) {
            (TokenState::Awaited(awaited), _) => Some(request(awaited)),
            (TokenState::Held(held), MessageKind::Request) => held.request.as_ref().map(request),
            (TokenState::Held(held), _) => {
                let update = held.update.as_ref()?;
                Some(give(&update.data, Flags::Update))
            }
            (TokenState::Returning(returning), _) => {
                let data = returning.update.as_deref().unwrap_or_default();
                Some(give(data, returning.flags()))
            }
        }
    }
}

/// Fields of a planned [`ReturningToken`], whose RETURN has no msgnum.
pub(super) struct ReturnPlan {
    pub(super) held: Option<Hold>,
    pub(super) update: Option<Box<[u8]>>,
    pub(super) is_requested: bool,
    pub(super) then_request: Option<Want>,
}

impl ReturnPlan {
    pub(super) const fn not_held(is_requested: bool) -> Self {
        Self {
            held: None,
            update: None,
            is_requested,
            then_request: None,
        }
    }
}
