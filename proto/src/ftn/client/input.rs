//! Checks datagrams and passes them to their rules (`docs/token-service/protocol/conventions.md` D3).

use std::net::SocketAddr;

use ring_codec::List;
use ring_codec::ftn::{Datagram, Kind, Message, ServerState};

use super::logout::Progress;
use super::phase::Phase;
use super::{Client, DropReason, Event};
use crate::ftn::carrier::ReceivedPart;
use crate::ftn::{Configuration, DATA_BYTES_MAX, NAME_BYTES_MAX, Servers};

/// Longest fencing number in a GRANT's data, with the space after it, in bytes.
// A fencing number of 88 bits has at most 27 digits.
const FENCE_BYTES_MAX: usize = 28;

impl Client {
    pub(super) fn receive(&mut self, from: SocketAddr, bytes: &[u8]) {
        let decoded = Datagram::decode(bytes);
        let (kind, outcome) = match &decoded {
            Ok(datagram) => (Some(datagram.message().kind()), self.accept(from, datagram)),
            Err(_) => (None, Err(DropReason::Malformed)),
        };
        if let Err(reason) = outcome {
            self.report(Event::Dropped { from, kind, reason });
        }
    }

    pub(super) fn accept(
        &mut self,
        from: SocketAddr,
        datagram: &Datagram<'_>,
    ) -> Result<(), DropReason> {
        let (header, message) = (datagram.header(), datagram.message());
        // The list is checked first, because an index means a different server in a different list.
        if header.ssig != self.options.servers.signature() {
            self.report_other_list(from, header.ssig);
            return Err(DropReason::Ssig);
        }
        if !is_for_clients(message.kind()) {
            return Err(DropReason::NotForClients);
        }
        if self.options.servers.sender_address(header.from) != Some(from) {
            return Err(DropReason::NotAServer);
        }
        if is_too_long(&message) {
            return Err(DropReason::TooLong);
        }
        // Cannot fail: the field is the index of a listed address.
        let server = usize::try_from(header.from).map_err(|_| DropReason::NotAServer)?;
        // This comes before the next check, because a longer timeout makes the server usable again.
        if let (Message::Config { .. }, Some(terms)) = (message, datagram.terms()) {
            self.on_announced_timeout(server, terms.client_timeout);
        }
        if self.is_unusable(server) {
            return Err(DropReason::ShortTimeout);
        }
        match message {
            Message::Config { leader, sstates } => {
                let configuration = configuration(&self.options.servers, leader, sstates)
                    .ok_or(DropReason::Illegal)?;
                self.on_config(server, header.to, configuration)
            }
            Message::Part {
                content,
                part,
                parts,
                bytes,
            } => {
                let piece = ReceivedPart {
                    content,
                    part,
                    parts,
                    bytes,
                };
                self.on_part(server, from, header.to, piece)
            }
            Message::Parted {
                content,
                arrived: came,
            } => {
                self.on_parted(server, from, content, came);
                Ok(())
            }
            other => self.on_token_message(server, header.to, &other),
        }
    }

    fn on_config(
        &mut self,
        server: usize,
        to: i32,
        configuration: Configuration,
    ) -> Result<(), DropReason> {
        let is_former = self.former_sessions.contains(&to);
        let known = self.configuration().map(Configuration::number);
        if known.is_some_and(|known| configuration.number() > known) {
            // Another server may be responsible now. Parts that wait for the former server would delay new messages to
            // that server.
            self.drop_outgoing_parts();
        }
        let (phase, mut context) = self.split();
        match phase {
            Phase::NoSocket { .. } | Phase::Ended => Err(DropReason::NoSession),
            Phase::Login(_) if to < 0 => Err(DropReason::Illegal),
            Phase::Login(_) if is_former => Err(DropReason::FormerSession),
            Phase::Login(login) => {
                let session = (to > 0).then_some(to);
                let is_news = login.record_answer(server, configuration, session);
                is_news.then_some(()).ok_or(DropReason::Late)
            }
            Phase::Session(session) => session.on_config(&mut context, server, to, configuration),
            Phase::Logout(logout) => {
                if configuration.number() < logout.configuration().number() {
                    return Err(DropReason::Late);
                }
                // A CONFIG with an id belongs to a survey, and this client holds nothing.
                if to != 0 {
                    return Err(DropReason::NoSession);
                }
                if logout.on_config(&mut context, server, configuration) == Progress::Done {
                    self.phase = Phase::Ended;
                }
                Ok(())
            }
        }
    }

    /// Handles GRANT, REVOKE and CONFIRM. These messages count only in a session.
    fn on_token_message(
        &mut self,
        server: usize,
        to: i32,
        message: &Message<'_>,
    ) -> Result<(), DropReason> {
        let (phase, mut context) = self.split();
        let Phase::Session(session) = phase else {
            return Err(DropReason::NoSession);
        };
        // An earlier session or process may have had the same address.
        if to != session.id {
            return Err(DropReason::NotForMe);
        }
        let context = &mut context;
        match *message {
            Message::Grant { msgnum, token } => {
                session.on_grant(context, server, msgnum, token.name, token.data)
            }
            Message::Revoke { name } => session.on_revoke(context, server, name),
            Message::Confirm { msgnum } => session.on_confirm(context, server, msgnum),
            _ => Err(DropReason::NotForClients),
        }
    }
}

const fn is_for_clients(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Config | Kind::Grant | Kind::Revoke | Kind::Confirm | Kind::Part | Kind::Parted
    )
}

const fn is_too_long(message: &Message<'_>) -> bool {
    match message {
        Message::Grant { token, .. } => {
            token.name.len() > NAME_BYTES_MAX || token.data.len() > DATA_BYTES_MAX + FENCE_BYTES_MAX
        }
        Message::Revoke { name } => name.len() > NAME_BYTES_MAX,
        _ => false,
    }
}

/// Returns the configuration of a CONFIG. Returns `None` if the configuration number is negative, or if the CONFIG
/// contains a wrong number of servers.
fn configuration(
    servers: &Servers,
    leader: i64,
    sstates: List<'_, ServerState>,
) -> Option<Configuration> {
    let number = u64::try_from(leader).ok()?;
    let is_whole = sstates.len() == servers.len();
    is_whole.then(|| Configuration::new(number, sstates.iter().collect::<Vec<_>>()))
}
