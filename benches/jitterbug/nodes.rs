//! Real nodes in namespaces, and a giver that this benchmark controls.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use ring_codec::jitterbug::{Message, Node, TokenId, node_list_hash};
use serde_json::Value;

use super::real::daemon::Daemon;
use super::real::fabric::Place;
use super::real::start::Start;

const TP2: u8 = 0x31;

pub(crate) fn address(at: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, u8::try_from(at + 1).expect("there are few"))
}

pub(crate) fn address_all(places: &[Place]) -> Result<()> {
    for (at, place) in places.iter().enumerate() {
        place
            .ns()
            .ip(&format!("addr add {}/24 brd + dev eth0\n", address(at)))?;
    }
    Ok(())
}

pub(crate) fn start(at: usize, place: &Place, options: &[&str]) -> Result<Daemon> {
    let ringd = Path::new(env!("CARGO_BIN_EXE_ringd"));
    Daemon::run(&Start::default(), at, place, ringd, |command, _| {
        command.args(["jitterbug", "eth0"]).args(options);
    })
}

pub(crate) fn wait_for_leader(node: &Daemon) -> Result<Value> {
    node.wait_for("no node leads", |status: &Value| {
        status["state"] == "leader"
    })
}

/// Returns the address at which a node accepts the token.
pub(crate) fn listener(status: &Value, at: usize) -> Result<SocketAddr> {
    let port = status["tcp_port"].as_u64().context("no port")?;
    Ok((address(at), u16::try_from(port)?).into())
}

fn encode(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = vec![0; message.encoded_len()];
    message.encode(&mut bytes).expect("a legal message");
    bytes
}

pub(crate) struct Token {
    offer: Vec<u8>,
    list: Vec<u8>,
    last: Vec<u8>,
}

impl Token {
    pub(crate) fn new(id: u32, list: &[Node], data: &[u8]) -> Self {
        let token_id = TokenId::new(id, true).expect("a legal id");
        Self {
            offer: encode(&Message::Tp1 {
                token_id,
                node_list_hash: node_list_hash(&list.into()),
            }),
            list: encode(&Message::Tp4 {
                node_list: list.into(),
            }),
            last: encode(&Message::Tp5 { token_id, data }),
        }
    }

    /// Offers the token, waits for the answer, passes the token, and waits for the acknowledgement.
    pub(crate) fn give(&self, to: SocketAddr) -> Result<()> {
        let mut stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.write_all(&self.offer)?;
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        if answer == [TP2] {
            stream.write_all(&self.list)?;
        }
        stream.write_all(&self.last)?;
        await_acknowledgement(stream)
    }

    /// Sends the bytes of a pass at once, and does not wait for answers.
    pub(crate) fn send(&self, to: SocketAddr) -> Result<()> {
        let mut stream = TcpStream::connect(to)?;
        stream.set_nodelay(true)?;
        stream.write_all(&[&self.offer[..], &self.last].concat())?;
        await_acknowledgement(stream)
    }
}

fn await_acknowledgement(mut stream: TcpStream) -> Result<()> {
    stream.shutdown(Shutdown::Write)?;
    let count = stream.read(&mut [0]);
    ensure!(
        matches!(count, Ok(0)),
        "{count:?} is not an acknowledgement"
    );
    Ok(())
}

/// Serves the floor: accepts connections, reads each connection to its end and closes it. With `answers`, the floor
/// also sends one byte after TP1, as a candidate does.
pub(crate) fn serve_floor(listener: &TcpListener, answers: bool) -> std::io::Result<()> {
    const OFFER_LEN: usize = 9;
    let mut room = vec![0; 1 << 16];
    loop {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        if answers {
            match stream.read_exact(&mut room[..OFFER_LEN]) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                read => read?,
            }
            stream.write_all(&[0x41])?;
        }
        let mut count = 0;
        loop {
            match stream.read(&mut room)? {
                0 => break,
                read => count += read,
            }
        }
        if count == 0 {
            return Ok(());
        }
    }
}
