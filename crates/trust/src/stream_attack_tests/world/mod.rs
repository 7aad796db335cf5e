//! Two ends of a stream, and an attacker between them that changes, repeats, drops and invents bytes.

use std::net::{Ipv4Addr, SocketAddr};

use ring_trust::{DropReason, Keyring, SecureStream, StreamEnds, StreamKeys, StreamState};

/// The ids of the keys of an end, and whether the end accepts streams without encryption.
const KEYS: [(&[u32], bool); 8] = [
    (&[1], false),
    (&[2, 1], false),
    (&[1, 2], false),
    (&[2], false),
    (&[1], true),
    (&[2], true),
    (&[2, 1], true),
    (&[], true),
];
/// If the ends have no common key, the answer to a handshake is at most a preface. This is its length.
const REFUSAL_LEN: usize = 8;
/// Number of data bytes for each unit of `len` in [`Step::Write`]. With this value, the longest data need several
/// records.
const WRITE_UNIT: usize = 200;

/// A step of the ends or of the attacker.
enum Step<'a> {
    /// An end writes data.
    Write { side: usize, len: usize },
    /// An end writes the record that ends its side of the stream.
    End { side: usize },
    /// The next bytes for an end arrive.
    Deliver { to: usize, len: usize },
    /// The ends make a new connection with the same addresses.
    Reconnect,
    /// The attacker does something with the bytes on the way to an end.
    Attack { to: usize, act: Act<'a> },
}

/// An act of the attacker.
enum Act<'a> {
    /// Changes a bit.
    Flip { at: usize, bit: usize },
    /// Inserts recorded bytes before the next byte.
    Repeat { of: usize, first: usize, len: usize },
    /// Inserts any bytes before the next byte.
    Insert(&'a [u8]),
    /// Removes the next bytes.
    Drop { len: usize },
}

struct End {
    stream: SecureStream,
    /// Ids of the keys, and whether the end accepts streams without encryption.
    given: (&'static [u32], bool),
    keys: StreamKeys,
    /// Data that this end has encrypted.
    written: Vec<u8>,
    is_finished: bool,
    /// Number of data bytes that the end has read from an encrypted stream.
    read: usize,
    was_encrypted: bool,
    failed: Option<DropReason>,
    /// Bytes that were sent to this end and have not arrived yet.
    coming: Vec<u8>,
}

/// The ends, and the attacker's recordings.
pub(super) struct World {
    ends: [End; 2],
    /// For each end, all bytes that were sent to it on any connection.
    recorded: [Vec<u8>; 2],
    /// Number of connections.
    connections: u32,
    /// Whether the attacker has changed this connection.
    is_attacked: bool,
}

impl World {
    /// Makes the steps that the input describes. Then delivers all bytes that have not arrived yet.
    pub(super) fn run(input: &[u8]) -> Result<(), &'static str> {
        let Some((keys, mut rest)) = input.split_first() else {
            return Ok(());
        };
        let keys = usize::from(*keys);
        let mut world = Self::new([KEYS[keys % 8], KEYS[keys / 8 % 8]]);
        while let Some(step) = draw(&mut rest) {
            world.step(step)?;
        }
        world.settle()
    }

