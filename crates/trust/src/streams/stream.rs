//! One end of a stream.

use std::fmt;
use std::mem;

use snow::{HandshakeState, TransportState};

use super::handshake::{self, MESSAGE_LEN, Seed};
use super::keys::StreamKeys;
use super::preface::{self, PREFACE_LEN, StreamEnds};
use super::record::{self, RECORD_DATA_MAX, RECORD_LEN_MAX, RecordKind};
use crate::counts::DropReason;
use crate::keyring::KeyId;

/// The progress of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamState {
    /// The peer is not proven yet.
    Handshake,
    /// The stream is not encrypted.
    Plain,
    /// The stream is encrypted, and the peer is proven.
    Encrypted,
    /// The peer sent wrong bytes, so the stream is over.
    Failed(DropReason),
}

/// One end of a stream. `Debug` shows neither keys nor data.
pub struct SecureStream {
    phase: Phase,
    key: Option<KeyId>,
    /// Received bytes that this end has not handled yet.
    received: Vec<u8>,
    /// Bytes for the connection.
    output: Vec<u8>,
    /// Received data that the caller has not read yet.
    data: Vec<u8>,
    has_ended: bool,
}

enum Phase {
    /// The initiator waits for the answer.
    Ask(Box<HandshakeState>),
    /// The responder waits for the first bytes.
    Listen(StreamEnds, Seed),
    /// The responder waits for the first record. Only this record proves that the initiator is alive: its first message
    /// may be replayed.
    Prove(Box<TransportState>),
    Open(Box<TransportState>),
    Plain,
    Failed(DropReason),
}

impl SecureStream {
    fn new(phase: Phase) -> Self {
        Self {
            phase,
            key: None,
            received: Vec::new(),
            output: Vec::new(),
            data: Vec::new(),
            has_ended: false,
        }
    }

    /// Starts a stream as the node that connected. The caller draws an unpredictable `seed` for each stream. Without
    /// keys, the stream is not encrypted.
    pub fn initiator(keys: &StreamKeys, ends: &StreamEnds, seed: [u8; 32]) -> Self {
        let Some((id, key)) = keys.first() else {
            return Self::new(Phase::Plain);
        };
        let preface = preface::write(id.get());
        let seed = Seed::new(seed);
        // Building a handshake fails only for algorithms that the crate does not have.
        let Ok((message, state)) = handshake::start(key, &ends.prologue(preface), &seed) else {
            return Self::new(Phase::Failed(DropReason::Malformed));
        };
        let mut stream = Self::new(Phase::Ask(Box::new(state)));
        stream.key = Some(id);
        stream.output.extend_from_slice(&preface);
        stream.output.extend_from_slice(&message);
        stream
    }

    /// Starts a stream as the node that accepted. The caller draws an unpredictable `seed` for each stream.
    pub fn responder(ends: StreamEnds, seed: [u8; 32]) -> Self {
        Self::new(Phase::Listen(ends, Seed::new(seed)))
    }

    /// Returns the progress of the stream.
    pub fn state(&self) -> StreamState {
        match self.phase {
            Phase::Ask(_) | Phase::Listen(..) | Phase::Prove(_) => StreamState::Handshake,
            Phase::Open(_) => StreamState::Encrypted,
            Phase::Plain => StreamState::Plain,
            Phase::Failed(reason) => StreamState::Failed(reason),
        }
    }

    /// Returns the id of the stream's key; `None` if the stream is not encrypted.
    pub fn key_id(&self) -> Option<KeyId> {
        self.key
    }

    /// Handles bytes of the connection. An error is final.
    ///
    /// # Errors
    /// Fails if the peer has no suitable key, or if another host changed the bytes.
    pub fn receive(&mut self, keys: &StreamKeys, bytes: &[u8]) -> Result<(), DropReason> {
        self.received.extend_from_slice(bytes);
        loop {
            match self.step(keys) {
                Ok(true) => {}
                Ok(false) => {
                    // This bounds the memory that a peer without a key can use.
                    debug_assert!(self.received.len() < RECORD_LEN_MAX);
                    return Ok(());
                }
                Err(reason) => {
                    self.phase = Phase::Failed(reason);
                    self.received.clear();
                    return Err(reason);
                }
            }
        }
    }

    /// Handles the next part of the received bytes. Returns whether the part was complete.
    fn step(&mut self, keys: &StreamKeys) -> Result<bool, DropReason> {
        match &mut self.phase {
            Phase::Failed(reason) => Err(*reason),
            Phase::Plain => {
                self.data.append(&mut self.received);
                Ok(false)
            }
            Phase::Listen(..) => self.listen(keys),
            Phase::Ask(_) => self.ask(keys),
            Phase::Prove(state) => {
                let Some((kind, len)) = record::open(state, &self.received, &mut self.data)? else {
                    return Ok(false);
                };
                if kind != RecordKind::Data || !self.data.is_empty() {
                    return Err(DropReason::Malformed);
                }
                self.received.drain(..len);
                if let Phase::Prove(state) = mem::replace(&mut self.phase, Phase::Plain) {
                    self.phase = Phase::Open(state);
                }
                Ok(true)
            }
            // Ignore all bytes after the end of the stream.
            Phase::Open(_) if self.has_ended => {
                self.received.clear();
                Ok(false)
            }
            Phase::Open(state) => {
                let Some((kind, len)) = record::open(state, &self.received, &mut self.data)? else {
                    return Ok(false);
                };
                self.received.drain(..len);
                self.has_ended = kind == RecordKind::End;
                Ok(true)
            }
        }
    }

