//! Runs one server or one client of the token service through a script. Any bytes are a valid script. The fuzz targets
//! and the tests share this module.

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
/// A number of outputs that one input never causes.
const OUTPUTS_MAX: usize = 20_000;

/// Runs the script in `data` with a server.
///
/// # Panics
/// Panics if a check fails.
pub(crate) fn run_server(data: &[u8]) {
    server::run(data);
}

/// Runs the script in `data` with a client.
///
/// # Panics
/// Panics if a check fails.
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

/// Returns the bytes of a datagram, or `None` if the codec cannot encode the message.
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

/// Returns a message as one datagram, or as several parts if the message is too long.
fn split_into_datagrams(bytes: Vec<u8>, content: u64) -> Vec<Vec<u8>> {
    if bytes.len() <= DATAGRAM_BYTES_MAX {
        return vec![bytes];
    }
    let header = Datagram::decode(&bytes)
        .expect("the datagram was encoded above")
        .header();
    let parts = i32::try_from(bytes.len().div_ceil(PART)).expect("the number of parts is small");
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
    /// The sent datagrams and their destinations. Each datagram can be decoded.
    sent: Vec<(SocketAddr, Vec<u8>)>,
    events: Vec<M::Event>,
    stored: Option<M::Durable>,
}

/// Carries out the outputs as the driver does, and makes the checks that apply to servers and clients.
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
        Datagram::decode(bytes).expect("the datagram can be decoded");
        let sent = if refuses {
            SendOutcome::Failed
        } else {
            done.sent.push((transmit.to, bytes.to_vec()));
            SendOutcome::Accepted
        };
        machine.handle_sent(now, transmit.ticket, sent);
    }
    panic!("one input causes endless outputs");
}
