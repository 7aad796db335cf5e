//! Checks of the FTN token service.

use arbitrary::{Result, Unstructured};
use ring_codec::List;
use ring_codec::ftn::{
    Access, Assignment, Datagram, Flags, Header, Holders, Kind, ListedSession, Message,
    ServerState, ServerTerms, Terms, Token,
};
use ring_codec::list::Item;

use super::{check_error, encode_checked};

/// Checks that these bytes decode to a datagram that encodes to the same bytes. If the bytes do not decode, checks that
/// the error has a correct offset. The datagram's values encode to their shortest form, which decodes to the same
/// datagram.
pub(crate) fn bytes(input: &[u8]) {
    let datagram = match Datagram::decode(input) {
        Ok(datagram) => datagram,
        Err(error) => return check_error(error, input),
    };
    assert_eq!(encode(&datagram), input);
    let plain = Datagram::new(datagram.header(), datagram.message());
    let shortest = encode(&match datagram.terms() {
        Some(terms) => plain.with_terms(terms),
        None => plain,
    });
    assert_eq!(datagram.is_shortest(), shortest == input);
    assert!(shortest.len() <= input.len());
    let decoded = Datagram::decode(&shortest).expect("a legal message");
    assert_eq!(decoded, datagram);
    assert!(decoded.is_shortest());
    check_lists(datagram.message(), input.len());
}

/// Checks that each list has as many entries as its length states, and not more than the datagram has bytes.
fn check_lists(message: Message<'_>, len: usize) {
    fn check<'a, T: Item<'a>>(list: List<'a, T>, len: usize) {
        assert!(list.len() <= len);
        assert_eq!(list.iter().count(), list.len());
    }
    match message {
        Message::Config { sstates, .. } => check(sstates, len),
        Message::Catalog { holdings } => check(holdings, len),
        Message::State {
            sstates, clients, ..
        } => {
            check(sstates, len);
            check(clients, len);
        }
        Message::Transfer { assignments, .. } => {
            check(assignments, len);
            for assignment in assignments {
                if let Holders::Shared(ids) = assignment.holders {
                    check(ids, len);
                }
            }
        }
        _ => {}
    }
}

fn encode(datagram: &Datagram<'_>) -> Vec<u8> {
    encode_checked(datagram.encoded_len(), |buf| datagram.encode(buf))
}

/// Whether these bytes are exactly one message.
pub(crate) fn decodes(input: &[u8]) -> bool {
    Datagram::decode(input).is_ok()
}

/// Checks that a legal message, built from these bytes, survives encoding and decoding.
pub(crate) fn value(seed: &[u8]) {
    let _ = build(&mut Unstructured::new(seed));
}

fn build(u: &mut Unstructured<'_>) -> Result<()> {
    let header = Header {
        from: int(u)?,
        to: int(u)?,
        ssig: int(u)?,
    };
    let terms = terms(u)?;
    let check = |message: Message<'_>| check(header, message, terms);
    let (msgnum, seq) = (long(u)?, seq(u)?);
    let (leader, sstate) = (long(u)?, sstate(u)?);
    let kind = *u.choose(&Kind::ALL)?;
    match kind {
        Kind::Login => check(Message::Login { p: u.arbitrary()? }),
        Kind::Config => {
            let sstates = list(u, self::sstate)?;
            let sstates = sstates.as_slice().into();
            check(Message::Config { leader, sstates });
        }
        Kind::Catalog => {
            let holdings = list(u, token)?;
            let holdings = holdings.as_slice().into();
            check(Message::Catalog { holdings });
        }
        Kind::Alive => check(Message::Alive),
        Kind::Logout => check(Message::Logout),
        Kind::Request => {
            let access = *u.choose(&[Access::Shared, Access::Exclusive])?;
            let token = token(u)?;
            check(Message::Request {
                msgnum,
                token,
                access,
            });
        }
        Kind::Grant => {
            let token = token(u)?;
            check(Message::Grant { msgnum, token });
        }
        Kind::Revoke => check(Message::Revoke {
            name: u.arbitrary()?,
        }),
        Kind::Return => {
            let flags = *u.choose(&[Flags::Update, Flags::Deassign, Flags::Both])?;
            let token = token(u)?;
            check(Message::Return {
                msgnum,
                token,
                flags,
            });
        }
        Kind::Confirm => check(Message::Confirm { msgnum }),
        Kind::State => {
            let (sstates, clients) = (list(u, self::sstate)?, list(u, client)?);
            check(Message::State {
                seq,
                leader,
                sstates: sstates.as_slice().into(),
                clients: clients.as_slice().into(),
            });
        }
        Kind::Heartbeat => check(Message::Heartbeat { seq, sstate }),
        Kind::Elect => {
            let leader = int(u)?;
            check(Message::Elect { seq, leader });
        }
        Kind::Transfer => transfer(u, msgnum, check)?,
        Kind::Transferred => {
            let part = int(u)?;
            check(Message::Transferred { msgnum, part });
        }
        Kind::Part => {
            let parts = u.int_in_range(1..=i32::MAX)?;
            let part = u.int_in_range(0..=parts - 1)?;
            let bytes = u.arbitrary()?;
            check(Message::Part {
                content: msgnum,
                part,
                parts,
                bytes,
            });
        }
        Kind::Parted => check(Message::Parted {
            content: msgnum,
            arrived: u.arbitrary()?,
        }),
    }
    Ok(())
}

