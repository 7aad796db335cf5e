//! Encodes datagrams (`docs/token-service/protocol/conventions.md`).

use ring_codec::ftn::{Access, Datagram, Flags, Header, Kind, Message, Token};

use super::Options;
use super::outbox::{Content, OutgoingDatagram};
use super::phase::Phase;
use super::session::Session;
use crate::ftn::DATAGRAM_BYTES_MAX;
use crate::ftn::carrier::Carrier;

/// An encoded message.
pub(super) enum Encoded {
    /// Length of a datagram in the buffer.
    Short(usize),
    /// A message that is too long for one datagram. The client sends it in parts.
    Long(Kind, Vec<u8>),
}

/// Encodes a message at the start of `buf`, if the message fits into one datagram. Returns `None` if the message is no
/// longer necessary.
pub(super) fn encode(
    options: &Options,
    phase: &Phase,
    carrier: &Carrier,
    outgoing: OutgoingDatagram,
    buf: &mut [u8],
) -> Option<Encoded> {
    let OutgoingDatagram { to, content } = outgoing;
    let address = options.servers.address(to)?;
    let (text, came);
    let (from, message) = match (phase, content) {
        (Phase::Login(login), Content::Login) => {
            text = format!(":{}", login.port);
            let p = text.as_bytes();
            (0, Message::Login { p })
        }
        (Phase::Logout(logout), Content::Logout) => (logout.session, Message::Logout),
        (Phase::Session(session), Content::Alive) => (session.id, Message::Alive),
        (Phase::Session(session), Content::Renewal(msgnum)) => {
            text = session.configuration.number().to_string();
            (session.id, renewal(msgnum, text.as_bytes()))
        }
        (Phase::Session(session), Content::Outstanding(number)) => {
            (session.id, session.tokens.message(number)?)
        }
        (Phase::Session(session), Content::Introduction) => {
            (session.id, introduction(options.introduction.as_bytes()))
        }
        (Phase::Session(session), Content::Catalog(part)) => {
            return encode_catalog_part(session, to, part, buf);
        }
        (Phase::Session(session), Content::Part(part)) => {
            (session.id, carrier.outgoing.message(address, part)?)
        }
        (Phase::Session(session), Content::Parted(content)) => {
            came = carrier.incoming.arrived_parts(address, content)?;
            let came = &came[..];
            (
                session.id,
                Message::Parted {
                    content,
                    arrived: came,
                },
            )
        }
        // The phase has changed since the message was queued.
        _ => return None,
    };
    let header = Header {
        from,
        // Cannot fail: the list has at most 32 servers.
        to: i32::try_from(to).ok()?,
        ssig: options.servers.signature(),
    };
    let datagram = Datagram::new(header, message);
    // A longer message goes in parts, because many networks drop IP fragments.
    let room = buf.len().min(DATAGRAM_BYTES_MAX);
    if let Ok(len) = datagram.encode(&mut buf[..room]) {
        return Some(Encoded::Short(len));
    }
    let mut bytes = vec![0; datagram.encoded_len()];
    datagram.encode(&mut bytes).ok()?;
    Some(Encoded::Long(message.kind(), bytes))
}

/// Returns an introduction: REQUEST of the empty name with exclusive access.
const fn introduction(text: &[u8]) -> Message<'_> {
    Message::Request {
        // A server does not answer an introduction, so it needs no number.
        msgnum: 0,
        token: Token {
            name: b"",
            data: text,
        },
        access: Access::Exclusive,
    }
}

/// Returns a renewal: RETURN of the empty name.
const fn renewal(msgnum: i64, configuration: &[u8]) -> Message<'_> {
    Message::Return {
        msgnum,
        token: Token {
            name: b"",
            // The number shows a leader in its grace whether this client would accept its messages.
            data: configuration,
        },
        flags: Flags::Deassign,
    }
}

fn encode_catalog_part(
    session: &Session,
    server: usize,
    part: usize,
    buf: &mut [u8],
) -> Option<Encoded> {
    let bytes = session.answers.part(server, part)?;
    let len = bytes.len();
    if len > DATAGRAM_BYTES_MAX {
        return Some(Encoded::Long(Kind::Catalog, bytes.to_vec()));
    }
    buf.get_mut(..len)?.copy_from_slice(bytes);
    Some(Encoded::Short(len))
}
