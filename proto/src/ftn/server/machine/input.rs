//! Checks datagrams and passes them to their rules (`docs/token-service/protocol/conventions.md` D2).

use std::net::SocketAddr;
use std::str;

use ring_codec::ftn::{Access, Datagram, Flags, Kind, Message, Token};

use super::Server;
use super::request::TokenRequest;
use super::returns::TokenReturn;
use crate::ftn::carrier::{MESSAGE_MAX, PARTS_MAX, PartOutcome, ReceivedPart};
use crate::ftn::server::group::{StateMessage, has_short_client_timeout};
use crate::ftn::server::{DropReason, Event};
use crate::ftn::{DATA_BYTES_MAX, NAME_BYTES_MAX, PART};
use crate::time::{Instant, Now};

/// Largest number of senders that are reported for each reason.
const REPORTED_SENDERS_MAX: usize = 1_024;

impl Server {
    /// Handles a datagram that arrived at `arrived`.
    pub(super) fn on_datagram(
        &mut self,
        now: Now,
        arrived: Instant,
        from: SocketAddr,
        bytes: &[u8],
    ) {
        let Ok(datagram) = Datagram::decode(bytes) else {
            return self.drop(from, DropReason::Malformed);
        };
        self.on_decoded(now, arrived, from, &datagram);
    }