    /// Handles the preface and the first message.
    fn listen(&mut self, keys: &StreamKeys) -> Result<bool, DropReason> {
        if !preface::may_begin(&self.received) {
            if !keys.accepts_plain() {
                return Err(DropReason::Unsigned);
            }
            self.phase = Phase::Plain;
            return Ok(true);
        }
        let Some((message, _)) = self.received.split_at_checked(PREFACE_LEN + MESSAGE_LEN) else {
            return Ok(false);
        };
        let id = preface::key_id(message).unwrap_or_default();
        let Some((id, key)) = keys.get(id) else {
            if !keys.accepts_plain() {
                return Err(DropReason::UnknownKey);
            }
            self.output.extend_from_slice(&preface::write(0));
            self.received.drain(..PREFACE_LEN + MESSAGE_LEN);
            self.phase = Phase::Plain;
            return Ok(true);
        };
        let Phase::Listen(ends, seed) = &self.phase else {
            return Ok(false);
        };
        let preface = preface::write(id.get());
        let prologue = ends.prologue(preface);
        let answer = handshake::answer(key, &prologue, seed, &message[PREFACE_LEN..]);
        let (answer, state) = answer.map_err(|_| DropReason::WrongMac)?;
        self.output.extend_from_slice(&preface);
        self.output.extend_from_slice(&answer);
        self.received.drain(..PREFACE_LEN + MESSAGE_LEN);
        self.key = Some(id);
        self.phase = Phase::Prove(Box::new(state));
        Ok(true)
    }

    /// Handles the answer.
    fn ask(&mut self, keys: &StreamKeys) -> Result<bool, DropReason> {
        if !preface::may_begin(&self.received) {
            return Err(DropReason::Malformed);
        }
        let Some(id) = preface::key_id(&self.received) else {
            return Ok(false);
        };
        if id == 0 {
            if !keys.accepts_plain() {
                return Err(DropReason::Unsigned);
            }
            self.received.drain(..PREFACE_LEN);
            self.key = None;
            self.phase = Phase::Plain;
            return Ok(true);
        }
        if self.key.is_none_or(|key| key.get() != id) {
            return Err(DropReason::Malformed);
        }
        let Some(message) = self.received.get(PREFACE_LEN..PREFACE_LEN + MESSAGE_LEN) else {
            return Ok(false);
        };
        let Phase::Ask(state) = mem::replace(&mut self.phase, Phase::Plain) else {
            return Ok(false);
        };
        let state = handshake::finish(*state, message).map_err(|_| DropReason::WrongMac)?;
        self.received.drain(..PREFACE_LEN + MESSAGE_LEN);
        self.phase = Phase::Open(Box::new(state));
        self.seal(&[]);
        Ok(true)
    }

    /// Returns the bytes for the connection.
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    /// Drops the first `count` bytes of the output, which the connection has taken.
    pub fn advance(&mut self, count: usize) {
        self.output.drain(..count.min(self.output.len()));
    }

    /// Moves received data into `room`. Returns the number of bytes.
    pub fn read(&mut self, room: &mut [u8]) -> usize {
        let count = room.len().min(self.data.len());
        room[..count].copy_from_slice(&self.data[..count]);
        self.data.drain(..count);
        count
    }

    /// Whether the peer has ended its side, and the caller has read all data.
    pub fn has_ended(&self) -> bool {
        self.has_ended && self.data.is_empty()
    }

    /// Encrypts the first bytes of `bytes`, at most [`RECORD_DATA_MAX`], and appends them to the output as a record.
    /// Returns the number of encrypted bytes. Returns 0 if the stream is not encrypted.
    pub fn seal(&mut self, bytes: &[u8]) -> usize {
        let data = &bytes[..bytes.len().min(RECORD_DATA_MAX)];
        self.append(data, RecordKind::Data)
    }

    /// Appends the record that ends this side of an encrypted stream.
    pub fn seal_end(&mut self) {
        self.append(&[], RecordKind::End);
    }

    fn append(&mut self, data: &[u8], kind: RecordKind) -> usize {
        let Phase::Open(state) = &mut self.phase else {
            return 0;
        };
        if record::seal(state, data, kind, &mut self.output).is_ok() {
            return data.len();
        }
        // This error occurs only after 2^64 records.
        self.phase = Phase::Failed(DropReason::Malformed);
        0
    }
}

impl fmt::Debug for SecureStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecureStream")
            .field("state", &self.state())
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
