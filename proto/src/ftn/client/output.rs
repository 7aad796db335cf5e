//! What is sent, as bytes (`docs/ftn.md`, section 2).

use ring_codec::ftn::{Datagram, Flags, Header, Message, Token};

use super::Options;
use super::outbox::{Content, Outgoing};
use super::phase::Phase;
use super::session::Session;

/// Writes a datagram at the start of `buf` and returns its length; `None`: it is no longer to be sent.
pub(super) fn encode(
    options: &Options,
    phase: &Phase,
    outgoing: Outgoing,
    buf: &mut [u8],
) -> Option<usize> {
    let Outgoing { to, content } = outgoing;
    let text;
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
        (Phase::Session(session), Content::Catalog(part)) => {
            return copy(session, to, part, buf);
        }
        _ => return None,
    };
    let header = Header {
        from,
        // The list has at most 32 servers.
        to: i32::try_from(to).ok()?,
        ssig: options.servers.signature(),
    };
    Datagram::new(header, message).encode(buf).ok()
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

fn copy(session: &Session, server: usize, part: usize, buf: &mut [u8]) -> Option<usize> {
    let bytes = session.answers.part(server, part)?;
    buf.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(bytes.len())
}
