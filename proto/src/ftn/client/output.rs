//! What is sent, as bytes (`docs/ftn.md`, section 2).

use ring_codec::ftn::{Access, Datagram, Flags, Header, Kind, Message, Token};

use super::Options;
use super::outbox::{Content, Outgoing};
use super::phase::Phase;
use super::session::Session;
use crate::ftn::LONGEST;
use crate::ftn::carrier::Carrier;

/// A datagram, or what is too long for one.
pub(super) enum Encoded {
    /// It lies in the buffer, and has this length.
    Short(usize),
    /// It goes in parts.
    Long(Kind, Vec<u8>),
}

/// Writes a datagram at the start of `buf`, if it is not too long; `None`: it is no longer to be sent.
pub(super) fn encode(
    options: &Options,
    phase: &Phase,
    carried: &Carrier,
    outgoing: Outgoing,
    buf: &mut [u8],
) -> Option<Encoded> {
    let Outgoing { to, content } = outgoing;
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
            return copy(session, to, part, buf);
        }
        (Phase::Session(session), Content::Part(part)) => {
            (session.id, carried.outgoing.message(address, part)?)
        }
        (Phase::Session(session), Content::Parted(content)) => {
            came = carried.incoming.came(address, content)?;
            let came = &came[..];
            (session.id, Message::Parted { content, came })
        }
        _ => return None,
    };
    let header = Header {
        from,
        // The list has at most 32 servers.
        to: i32::try_from(to).ok()?,
        ssig: options.servers.signature(),
    };
    let datagram = Datagram::new(header, message);
    let room = buf.len().min(LONGEST);
    if let Ok(len) = datagram.encode(&mut buf[..room]) {
        return Some(Encoded::Short(len));
    }
    let mut bytes = vec![0; datagram.encoded_len()];
    datagram.encode(&mut bytes).ok()?;
    Some(Encoded::Long(message.kind(), bytes))
}

/// REQUEST of the empty name, exclusively.
const fn introduction(text: &[u8]) -> Message<'_> {
    Message::Request {
        msgnum: 0,
        token: Token {
            name: b"",
            data: text,
        },
        access: Access::Exclusive,
    }
}

/// RETURN of the empty name.
const fn renewal(msgnum: i64, configuration: &[u8]) -> Message<'_> {
    Message::Return {
        msgnum,
        token: Token {
            name: b"",
            data: configuration,
        },
        flags: Flags::Deassign,
    }
}

fn copy(session: &Session, server: usize, part: usize, buf: &mut [u8]) -> Option<Encoded> {
    let bytes = session.answers.part(server, part)?;
    let len = bytes.len();
    if len > LONGEST {
        return Some(Encoded::Long(Kind::Catalog, bytes.to_vec()));
    }
    buf.get_mut(..len)?.copy_from_slice(bytes);
    Some(Encoded::Short(len))
}