    fn new(given: [(&'static [u32], bool); 2]) -> Self {
        let ends = [0, 1].map(|side| {
            let (ids, accepts) = given[side];
            let keys = keyring(ids).map_or_else(StreamKeys::none, |keyring| {
                StreamKeys::new(&keyring, accepts)
            });
            End {
                stream: stream(side, &keys, 0),
                given: given[side],
                keys,
                written: Vec::new(),
                is_finished: false,
                read: 0,
                was_encrypted: false,
                failed: None,
                coming: Vec::new(),
            }
        });
        let mut world = Self {
            ends,
            recorded: [Vec::new(), Vec::new()],
            connections: 0,
            is_attacked: false,
        };
        world.send(0);
        world
    }

    fn step(&mut self, step: Step<'_>) -> Result<(), &'static str> {
        match step {
            Step::Write { side, len } => self.write(side, len),
            Step::End { side } => {
                let end = &mut self.ends[side];
                if end.stream.state() == StreamState::Encrypted && !end.is_finished {
                    end.stream.seal_end();
                    end.is_finished = true;
                    self.send(side);
                }
            }
            Step::Deliver { to, len } => return self.deliver(to, len),
            Step::Reconnect => self.reconnect(),
            Step::Attack { to, act } => self.attack(to, &act),
        }
        Ok(())
    }

    fn write(&mut self, side: usize, len: usize) {
        let connection = self.connections;
        let end = &mut self.ends[side];
        match end.stream.state() {
            StreamState::Encrypted if !end.is_finished => {
                let first = end.written.len();
                let data = (first..first + len).map(|at| data_byte(side, connection, at));
                let data: Vec<u8> = data.collect();
                let count = end.stream.seal(&data);
                end.written.extend_from_slice(&data[..count]);
                self.send(side);
            }
            // Without encryption, the caller writes the data directly to the connection.
            StreamState::Plain => self.ends[1 - side].coming.extend(vec![0; len]),
            _ => {}
        }
    }

    /// Takes the output of an end. The attacker records it.
    fn send(&mut self, side: usize) {
        let output = self.ends[side].stream.output().to_vec();
        self.ends[side].stream.advance(output.len());
        self.recorded[1 - side].extend_from_slice(&output);
        self.ends[1 - side].coming.extend_from_slice(&output);
    }

    fn reconnect(&mut self) {
        self.connections += 1;
        self.is_attacked = false;
        for (side, end) in self.ends.iter_mut().enumerate() {
            end.stream = stream(side, &end.keys, self.connections);
            end.written.clear();
            end.coming.clear();
            (end.is_finished, end.was_encrypted) = (false, false);
            (end.read, end.failed) = (0, None);
        }
        self.send(0);
    }

    fn attack(&mut self, to: usize, act: &Act<'_>) {
        let coming = &mut self.ends[to].coming;
        match *act {
            Act::Flip { at, bit } => match coming.len() {
                0 => return,
                len => coming[at % len] ^= 1 << bit,
            },
            Act::Repeat { of, first, len } => {
                let recorded = &self.recorded[of];
                let first = first.min(recorded.len());
                let last = (first + len).min(recorded.len());
                coming.splice(0..0, recorded[first..last].iter().copied());
            }
            Act::Insert(bytes) => drop(coming.splice(0..0, bytes.iter().copied())),
            Act::Drop { len } => drop(coming.drain(..len.min(coming.len()))),
        }
        self.is_attacked = true;
    }

    /// Delivers bytes to an end, and checks the end.
    fn deliver(&mut self, to: usize, len: usize) -> Result<(), &'static str> {
        let end = &mut self.ends[to];
        let bytes: Vec<u8> = end.coming.drain(..len.min(end.coming.len())).collect();
        let result = end.stream.receive(&end.keys, &bytes);
        if end.failed.is_some_and(|failed| result != Err(failed)) {
            return Err("continued after an error");
        }
        if let Err(reason) = result {
            end.failed = Some(reason);
            if end.stream.state() != StreamState::Failed(reason) {
                return Err("continued after an error");
            }
        }
        let output_len = end.stream.output().len();
        self.check_state(to)?;
        self.check_data(to)?;
        if !self.have_common_key() && to == 1 && output_len > REFUSAL_LEN {
            return Err("answered a handshake without a common key");
        }
        // After an error, the caller resets the connection.
        if result.is_ok() {
            self.send(to);
        }
        Ok(())
    }

    fn have_common_key(&self) -> bool {
        let [(first, _), (others, _)] = [0, 1].map(|side| self.ends[side].given);
        first.first().is_some_and(|id| others.contains(id))
    }

    fn check_state(&mut self, at: usize) -> Result<(), &'static str> {
        let state = self.ends[at].stream.state();
        match state {
            StreamState::Plain if !self.ends[at].given.1 => Err("accepted an unencrypted stream"),
            StreamState::Encrypted => {
                let other = &self.ends[1 - at];
                let is_same_key = other.stream.key_id() == self.ends[at].stream.key_id();
                // The responder is proven by its answer, and the initiator by its first record.
                let is_proven = is_same_key && (at == 0 || other.was_encrypted);
                self.ends[at].was_encrypted = true;
                if self.have_common_key() && is_proven {
                    Ok(())
                } else {
                    Err("established a stream with a peer that has no key")
                }
            }
            _ => Ok(()),
        }
    }

    /// Reads the data of an end. On an encrypted stream, they must be the data of the other end.
    fn check_data(&mut self, at: usize) -> Result<(), &'static str> {
        let mut data = Vec::new();
        let mut room = [0; 1000];
        loop {
            match self.ends[at].stream.read(&mut room) {
                0 => break,
                count => data.extend_from_slice(&room[..count]),
            }
        }
        let is_plain = self.ends[at].stream.state() == StreamState::Plain;
        if is_plain || data.is_empty() && !self.ends[at].stream.has_ended() {
            return Ok(());
        }
        let [end, other] = [at, 1 - at].map(|side| &self.ends[side]);
        let unread = &other.written[end.read.min(other.written.len())..];
        if !unread.starts_with(&data) {
            return Err("read data that the other end has not written");
        }
        let is_all = unread.len() == data.len();
        if end.stream.has_ended() && !(other.is_finished && is_all) {
            return Err("read an end that the other end has not written");
        }
        self.ends[at].read += data.len();
        Ok(())
    }