/// Checks the message without and with terms. If a message type cannot have terms, the encoder omits the terms.
fn check(header: Header, message: Message<'_>, terms: Terms) {
    let plain = Datagram::new(header, message);
    check_round_trip(plain);
    check_round_trip(plain.with_terms(terms));
}

fn check_round_trip(datagram: Datagram<'_>) {
    let out = encode(&datagram);
    let decoded = Datagram::decode(&out).expect("a legal message");
    assert_eq!(decoded, datagram);
    assert!(decoded.is_shortest());
}

fn transfer(u: &mut Unstructured<'_>, msgnum: i64, check: impl Fn(Message<'_>)) -> Result<()> {
    let parts = u.int_in_range(1..=i32::MAX)?;
    let part = u.int_in_range(0..=parts - 1)?;
    let ids = [int(u)?, int(u)?, int(u)?];
    let assignments = list(u, |u| {
        Ok(Assignment {
            token: token(u)?,
            holders: match u.int_in_range(0..=3)? {
                0 => Holders::Nobody,
                1 => Holders::Exclusive(ids[0]),
                2 => Holders::Shared(ids[..1].into()),
                _ => Holders::Shared(ids[..].into()),
            },
        })
    })?;
    let message = Message::Transfer {
        msgnum,
        part,
        parts,
        assignments: assignments.as_slice().into(),
    };
    check(message);
    Ok(())
}

fn list<'a, T>(
    u: &mut Unstructured<'a>,
    one: impl Fn(&mut Unstructured<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let count = u.int_in_range(0..=40)?;
    (0..count).map(|_| one(u)).collect()
}

fn seq(u: &mut Unstructured<'_>) -> Result<i128> {
    let (configuration, round): (u64, u32) = (u.arbitrary()?, u.arbitrary()?);
    let configuration = configuration >> u.int_in_range(1..=63)?;
    Ok(i128::from(configuration) << 32 | i128::from(round))
}

/// Makes a random long, and first chooses its width at random. If all values were equally likely, most numbers would
/// have the longest width.
fn long(u: &mut Unstructured<'_>) -> Result<i64> {
    Ok(i64::from_le_bytes(u.arbitrary()?) >> u.int_in_range(0..=63)?)
}

fn int(u: &mut Unstructured<'_>) -> Result<i32> {
    Ok(i32::from_le_bytes(u.arbitrary()?) >> u.int_in_range(0..=31)?)
}

fn sstate(u: &mut Unstructured<'_>) -> Result<ServerState> {
    let all = [ServerState::Down, ServerState::Booting, ServerState::Ready];
    u.choose(&all).copied()
}

fn terms(u: &mut Unstructured<'_>) -> Result<Terms> {
    Ok(Terms {
        client_timeout: long(u)?,
        quorum: int(u)?,
        pace: Some(ServerTerms {
            heartbeat: long(u)?,
            server_timeout: long(u)?,
            grace: long(u)?,
        }),
    })
}

fn token<'a>(u: &mut Unstructured<'a>) -> Result<Token<'a>> {
    Ok(Token {
        name: u.arbitrary()?,
        data: u.arbitrary()?,
    })
}

fn client<'a>(u: &mut Unstructured<'a>) -> Result<ListedSession<'a>> {
    Ok(ListedSession {
        id: int(u)?,
        address: u.arbitrary()?,
    })
}
