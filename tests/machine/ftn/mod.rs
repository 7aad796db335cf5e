//! A server and a client of the token service, each alone, led through whatever a sequence of bytes says: the fuzz
//! targets and the tests share it.

mod client;
mod life;
mod said;
mod script;
mod server;

use std::net::SocketAddr;

use ring_codec::ftn::{Datagram, Header, Message};
use ring_proto::ftn::{LONGEST, PART, Servers};
use ring_proto::time::Now;
use ring_proto::{Machine, Sent, Stored};

use said::Said;

/// How many servers there are.
const SERVERS: usize = 3;
/// More outputs than any input has.
const MANY: usize = 20_000;

/// Leads a server through the script that `data` is read as.
///
/// # Panics
/// The server did what it must not.
pub(crate) fn run_server(data: &[u8]) {
    server::run(data);
}

/// Leads a client through the script that `data` is read as.
///
/// # Panics
/// The client did what it must not.
pub(crate) fn run_client(data: &[u8]) {
    client::run(data);
}

fn server_address(index: usize) -> SocketAddr {
    let last = u8::try_from(index % SERVERS + 1).expect("there are few");
    ([10, 0, 0, last], 7000).into()
}

fn client_address(index: u8) -> SocketAddr {
    ([10, 0, 1, index % 8 + 1], 20_000).into()
}

fn servers() -> Servers {
    let lines = ["a:7000", "b:7000", "c:7000"];
    let servers = lines.iter().enumerate();
    let servers = servers.map(|(index, line)| (*line, server_address(index)));
    Servers::new(servers).expect("there are three")
}

/// A datagram's bytes; `None`: it cannot be encoded.
fn encode(from: i32, to: i32, said: &Said) -> Option<Vec<u8>> {
    let ssig = servers().signature();
    let header = Header { from, to, ssig };
    said.with(|message| {
        let datagram = Datagram::new(header, message);
        let mut bytes = vec![0; datagram.encoded_len()];
        datagram.encode(&mut bytes).ok()?;
        Some(bytes)
    })
}

/// A message as a datagram, or in parts if it is too long for one.
fn in_datagrams(bytes: Vec<u8>, content: u64) -> Vec<Vec<u8>> {
    if bytes.len() <= LONGEST {
        return vec![bytes];
    }
    let header = Datagram::decode(&bytes).expect("it was encoded").header();
    let parts = i32::try_from(bytes.len().div_ceil(PART)).expect("it is not so long");
    let pieces = (0..parts).zip(bytes.chunks(PART)).map(|(part, bytes)| {
        let message = Message::Part {
            content: i64::try_from(content).unwrap_or_default(),
            part,
            parts,
            bytes,
        };
        let datagram = Datagram::new(header, message);
        let mut bytes = vec![0; datagram.encoded_len()];
        datagram.encode(&mut bytes).expect("it is legal");
        bytes
    });
    pieces.collect()
}

/// What a machine did with an input.
struct Done<M: Machine> {
    /// What it sent, and to whom: all of it decodes.
    sent: Vec<(SocketAddr, Vec<u8>)>,
    events: Vec<M::Event>,
    stored: Option<M::Durable>,
}

/// Drains a machine as the driver does, and checks what holds of every machine.
fn drain<M>(machine: &mut M, now: Now, refuses: bool, disk_full: bool) -> Done<M>
where
    M: Machine<Peer = SocketAddr>,
{
    let mut done = Done {
        sent: Vec::new(),
        events: Vec::new(),
        stored: None,
    };
    let mut buf = vec![0xaa; LONGEST];
    for _ in 0..MANY {
        while let Some(durable) = machine.poll_durable() {
            let stored = if disk_full {
                Stored::Failed
            } else {
                Stored::Done
            };
            if !disk_full {
                done.stored = Some(durable);
            }
            machine.handle_stored(now, stored);
        }
        let Some(transmit) = machine.poll_transmit(&mut buf) else {
            while let Some(event) = machine.poll_event() {
                done.events.push(event);
            }
            return done;
        };
        let bytes = &buf[..transmit.len];
        Datagram::decode(bytes).expect("what it sends decodes");
        let sent = if refuses {
            Sent::Failed
        } else {
            done.sent.push((transmit.to, bytes.to_vec()));
            Sent::Accepted
        };
        machine.handle_sent(now, transmit.ticket, sent);
    }
    panic!("one input has no end of outputs");
}
