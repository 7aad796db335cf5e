//! Runs one server or one client of the token service through a script that any bytes can be read as. The fuzz
//! targets and the tests share it.

mod client;
mod message;
mod script;
mod server;
mod shared_steps;

use std::net::SocketAddr;

use ring_codec::ftn::{Datagram, Header, Message};
use ring_proto::ftn::{DATAGRAM_BYTES_MAX, PART, Servers};
use ring_proto::time::Now;
use ring_proto::{Machine, SendOutcome, StoreOutcome};

use message::MessageContext;

const SERVERS: usize = 3;
/// More outputs than an input has.
const OUTPUTS_MAX: usize = 20_000;

/// Runs the script in `data` with a server.
///
/// # Panics
/// If a check fails.
pub(crate) fn run_server(data: &[u8]) {
    server::run(data);
}

/// Runs the script in `data` with a client.
///
/// # Panics
/// If a check fails.
pub(crate) fn run_client(data: &[u8]) {
    client::run(data);
}

fn server_address(index: usize) -> SocketAddr {
    let last = u8::try_from(index % SERVERS + 1).expect("the index is small");
    ([10, 0, 0, last], 7000).into()
}

fn client_address(index: u8) -> SocketAddr {
    ([10, 0, 1, index % 8 + 1], 20_000).into()
}

fn servers() -> Servers {
    let lines = ["a:7000", "b:7000", "c:7000"];
    let servers = lines.iter().enumerate();
    let servers = servers.map(|(index, line)| (*line, server_address(index)));
    Servers::new(servers).expect("three servers")
}

/// Returns the bytes of a datagram; `None` if it cannot be encoded.
fn encode(from: i32, to: i32, context: &MessageContext) -> Option<Vec<u8>> {
    let ssig = servers().signature();
    let header = Header { from, to, ssig };
    context.with(|message| {
        let datagram = Datagram::new(header, message);
        let mut bytes = vec![0; datagram.encoded_len()];
        datagram.encode(&mut bytes).ok()?;
        Some(bytes)
    })
}

/// Returns a message as one datagram, or in parts if it is too long.
fn split_into_datagrams(bytes: Vec<u8>, content: u64) -> Vec<Vec<u8>> {
    if bytes.len() <= DATAGRAM_BYTES_MAX {
        return vec![bytes];
    }
    let header = Datagram::decode(&bytes).expect("it was encoded").header();
    let parts = i32::try_from(bytes.len().div_ceil(PART)).expect("a small number of parts");
    let pieces = (0..parts).zip(bytes.chunks(PART)).map(|(part, bytes)| {
        let message = Message::Part {
            content: i64::try_from(content).unwrap_or_default(),
            part,
            parts,
            bytes,
        };
        let datagram = Datagram::new(header, message);
        let mut bytes = vec![0; datagram.encoded_len()];
        datagram.encode(&mut bytes).expect("a valid message");
        bytes
    });
    pieces.collect()
}

struct Outputs<M: Machine> {
    /// The sent datagrams and their destinations; all decode.
    sent: Vec<(SocketAddr, Vec<u8>)>,
    events: Vec<M::Event>,
    stored: Option<M::Durable>,
}

/// Carries out the outputs as the driver does, with the checks of every state machine.
fn drain<M>(machine: &mut M, now: Now, refuses: bool, disk_full: bool) -> Outputs<M>
where
    M: Machine<Peer = SocketAddr>,
{
    let mut done = Outputs {
        sent: Vec::new(),
        events: Vec::new(),
        stored: None,
    };
    let mut buf = vec![0xaa; DATAGRAM_BYTES_MAX];
    for _ in 0..OUTPUTS_MAX {
        while let Some(durable) = machine.poll_durable() {
            let stored = if disk_full {
                StoreOutcome::Failed
            } else {
                StoreOutcome::Done
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
        Datagram::decode(bytes).expect("a datagram that can be decoded");
        let sent = if refuses {
            SendOutcome::Failed
        } else {
            done.sent.push((transmit.to, bytes.to_vec()));
            SendOutcome::Accepted
        };
        machine.handle_sent(now, transmit.ticket, sent);
    }
    panic!("one input has no end of outputs");
}