    /// Delivers all bytes. Without an attack, checks that all data have arrived.
    fn settle(&mut self) -> Result<(), &'static str> {
        while self.ends.iter().any(|end| !end.coming.is_empty()) {
            for to in 0..2 {
                self.deliver(to, usize::MAX)?;
            }
        }
        if self.is_attacked || !self.have_common_key() {
            return Ok(());
        }
        let is_understood = |at: usize| {
            let (end, other) = (&self.ends[at], &self.ends[1 - at]);
            end.was_encrypted
                && end.read == other.written.len()
                && end.stream.has_ended() == other.is_finished
        };
        if is_understood(0) && is_understood(1) {
            Ok(())
        } else {
            Err("lost data although there was no attack")
        }
    }
}

fn keyring(ids: &[u32]) -> Option<Keyring> {
    let lines = ids.iter().map(|id| format!("{id} {id:064x}\n"));
    Keyring::parse(&lines.collect::<String>()).ok()
}

fn stream(side: usize, keys: &StreamKeys, connection: u32) -> SecureStream {
    let address = |last| SocketAddr::from((Ipv4Addr::new(192, 0, 2, last), 1));
    let ends = StreamEnds {
        system: "test",
        initiator: address(1),
        responder: address(2),
    };
    let mut seed = [u8::from(side == 0); 32];
    seed[..4].copy_from_slice(&connection.to_be_bytes());
    if side == 0 {
        SecureStream::initiator(keys, &ends, seed)
    } else {
        SecureStream::responder(ends, seed)
    }
}

/// Returns a byte of an end's data. Bytes at different places, of different ends, and of different connections differ.
fn data_byte(side: usize, connection: u32, at: usize) -> u8 {
    let place = [side as u64, connection.into(), at as u64];
    let mixed = place.iter().fold(1_u64, |sum, part| {
        (sum ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    mixed.to_be_bytes()[0]
}

/// Takes the description of the next step from the start of the input.
fn draw<'a>(input: &mut &'a [u8]) -> Option<Step<'a>> {
    let (&[kind, choice, detail], rest) = input.split_first_chunk()?;
    *input = rest;
    let side = usize::from(kind & 1);
    let (choice, detail) = (usize::from(choice), usize::from(detail));
    let act = match kind / 2 % 16 {
        0..3 => {
            let len = choice * WRITE_UNIT + detail;
            return Some(Step::Write { side, len });
        }
        3 => return Some(Step::End { side }),
        4..9 => {
            let len = if choice < 128 { usize::MAX } else { detail };
            return Some(Step::Deliver { to: side, len });
        }
        9 => return Some(Step::Reconnect),
        10 | 11 => Act::Flip {
            at: choice,
            bit: detail % 8,
        },
        12 | 13 => Act::Repeat {
            of: choice % 2,
            // Choose small offsets, because the handshakes and the first records are short.
            first: choice / 2 % 4 * 19 + choice / 8 * 56,
            len: detail,
        },
        14 => Act::Drop { len: detail },
        _ => {
            let (bytes, rest) = input.split_at(choice.min(input.len()));
            *input = rest;
            Act::Insert(bytes)
        }
    };
    Some(Step::Attack { to: side, act })
}
