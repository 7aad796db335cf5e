//! The datagrams of strangers, which have no session.

use ring_codec::ftn::{Access, Datagram, Flags, Header, Message, Token};

use super::notation::{server_address, stranger_address};
use super::system::World;
use crate::kernel::queue::Bytes;

const STRANGERS: usize = 4;

impl World {
    /// Sends a server a datagram of a stranger. The datagram has a client's name, or repeats a captured datagram, or is
    /// nonsense.
    pub(super) fn send_from_stranger(&mut self, server: usize) {
        let stranger = stranger_address(self.rng.index(STRANGERS));
        let bytes = self.draw_strange_bytes(server);
        let copies = 1 + u64::from(self.network.conditions.duplicate > 0);
        self.system.checks.on_stranger_sends(stranger, copies);
        self.inject(stranger, server_address(server), bytes);
    }

    fn draw_strange_bytes(&mut self, server: usize) -> Bytes {
        let Some(ssig) = self
            .system
            .process_options
            .as_ref()
            .map(|it| it.list.signature())
        else {
            return [].into();
        };
        let known = self.draw_session();
        let session = self.rng.pick(&[0, -1, 1 << 20, i32::MAX, known]);
        let msgnum = i64::try_from(self.rng.below(1 << 62)).unwrap_or(i64::MAX);
        let token = Token {
            name: self.rng.pick(&[&b""[..], b"t0", b"t1"]),
            data: self.rng.pick(&[&b""[..], b"fence", b"7", b"0"]),
        };
        let tokens = [token];
        let message = match self.rng.below(13) {
            0 => Message::Login { p: b":7000" },
            1 => Message::Login { p: b":1" },
            2 => Message::Login {
                p: b"10.0.1.1:20000",
            },
            3 => Message::Alive,
            4 => Message::Logout,
            5 => Message::Request {
                msgnum,
                token,
                access: Access::Exclusive,
            },
            6 => Message::Return {
                msgnum,
                token: Token {
                    name: b"t0",
                    ..token
                },
                flags: Flags::Both,
            },
            7 => Message::Catalog {
                holdings: tokens[..].into(),
            },
            8 | 9 => Message::Return {
                msgnum,
                token: Token {
                    name: b"",
                    data: self
                        .rng
                        .pick(&[&b"2147483640"[..], b"4294967295", b"72057594037927935"]),
                },
                flags: Flags::Deassign,
            },
            10 => Message::Part {
                content: self.rng.pick(&[0, 7, msgnum]),
                part: self.rng.pick(&[0, 1, i32::MAX - 1]),
                parts: self.rng.pick(&[2, 17, 8_192, i32::MAX]),
                bytes: token.data,
            },
            11 => Message::Parted {
                content: self.rng.pick(&[0, 7, msgnum]),
                arrived: token.data,
            },
            _ => return self.draw_nonsense(),
        };
        let header = Header {
            from: session,
            to: i32::try_from(server).unwrap_or_default(),
            ssig,
        };
        let datagram = Datagram::new(header, message);
        let mut bytes = vec![0; datagram.encoded_len()];
        match datagram.encode(&mut bytes) {
            Ok(_) => bytes.into(),
            Err(_) => [].into(),
        }
    }

    /// Returns the id of a session that a server knows.
    pub(super) fn draw_session(&mut self) -> i32 {
        let server = self.rng.index(self.system.servers);
        let local = self.nodes[server].clock.monotonic(self.now);
        let known = self.machine(server).and_then(|machine| machine.server());
        let sessions = known.map(|server| server.snapshot(local).sessions);
        let sessions = sessions.unwrap_or_default();
        let at = self.rng.index(sessions.len());
        sessions.get(at).map_or(0, |(id, _)| *id)
    }

    /// Returns a captured datagram with changed bytes, or random bytes.
    fn draw_nonsense(&mut self) -> Bytes {
        let at = self.rng.index(self.network.captured.len());
        let captured = self.network.captured.get(at);
        let mut bytes = captured.map_or(vec![0; 9], |message| message.bytes.to_vec());
        for _ in 0..self.rng.between(1, 4) {
            let at = self.rng.index(bytes.len());
            if let Some(byte) = bytes.get_mut(at) {
                *byte = self.rng.draw().to_be_bytes()[0];
            }
        }
        if is_renewal(&bytes) {
            return [].into();
        }
        bytes.into()
    }
}

/// Whether these bytes are a renewal. If a cold leader received a renewal, it would believe that the sender is a client
/// of an earlier run.
fn is_renewal(bytes: &[u8]) -> bool {
    let message = Datagram::decode(bytes).map(|datagram| datagram.message());
    matches!(message, Ok(Message::Return { token, .. }) if token.name.is_empty())
}
