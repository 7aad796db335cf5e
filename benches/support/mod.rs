//! Drives one Lab2 state machine in a benchmark. Frames are inputs and outputs, and there is no link.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{ETHERTYPE, FRAME_LEN_MAX, Frame, Message, NO_IP};
use ring_proto::lab2::{Constants, Lab2, StoredState};
use ring_proto::time::{Instant, Now};
use ring_proto::{LinkState, Machine, SendOutcome, StoreOutcome, Transmit};

pub(crate) const OWN_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

pub(crate) fn encode(author: MacAddr, destination: MacAddr, message: Message<'_>) -> Vec<u8> {
    let frame = Frame {
        destination,
        author,
        message,
        profile: None,
        card: None,
        locks: None,
        preference: 0,
    };
    let mut buf = [0; FRAME_LEN_MAX];
    let len = frame.encode(ETHERTYPE, &mut buf).expect("a legal message");
    buf[..len].to_vec()
}

/// A state machine with its clock and its buffers.
pub(crate) struct Node<M = Lab2> {
    pub machine: M,
    pub now: Now,
    buf: Box<[u8; FRAME_LEN_MAX]>,
}

/// Makes a state machine without a stored state.
pub(crate) fn fresh_machine(constants: Constants) -> Lab2 {
    let fresh = StoredState {
        my_token_number: 0,
        known: None,
        stamp: None,
    };
    Lab2::new(constants, fresh)
}

impl<M: Machine<Peer = (), Net = LinkState>> Node<M> {
    /// Makes a node whose link has just come up.
    pub(crate) fn new(machine: M) -> Self {
        let now = Now {
            monotonic: Instant::from_nanos(1_000_000_000),
            wall: 1_000_000_000,
        };
        let mut node = Self {
            machine,
            now,
            buf: Box::new([0; FRAME_LEN_MAX]),
        };
        let up = LinkState::Up {
            mac: OWN_MAC,
            ip: NO_IP,
            mtu: 1500,
        };
        node.machine.handle_link(now, up);
        node.drain();
        node
    }

    /// Handles a frame, and drains all output that follows.
    pub(crate) fn frame(&mut self, bytes: &[u8]) -> usize {
        self.machine
            .handle_message(self.now, (), bytes, Duration::ZERO);
        self.drain()
    }

    /// Drains the outputs of the state machine in the order of its contract. Returns the total length of all frames in
    /// bytes.
    pub(crate) fn drain(&mut self) -> usize {
        let mut sent = 0;
        loop {
            if std::hint::black_box(self.machine.poll_durable()).is_some() {
                self.machine.handle_stored(self.now, StoreOutcome::Done);
            }
            let Some(Transmit { len, ticket, .. }) = self.machine.poll_transmit(&mut self.buf[..])
            else {
                break;
            };
            sent += len;
            self.machine
                .handle_sent(self.now, ticket, SendOutcome::Accepted);
        }
        while let Some(event) = self.machine.poll_event() {
            std::hint::black_box(event);
        }
        std::hint::black_box(self.machine.poll_timeout());
        sent
    }
}
