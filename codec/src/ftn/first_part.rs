//! The first part of a message that is too long for one datagram.

use super::{Kind, wire};
use crate::reader::Reader;
use crate::{DecodeError, Field};

/// Reads the name of the token from the first bytes of a REQUEST or RETURN. The rest of the message may be missing.
/// Returns `None` for other messages.
///
/// # Errors
/// Returns the first field that breaks the [format](super#refused-datagrams), or that is missing.
pub fn token_name(start: &[u8]) -> Result<Option<&[u8]>, DecodeError> {
    let mut reader = Reader::new(start);
    let kind = wire::decode_enum(&mut reader, Field::Type, |value| {
        u8::try_from(value).ok().and_then(Kind::from_wire)
    })?;
    if !matches!(kind, Kind::Request | Kind::Return) {
        return Ok(None);
    }
    for field in [Field::From, Field::To, Field::Ssig] {
        wire::int(&mut reader, field)?;
    }
    wire::long(&mut reader, Field::Msgnum)?;
    wire::string(&mut reader, Field::Name).map(Some)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::token_name;
    use crate::ftn::{Access, Datagram, Flags, Header, Message, Token};

    const HEADER: Header = Header {
        from: 1 << 20,
        to: 0,
        ssig: 7,
    };

    fn encode(message: Message<'_>) -> Vec<u8> {
        let mut bytes = [0; 200];
        let len = Datagram::new(HEADER, message).encode(&mut bytes);
        bytes[..len.expect("short")].to_vec()
    }

    #[test]
    fn the_name_is_read_as_soon_as_it_is_complete() {
        let token = Token {
            name: b"backup/home",
            data: b"data",
        };
        let (msgnum, flags, access) = (1 << 40, Flags::Update, Access::Shared);
        for message in [
            Message::Return {
                msgnum,
                token,
                flags,
            },
            Message::Request {
                msgnum,
                token,
                access,
            },
        ] {
            let bytes = encode(message);
            let end = bytes.len() - 1 - 1 - token.data.len();
            for len in 0..end {
                assert!(token_name(&bytes[..len]).is_err(), "{len}");
            }
            for len in end..=bytes.len() {
                assert_eq!(token_name(&bytes[..len]), Ok(Some(token.name)));
            }
        }
    }

    #[test]
    fn other_messages_have_no_name() {
        assert_eq!(token_name(&encode(Message::Logout)), Ok(None));
        assert!(token_name(&[99]).is_err());
    }
}
