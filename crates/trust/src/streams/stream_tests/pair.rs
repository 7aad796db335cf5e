//! Two ends of a stream in one test.

use std::net::SocketAddr;

use crate::streams::{SecureStream, StreamEnds, StreamKeys, StreamState};
use crate::{DropReason, Keyring};

pub(super) const INITIATOR: &str = "192.0.2.1:40000";
pub(super) const RESPONDER: &str = "192.0.2.2:57700";

pub(super) fn keyring_of(keys: &[(u32, u8)]) -> Keyring {
    let line = |(id, byte): &(u32, u8)| format!("{id} {}\n", format!("{byte:02x}").repeat(32));
    Keyring::parse(&keys.iter().map(line).collect::<String>()).expect("legal keys")
}

pub(super) fn keyring(ids: &[u32]) -> Keyring {
    let keys = ids.iter().map(|&id| (id, u8::try_from(id).expect("small")));
    keyring_of(&keys.collect::<Vec<_>>())
}

pub(super) fn ends() -> StreamEnds {
    let address = |text: &str| text.parse::<SocketAddr>().expect("an address");
    StreamEnds {
        system: "test",
        initiator: address(INITIATOR),
        responder: address(RESPONDER),
    }
}

/// The initiator and the responder.
pub(super) struct Pair {
    pub(super) keys: [StreamKeys; 2],
    pub(super) ends: [SecureStream; 2],
}

impl Pair {
    pub(super) fn new() -> Self {
        let keys = || StreamKeys::new(&keyring(&[1]), false);
        Self::with([keys(), keys()])
    }

    pub(super) fn with(keys: [StreamKeys; 2]) -> Self {
        Self::seeded(keys, [1, 2])
    }

    pub(super) fn seeded(keys: [StreamKeys; 2], [first, second]: [u8; 2]) -> Self {
        let ends = [
            SecureStream::initiator(&keys[0], &ends(), [first; 32]),
            SecureStream::responder(ends(), [second; 32]),
        ];
        Self { keys, ends }
    }

    /// Takes the output of an end.
    pub(super) fn take(&mut self, from: usize) -> Vec<u8> {
        let output = self.ends[from].output().to_vec();
        self.ends[from].advance(output.len());
        output
    }

    /// Delivers the output of an end to the other end. Returns the bytes.
    pub(super) fn deliver(&mut self, from: usize) -> Vec<u8> {
        let bytes = self.take(from);
        let to = 1 - from;
        let received = self.ends[to].receive(&self.keys[to], &bytes);
        received.expect("the stream works");
        bytes
    }

    /// Delivers the output of both ends until there is none.
    pub(super) fn exchange(&mut self) -> [Result<(), DropReason>; 2] {
        let mut results = [Ok(()); 2];
        while self.ends.iter().any(|end| !end.output().is_empty()) {
            for from in 0..2 {
                let bytes = self.take(from);
                let to = 1 - from;
                if results[to].is_ok() && !bytes.is_empty() {
                    results[to] = self.ends[to].receive(&self.keys[to], &bytes);
                }
            }
        }
        results
    }

    /// Delivers all output without an error.
    pub(super) fn settle(&mut self) {
        assert_eq!(self.exchange(), [Ok(()); 2]);
    }

    pub(super) fn open(&mut self) {
        self.settle();
        let states = self.ends.each_ref().map(SecureStream::state);
        assert_eq!(states, [StreamState::Encrypted; 2]);
    }

    pub(super) fn deliver_in_pieces(
        &mut self,
        from: usize,
        pieces: &mut impl Iterator<Item = usize>,
    ) {
        let bytes = self.take(from);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(pieces.next().unwrap_or(1).min(rest.len()));
            let to = 1 - from;
            let received = self.ends[to].receive(&self.keys[to], piece);
            received.expect("the stream works");
            rest = after;
        }
    }

    pub(super) fn open_in_pieces(&mut self, pieces: &mut impl Iterator<Item = usize>) {
        for from in [0, 1, 0] {
            self.deliver_in_pieces(from, pieces);
        }
        let states = self.ends.each_ref().map(SecureStream::state);
        assert_eq!(states, [StreamState::Encrypted; 2]);
    }

    /// Reads all data of an end.
    pub(super) fn read(&mut self, at: usize) -> Vec<u8> {
        let mut data = Vec::new();
        let mut room = [0; 5000];
        loop {
            match self.ends[at].read(&mut room) {
                0 => return data,
                count => data.extend_from_slice(&room[..count]),
            }
        }
    }
}
