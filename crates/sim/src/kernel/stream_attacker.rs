//! Attacks on connections by a host that has no key.

use std::collections::VecDeque;
use std::mem;

use super::kinds::FaultEffect;
use super::rng::Rng;
use super::simulation::Simulation;
use super::stranger::{Ending, Stranger};
use super::streams::{Side, Step};
use super::system::System;

/// The maximum number of connections that the attacker has recorded.
const RECORDED_MAX: usize = 64;
/// The maximum number of recorded bytes of one side of a connection.
const RECORDED_BYTES_MAX: usize = 32 * 1024;
/// The length of the preface and the message of a handshake.
const HANDSHAKE_LEN: usize = 56;
/// The preface of a responder that does not encrypt a stream.
const REFUSAL: &[u8] = b"KEY\x01\0\0\0\0";
/// The maximum number of planned attacks of one kind.
const PLANNED_MAX: u32 = 8;
/// The rate of connections and pieces of data that a planned attack hits, per thousand.
const HIT_RATE: u16 = 250;

/// The bytes that the attacker has heard on connections, and its plans.
#[derive(Debug, Default)]
pub(super) struct StreamAttacks {
    recorded: VecDeque<RecordedStream>,
    /// The number of connections that the attacker will answer in the place of a node.
    answers: u32,
    /// The number of pieces of data that the attacker will change.
    changes: u32,
    /// The connections that the attacker answered or changed.
    touched: Vec<usize>,
    /// Whether the faults are over. After the faults, the attacker no longer breaks connections of nodes.
    is_over: bool,
}

#[derive(Debug)]
struct RecordedStream {
    pipe: usize,
    /// The bytes of the connecting end and of the accepting end.
    sides: [Vec<u8>; 2],
}

impl StreamAttacks {
    fn record(&mut self, pipe: usize, from: Side, bytes: &[u8]) {
        let known = self.recorded.iter().rposition(|it| it.pipe == pipe);
        let at = known.unwrap_or_else(|| {
            if self.recorded.len() == RECORDED_MAX {
                self.recorded.pop_front();
            }
            let sides = [Vec::new(), Vec::new()];
            self.recorded.push_back(RecordedStream { pipe, sides });
            self.recorded.len() - 1
        });
        let side = &mut self.recorded[at].sides[from];
        let room = RECORDED_BYTES_MAX.saturating_sub(side.len());
        side.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn pick(&self, rng: &mut Rng, side: Side) -> Vec<u8> {
        // An attacker may also send the bytes of the other side back.
        let side = if rng.chance(150) { 1 - side } else { side };
        let picked = self.recorded.get(rng.index(self.recorded.len()));
        picked.map_or_else(Vec::new, |it| it.sides[side].clone())
    }

    /// Ends the attacks on connections between nodes. Returns the connections that the attacker answered or changed. A
    /// node may notice a changed length only much later.
    pub(super) fn end(&mut self) -> Vec<usize> {
        (self.answers, self.changes) = (0, 0);
        self.is_over = true;
        mem::take(&mut self.touched)
    }
}

impl<S: System> Simulation<S> {
    fn stream_attacks(&mut self) -> Option<&mut StreamAttacks> {
        self.recordings.as_mut().map(|it| &mut it.streams)
    }

    /// Attacks connections: the attacker connects to a node, or plans to answer or change the next connections.
    pub(super) fn attack_stream(&mut self) {
        let choice = self.rng.below(8);
        let Some(attacks) = self.stream_attacks() else {
            return;
        };
        match choice {
            0 if !attacks.is_over => attacks.answers = PLANNED_MAX.min(attacks.answers + 1),
            1 | 2 if !attacks.is_over => attacks.changes = PLANNED_MAX.min(attacks.changes + 1),
            _ => self.connect_attacker(),
        }
    }

    /// Connects the attacker to a node, from the address of a node.
    fn connect_attacker(&mut self) {
        let ends = [(); 2].map(|()| self.rng.index(self.nodes.len()));
        let Some(to) = S::listener(&self.nodes[ends[1]].own) else {
            return;
        };
        let says = self.draw_stream(ends, 0);
        let stranger = Stranger {
            from: S::address(ends[0], &self.nodes[ends[0]].own),
            to,
            says,
            gap: self.rng.pick(&[10, 1_000]),
            reads: true,
            ends: self
                .rng
                .pick(&[Ending::Stays, Ending::Finishes, Ending::Resets]),
        };
        self.count_effect(FaultEffect::Attack);
        self.admit_stranger(ends[1], &stranger);
    }

