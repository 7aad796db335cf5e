//! The first part of a message that is too long for one datagram.

use super::{Kind, wire};
use crate::reader::Reader;
use crate::{DecodeError, Field};

/// Finds a name in the first bytes of a REQUEST, RETURN or CATALOG. The rest of the message may be missing, but it has
/// no further names. Returns the first name for which `matches` is true.
///
/// # Errors
/// Returns the first field that breaks the [format](super#refused-datagrams), or that is missing. If the message has a
/// different type, this is the type.
pub fn find_name(
    start: &[u8],
    matches: impl Fn(&[u8]) -> bool,
) -> Result<Option<&[u8]>, DecodeError> {
    let mut reader = Reader::new(start);
    let kind = wire::decode_enum(&mut reader, Field::Type, |value| {
        let kind = u8::try_from(value).ok().and_then(Kind::from_wire);
        kind.filter(|kind| matches!(kind, Kind::Request | Kind::Return | Kind::Catalog))
    })?;
    for field in [Field::From, Field::To, Field::Ssig] {
        wire::int(&mut reader, field)?;
    }
    let count = if kind == Kind::Catalog {
        wire::length(&mut reader, Field::Holdings)?
    } else {
        wire::long(&mut reader, Field::Msgnum)?;
        1
    };
    for left in (0..count).rev() {
        let name = wire::string(&mut reader, Field::Name)?;
        if matches(name) {
            return Ok(Some(name));
        }
        if left > 0 {
            wire::string(&mut reader, Field::Data)?;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::find_name;
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

    const TOKEN: Token<'_> = Token {
        name: b"backup/home",
        data: b"data",
    };

    /// Checks that the last name is found as soon as it is complete, and that no shorter start counts as permitted.
    #[track_caller]
    fn check_last_name(message: Message<'_>, bytes_after_name: usize) {
        let bytes = encode(message);
        let end = bytes.len() - bytes_after_name;
        let is_last = |name: &[u8]| name == TOKEN.name;
        for len in 0..end {
            assert!(find_name(&bytes[..len], is_last).is_err(), "{len}");
            assert!(find_name(&bytes[..len], |_| false).is_err(), "{len}");
        }
        for len in end..=bytes.len() {
            assert_eq!(find_name(&bytes[..len], is_last), Ok(Some(TOKEN.name)));
            assert_eq!(find_name(&bytes[..len], |_| false), Ok(None));
        }
    }

    #[test]
    fn the_last_name_is_read_as_soon_as_it_is_complete() {
        let (msgnum, token) = (1 << 40, TOKEN);
        let data = 1 + token.data.len();
        check_last_name(
            Message::Return {
                msgnum,
                token,
                flags: Flags::Update,
            },
            data + 1,
        );
        check_last_name(
            Message::Request {
                msgnum,
                token,
                access: Access::Shared,
            },
            data + 1,
        );
        let marker = Token {
            name: b"",
            data: b"7 0 1 5",
        };
        let holdings = [marker, marker, token];
        let holdings = holdings[..].into();
        check_last_name(Message::Catalog { holdings }, data);
    }

    #[test]
    fn each_name_of_a_catalog_is_checked() {
        let other = Token {
            name: b"index",
            data: b"",
        };
        for holdings in [[other, TOKEN], [TOKEN, other]] {
            let bytes = encode(Message::Catalog {
                holdings: holdings[..].into(),
            });
            let found = find_name(&bytes, |name| name == other.name);
            assert_eq!(found, Ok(Some(other.name)));
        }
    }

    #[test]
    fn other_messages_are_refused() {
        for start in [&encode(Message::Logout)[..], &[99], &[]] {
            assert!(find_name(start, |_| false).is_err(), "{start:?}");
        }
    }
}
