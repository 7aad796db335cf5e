//! The FTN token service.

use arbitrary::{Result, Unstructured};
use ring_codec::List;
use ring_codec::ftn::{
    Access, Assignment, Client, Datagram, Flags, Header, Holders, Kind, Message, Pace, ServerState,
    Terms, Token,
};
use ring_codec::list::Item;

use super::{located, written};

/// Any bytes are a datagram that encodes to them, or an error. Its values encode to the shortest
/// form, which is the same datagram.
pub(crate) fn bytes(input: &[u8]) {
    let datagram = match Datagram::decode(input) {
        Ok(datagram) => datagram,
        Err(error) => return located(error, input),
    };
    assert_eq!(encoded(&datagram), input);
    let plain = Datagram::new(datagram.header(), datagram.message());
    let shortest = encoded(&match datagram.terms() {
        Some(terms) => plain.with_terms(terms),
        None => plain,
    });
    assert_eq!(datagram.is_shortest(), shortest == input);
    assert!(shortest.len() <= input.len());
    let again = Datagram::decode(&shortest).expect("a legal message");
    assert_eq!(again, datagram);
    assert!(again.is_shortest());
    bounded(datagram.message(), input.len());
}

/// Going through a list ends where its length says, and the entries are within the datagram.
fn bounded(message: Message<'_>, len: usize) {
    fn entries<'a, T: Item<'a>>(list: List<'a, T>, len: usize) {
        assert!(list.len() <= len);
        assert_eq!(list.iter().count(), list.len());
    }
    match message {
        Message::Config { sstates, .. } => entries(sstates, len),
        Message::Catalog { holdings } => entries(holdings, len),
        Message::State {
            sstates, clients, ..
        } => {
            entries(sstates, len);
            entries(clients, len);
        }
        Message::Transfer { assignments, .. } => {
            entries(assignments, len);
            for assignment in assignments {
                if let Holders::Shared(ids) = assignment.holders {
                    entries(ids, len);
                }
            }
        }
        _ => {}
    }
}

fn encoded(datagram: &Datagram<'_>) -> Vec<u8> {
    written(datagram.encoded_len(), |buf| datagram.encode(buf))
}

/// Whether these bytes are a whole message.
pub(crate) fn decodes(input: &[u8]) -> bool {
    Datagram::decode(input).is_ok()
}

/// Any legal message comes back.
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
            let sstates = many(u, self::sstate)?;
            let sstates = sstates.as_slice().into();
            check(Message::Config { leader, sstates });
        }
        Kind::Catalog => {
            let holdings = many(u, token)?;
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
            let (sstates, clients) = (many(u, self::sstate)?, many(u, client)?);
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
            came: u.arbitrary()?,
        }),
    }
    Ok(())
}

/// The message comes back by itself, and with the terms if it is one that may have them.
fn check(header: Header, message: Message<'_>, terms: Terms) {
    let plain = Datagram::new(header, message);
    comes_back(plain);
    comes_back(plain.with_terms(terms));
}

fn comes_back(datagram: Datagram<'_>) {
    let out = encoded(&datagram);
    let decoded = Datagram::decode(&out).expect("a legal message");
    assert_eq!(decoded, datagram);
    assert!(decoded.is_shortest());
}

fn transfer(u: &mut Unstructured<'_>, msgnum: i64, check: impl Fn(Message<'_>)) -> Result<()> {
    let parts = u.int_in_range(1..=i32::MAX)?;
    let part = u.int_in_range(0..=parts - 1)?;
    let ids = [int(u)?, int(u)?, int(u)?];
    let assignments = many(u, |u| {
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

fn many<'a, T>(
    u: &mut Unstructured<'a>,
    one: impl Fn(&mut Unstructured<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let count = u.int_in_range(0..=40)?;
    (0..count).map(|_| one(u)).collect()
}

/// A seq of any width.
fn seq(u: &mut Unstructured<'_>) -> Result<i128> {
    let (configuration, round): (u64, u32) = (u.arbitrary()?, u.arbitrary()?);
    let configuration = configuration >> u.int_in_range(1..=63)?;
    Ok(i128::from(configuration) << 32 | i128::from(round))
}

/// A long of any width: plain random ones are nearly all of the longest.
fn long(u: &mut Unstructured<'_>) -> Result<i64> {
    Ok(i64::from_le_bytes(u.arbitrary()?) >> u.int_in_range(0..=63)?)
}

/// An int of any width.
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
        pace: Some(Pace {
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

fn client<'a>(u: &mut Unstructured<'a>) -> Result<Client<'a>> {
    Ok(Client {
        id: int(u)?,
        address: u.arbitrary()?,
    })
}
