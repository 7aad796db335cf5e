//! Datagrams as short lines of text.
//!
//! Servers are s0, s1, … and clients are k1, k2, …. A configuration has one letter for each state (`RBD`), and a seq is
//! `c.r`.

use std::net::SocketAddr;

use ring_codec::ftn::{Access, Datagram, Flags, Header, Holders, Message, ServerState, Token};

pub(crate) use ring_codec::ftn::Access::{Exclusive as X, Shared as S};
pub(crate) use ring_codec::ftn::ServerState::{Booting as B, Down as D, Ready as R};

use crate::ftn::Servers;
use crate::ftn::server::group::{configuration_of, seq_of};

pub(crate) const CLIENT_PORT: u16 = 5000;

/// Returns a list of `count` servers.
pub(crate) fn servers(count: usize) -> Servers {
    let lines: Vec<String> = (0..count).map(|i| format!("s{i}:4000")).collect();
    let lines = lines.iter().enumerate();
    Servers::new(lines.map(|(i, line)| (line.as_str(), server(i)))).unwrap()
}

pub(crate) fn server(index: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, u8::try_from(index).unwrap()], 4000))
}

pub(crate) fn client(k: u16) -> SocketAddr {
    SocketAddr::from(([198, 51, 100, 1], CLIENT_PORT + k))
}

pub(crate) fn seq(configuration: u64, round: u32) -> i128 {
    seq_of(configuration) + i128::from(round)
}

pub(crate) fn encode(header: Header, message: Message<'_>) -> Vec<u8> {
    let datagram = Datagram::new(header, message);
    let mut bytes = vec![0xaa; datagram.encoded_len()];
    datagram.encode(&mut bytes).unwrap();
    bytes
}

pub(crate) fn request(msgnum: i64, name: &str, access: Access) -> Message<'_> {
    Message::Request {
        msgnum,
        token: token(name, ""),
        access,
    }
}

pub(crate) fn fence_request(msgnum: i64, name: &str) -> Message<'_> {
    Message::Request {
        msgnum,
        token: token(name, "fence"),
        access: X,
    }
}

pub(crate) fn renewal(msgnum: i64, number: &str) -> Message<'_> {
    Message::Return {
        msgnum,
        token: token("", number),
        flags: Flags::Deassign,
    }
}

pub(crate) fn token<'a>(name: &'a str, data: &'a str) -> Token<'a> {
    Token {
        name: name.as_bytes(),
        data: data.as_bytes(),
    }
}

/// Returns the `nth` name that belongs to the server `responsible` in a configuration with these states.
pub(crate) fn name_of(responsible: usize, states: &[ServerState], nth: usize) -> String {
    let configuration = crate::ftn::Configuration::new(0, states);
    let servers = servers(states.len());
    let names = (0..).map(|i| format!("t{i}"));
    let mut its = names
        .filter(|name| servers.responsible(name.as_bytes(), &configuration) == Some(responsible));
    its.nth(nth).unwrap()
}

/// Returns the `nth` name that belongs to server 2 in the states RRR and to server 1 in the states RRD.
pub(crate) fn inherited_name(nth: usize) -> String {
    let names = (0..).map(|nth| name_of(1, &[R, R, D], nth));
    let mut its = names.filter(|name| {
        let all = crate::ftn::Configuration::new(0, [R; 3]);
        servers(3).responsible(name.as_bytes(), &all) == Some(2)
    });
    its.nth(nth).unwrap()
}

pub(crate) fn states(states: impl IntoIterator<Item = ServerState>) -> String {
    let letter = |state| match state {
        ServerState::Down => 'D',
        ServerState::Booting => 'B',
        ServerState::Ready => 'R',
    };
    states.into_iter().map(letter).collect()
}

pub(crate) fn show_seq(seq: i128) -> String {
    format!("{}.{}", configuration_of(seq).unwrap(), seq & 0xffff_ffff)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn address(address: SocketAddr) -> String {
    if address.ip() == server(0).ip() || address.port() == 4000 {
        let SocketAddr::V4(v4) = address else {
            unreachable!("the tests use only IPv4")
        };
        format!("s{}", v4.ip().octets()[3])
    } else {
        format!("k{}", address.port() - CLIENT_PORT)
    }
}

/// Returns a datagram as text. A CONFIG with `to` 0 is "to nobody".
pub(crate) fn show(bytes: &[u8], to: SocketAddr) -> String {
    let datagram = Datagram::decode(bytes).unwrap();
    let header = datagram.header();
    let whom = if header.to == 0 && to.port() != 4000 {
        "nobody at "
    } else {
        ""
    };
    let what = match datagram.message() {
        Message::Config { leader, sstates } => format!("CONFIG {leader} {}", states(sstates)),
        Message::State {
            seq,
            sstates,
            clients,
            ..
        } => {
            let sessions = clients.iter();
            let sessions: Vec<String> = sessions
                .map(|client| address(text(client.address).parse().unwrap()))
                .collect();
            let states = states(sstates);
            format!("STATE {} {states} [{}]", show_seq(seq), sessions.join(" "))
        }
        Message::Heartbeat { seq, sstate } => {
            format!("HEARTBEAT {} {}", show_seq(seq), states([sstate]))
        }
        Message::Elect { seq, leader } => format!("ELECT {} for {leader}", show_seq(seq)),
        Message::Grant { msgnum, token } => {
            format!("GRANT {msgnum} {}={}", text(token.name), text(token.data))
        }
        Message::Revoke { name } => format!("REVOKE {}", text(name)),
        Message::Confirm { msgnum } => format!("CONFIRM {msgnum}"),
        Message::Transfer {
            msgnum,
            part,
            parts,
            assignments,
        } => {
            let tokens = assignments.iter().map(|a| {
                let held = match a.holders {
                    Holders::Nobody => "free".to_owned(),
                    Holders::Exclusive(_) => "x".to_owned(),
                    Holders::Shared(ids) => format!("s{}", ids.len()),
                };
                format!("{}={} {held}", text(a.token.name), text(a.token.data))
            });
            let tokens: Vec<String> = tokens.collect();
            format!("TRANSFER {msgnum} {part}/{parts} [{}]", tokens.join(", "))
        }
        Message::Transferred { msgnum, part } => format!("TRANSFERRED {msgnum} {part}"),
        other => format!("{other:?}"),
    };
    format!("{what} to {whom}{}", address(to))
}