    fn on_decoded(
        &mut self,
        now: Now,
        arrived: Instant,
        from: SocketAddr,
        datagram: &Datagram<'_>,
    ) {
        let (header, message) = (datagram.header(), datagram.message());
        self.present_kind = Some(message.kind());
        self.out.counters.note_received(message.kind());
        if self.started.is_none() || self.has_left {
            return self.drop(from, DropReason::Stopped);
        }
        if header.ssig != self.servers.signature() {
            self.note_other_list(from, header.ssig);
            return self.drop(from, DropReason::Signature);
        }
        if usize::try_from(header.to) != Ok(self.index) {
            return self.drop(from, DropReason::NotForMe);
        }
        match message {
            Message::Config { .. }
            | Message::Grant { .. }
            | Message::Revoke { .. }
            | Message::Confirm { .. } => self.drop(from, DropReason::OtherRole),
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
                self.on_part(now, arrived, from, header.from, piece);
            }
            Message::Parted {
                content,
                arrived: came,
            } => {
                let is_server = self.servers.sender_address(header.from) == Some(from);
                self.out
                    .on_parted(from, (header.from, is_server), content, came);
            }
            Message::Login { p } => self.on_login(now.monotonic, from, p),
            Message::Catalog { .. }
            | Message::Alive
            | Message::Logout
            | Message::Request { .. }
            | Message::Return { .. } => {
                self.on_client(now.monotonic, arrived, from, header.from, &message);
            }
            Message::State { .. }
            | Message::Heartbeat { .. }
            | Message::Elect { .. }
            | Message::Transfer { .. }
            | Message::Transferred { .. } => self.on_server(now, arrived, from, datagram),
        }
    }

    /// Handles a part of a message.
    fn on_part(
        &mut self,
        now: Now,
        arrived: Instant,
        from: SocketAddr,
        sender: i32,
        piece: ReceivedPart<'_>,
    ) {
        let is_server = self.servers.sender_address(sender) == Some(from);
        // Parts of strangers must not take memory.
        if !is_server && !self.identify(now.monotonic, arrived, from, sender, None) {
            return self.redirect(from, DropReason::NoSession);
        }
        // A list of sessions is longer than any message of a client.
        let longest = if is_server {
            PARTS_MAX * PART
        } else {
            MESSAGE_MAX
        };
        let incoming = &mut self.out.carrier(is_server).incoming;
        let took = incoming.take(now.monotonic, arrived, from, piece, longest);
        let came = incoming.arrived_parts(from, piece.content);
        if took == PartOutcome::Refused {
            return self.drop(from, DropReason::Malformed);
        }
        // A complete message is acknowledged too, so that its sender stops repeating.
        if let Some(came) = came {
            let (content, came) = (piece.content, &came[..]);
            self.out.send(
                from,
                sender,
                Message::Parted {
                    content,
                    arrived: came,
                },
            );
        }
        if let PartOutcome::Complete { bytes, arrived } = took {
            match Datagram::decode(&bytes) {
                Ok(whole) if whole.message().kind() != Kind::Part => {
                    self.on_decoded(now, arrived, from, &whole);
                }
                // If a PART itself could arrive in parts, its length would have no limit.
                _ => self.drop(from, DropReason::Malformed),
            }
        }
    }

    /// Reports a sender that has a different list of servers. Reports each sender once.
    fn note_other_list(&mut self, from: SocketAddr, signature: i32) {
        // The number of senders is bounded, because a sender can forge any address.
        if self.other_list_senders.len() < REPORTED_SENDERS_MAX
            && self.other_list_senders.insert(from)
        {
            self.out.report(Event::OtherList { from, signature });
        }
    }

    /// Reports a sender that uses the index of another server, but does not have that server's address. Reports each
    /// sender once.
    fn note_misplaced(&mut self, from: SocketAddr, index: i32) {
        let server = usize::try_from(index).ok();
        let Some(server) = server.filter(|it| *it < self.servers.len() && *it != self.index) else {
            return;
        };
        // The number of senders is bounded, because a sender can forge any address.
        if self.misplaced.len() < REPORTED_SENDERS_MAX && self.misplaced.insert(from) {
            let listed = self.servers.address(server);
            self.out.report(Event::SenderMisplaced {
                server,
                from,
                listed,
            });
        }
    }

    fn on_server(&mut self, now: Now, arrived: Instant, from: SocketAddr, datagram: &Datagram<'_>) {
        let header = datagram.header();
        let is_listed = self.servers.sender_address(header.from) == Some(from);
        let server = usize::try_from(header.from).ok();
        // A message does not prove its sender. So only the listed address shows that a server has sent the message.
        let Some(server) = server.filter(|&server| is_listed && server != self.index) else {
            self.note_misplaced(from, header.from);
            return self.drop(from, DropReason::NotAServer);
        };
        if let Some(terms) = datagram.terms() {
            // The terms are recorded even if the message is dropped, so that the status names the wrong option.
            self.on_terms(server, terms);
            if has_short_client_timeout(terms) {
                // As a leader the sender would end live sessions, so it counts as DOWN.
                return self.drop(from, DropReason::ShortTimeout);
            }
        }
        let at = now.monotonic;
        match datagram.message() {
            Message::State {
                seq,
                leader,
                sstates,
                clients,
            } => {
                let state = StateMessage {
                    seq,
                    leader,
                    states: sstates,
                    clients,
                };
                self.on_state(now, arrived, server, &state);
            }
            Message::Heartbeat { seq, sstate } => {
                self.on_heartbeat(at, arrived, server, seq, sstate);
            }
            Message::Elect { seq, leader } => self.on_elect(now, arrived, server, seq, leader),
            Message::Transfer {
                msgnum,
                part,
                parts,
                assignments,
            } => self.on_transfer(at, server, (msgnum, part, parts), assignments),
            Message::Transferred { msgnum, part } => self.on_transferred(at, server, msgnum, part),
            _ => {}
        }
    }

    fn on_client(
        &mut self,
        now: Instant,
        arrived: Instant,
        from: SocketAddr,
        session: i32,
        message: &Message<'_>,
    ) {
        let token = match message {
            Message::Request { token, .. } | Message::Return { token, .. } => Some(*token),
            _ => None,
        };
        // The lengths are checked before `identify`, so that an illegal message begins no session.
        if token.is_some_and(|token| {
            token.name.len() > NAME_BYTES_MAX || token.data.len() > DATA_BYTES_MAX
        }) {
            return self.drop(from, DropReason::TooLong);
        }
        let renewal = match message {
            Message::Return {
                msgnum,
                token,
                flags,
            } if token.name.is_empty() => {
                // The renewal is parsed before `identify`, which adopts a session only if the renewal is valid.
                let number = parse_renewal(*token, *flags);
                // The empty name is reserved, so any other RETURN with it is an error.
                if number.is_none() {
                    return self.drop(from, DropReason::Malformed);
                }
                number.map(|number| (*msgnum, number))
            }
            _ => None,
        };
        let renews = renewal.map(|(_, number)| number);
        if !self.identify(now, arrived, from, session, renews) {
            return self.redirect(from, DropReason::NoSession);
        }
        if let Some((msgnum, number)) = renewal {
            return self.on_renewal(now, from, session, msgnum, number);
        }
        match *message {
            Message::Catalog { holdings } => self.on_catalog(now, from, session, holdings),
            Message::Logout => self.on_logout(now, from, session),
            Message::Request {
                token: Token { name: [], data },
                access: Access::Exclusive,
                ..
            } => self.on_introduction(session, data),
            Message::Request {
                msgnum,
                token: Token { name: [], data },
                ..
            } => self.on_list(now, from, session, msgnum, data),
            Message::Request {
                msgnum,
                token: Token { name, data },
                access,
            } => {
                let request = TokenRequest {
                    session,
                    msgnum,
                    name,
                    data,
                    access,
                };
                self.on_request(now, from, &request);
            }
            Message::Return {
                msgnum,
                token: Token { name, data },
                flags,
            } => {
                let returned = TokenReturn {
                    session,
                    msgnum,
                    name,
                    data,
                    flags,
                };
                self.on_return(now, from, &returned);
            }
            // ALIVE only shows that the session lives, which `identify` has recorded.
            _ => {}
        }
    }
}

/// Returns the configuration number of a renewal, or `None` if the number is invalid.
fn parse_renewal(token: Token<'_>, flags: Flags) -> Option<u64> {
    let is_decimal = !token.data.is_empty() && token.data.iter().all(u8::is_ascii_digit);
    let number: u64 = str::from_utf8(token.data).ok()?.parse().ok()?;
    (flags == Flags::Deassign && is_decimal).then_some(number)
}