    /// Draws the bytes of one side of a connection: recorded, changed or forged bytes.
    fn draw_stream(&mut self, ends: [usize; 2], side: Side) -> Vec<u8> {
        let Some(recordings) = &self.recordings else {
            return Vec::new();
        };
        let mut bytes = recordings.streams.pick(&mut self.rng, side);
        match self.rng.below(8) {
            0 | 1 => {}
            2 => flip_bit(&mut self.rng, &mut bytes),
            3 => bytes.truncate(self.rng.index(bytes.len() + 1)),
            4 => {
                bytes.truncate(HANDSHAKE_LEN);
                bytes.extend(S::forge_stream(self, ends, side));
            }
            5 => bytes = [REFUSAL, &S::forge_stream(self, ends, side)].concat(),
            _ => bytes = S::forge_stream(self, ends, side),
        }
        bytes
    }

    /// Answers a connection of a node in the place of its peer, if the attacker has planned this. Returns whether the
    /// attacker answers.
    pub(super) fn answers_as_peer(&mut self, pipe: usize) -> bool {
        let ends = {
            let fabric = self.fabric.borrow();
            fabric.pipes[pipe].ends.each_ref().map(|end| end.node)
        };
        let [Some(from), Some(to)] = ends else {
            return false;
        };
        if self.stream_attacks().is_none_or(|it| it.answers == 0) || !self.rng.chance(HIT_RATE) {
            return false;
        }
        let says = self.draw_stream([from, to], 1);
        if let Some(attacks) = self.stream_attacks() {
            attacks.answers -= 1;
            attacks.touched.push(pipe);
        }
        {
            let end = &mut self.fabric.borrow_mut().pipes[pipe].ends[1];
            (end.node, end.established, end.reads) = (None, true, true);
        }
        self.count_effect(FaultEffect::Attack);
        self.push_step(self.now, Step::Answer(pipe, true));
        let (least, most) = self.network.latency;
        // The node's bytes arrive before the attacker's answer begins.
        let begins = self.now + 2 * (least + most);
        for (at, &byte) in (begins..).zip(&says) {
            self.push_step(at, Step::Data(pipe, 0, vec![byte]));
        }
        if self.rng.chance(500) {
            let ends = begins + says.len() as u64 + self.rng.pick(&[0, 10 * (least + most)]);
            self.push_step(ends, Step::Finish(pipe, 0));
        }
        true
    }

    /// Records data that a node sends, and changes them if the attacker has planned this.
    pub(super) fn attack_data(&mut self, leaves: u64, pipe: usize, to: Side, bytes: &mut Vec<u8>) {
        let Some(recordings) = &mut self.recordings else {
            return;
        };
        recordings.streams.record(pipe, 1 - to, bytes);
        if recordings.streams.changes == 0 || !self.rng.chance(HIT_RATE) {
            return;
        }
        recordings.streams.changes -= 1;
        recordings.streams.touched.push(pipe);
        match self.rng.below(4) {
            0 | 1 => flip_bit(&mut self.rng, bytes),
            2 => {
                let other = recordings.streams.pick(&mut self.rng, 1 - to);
                let at = self.rng.index(bytes.len() + 1);
                bytes.splice(at..at, other);
            }
            _ => {
                bytes.truncate(self.rng.index(bytes.len()));
                // The end or the reset arrives after the data.
                let cut = self
                    .rng
                    .pick(&[Step::Finish as fn(usize, Side) -> Step, Step::Reset]);
                self.push_step(leaves + 1, cut(pipe, to));
            }
        }
        self.count_effect(FaultEffect::Attack);
    }
}

fn flip_bit(rng: &mut Rng, bytes: &mut [u8]) {
    let bit = rng.index(8 * bytes.len());
    if let Some(byte) = bytes.get_mut(bit / 8) {
        *byte ^= 1 << (bit % 8);
    }
}
