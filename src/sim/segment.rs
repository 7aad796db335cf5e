//! The segment: who hears whom, and what becomes of each frame on its way.

use std::rc::Rc;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{ETHERNET_HEADER_LEN, Frame, Kind, Message, Token};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::queue::{Bytes, What};
use super::settings::FaultKind;
use super::subject::Subject;
use super::words::node_of;
use super::world::{World, id};

/// How many frames are kept for being sent again much later.
const CAPTURED: usize = 64;
/// Of this many frames one is kept.
const CAPTURE_ONE_OF: u64 = 16;
/// Of 1,000 corrupt frames so many are found out by their checksum, and lost. A real one finds out
/// nearly all; but then nothing would be left to look at.
const CHECKSUM_FINDS: u16 = 900;

/// What the segment does to frames; rates are in thousandths, times in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Weather {
    /// Frames that are lost.
    pub drop: u16,
    /// Frames that come twice.
    pub duplicate: u16,
    /// Copies that come later than their frame would.
    pub reorder: u16,
    /// By how much at most.
    pub reorder_by: u64,
    /// How much longer all frames take.
    pub delay: u64,
    /// And how much longer than that at most.
    pub jitter: u64,
    /// Frames of which bits flip.
    pub corrupt: u16,
    /// The longest payload that arrives, in bytes, if it is shorter than the interfaces'.
    pub longest: Option<usize>,
}

/// The segment's state.
#[derive(Debug, Default)]
pub(super) struct Segment {
    pub(super) weather: Weather,
    /// How long a frame takes on a clear segment, at least and how much more at most.
    pub(super) latency: (u64, u64),
    /// Who is not heard by whom.
    pub(super) cuts: Vec<(usize, usize)>,
    pub(super) parted: bool,
    /// Who has whose address.
    pub(super) twins: Vec<(usize, usize)>,
    /// Whether frames are captured, and those that were.
    pub(super) captures: bool,
    pub(super) captured: Vec<Bytes>,
    /// Nothing happens to any frame: all copies of one arrive together.
    clear: bool,
}

impl Segment {
    pub(super) fn new(latency: (u64, u64)) -> Self {
        Self {
            latency,
            clear: true,
            ..Self::default()
        }
    }

    /// To be called after every change.
    pub(super) fn look_up(&mut self) {
        let Weather {
            drop,
            duplicate,
            reorder,
            corrupt,
            ..
        } = self.weather;
        let troubles = [drop, duplicate, reorder, corrupt];
        self.clear = !self.parted && self.cuts.is_empty() && troubles == [0; 4];
    }
}

impl<M: Subject> World<M> {
    /// Puts a frame on its way to everybody that it is for.
    pub(super) fn carry(
        &mut self,
        from: Option<usize>,
        bytes: Bytes,
        to: MacAddr,
        kind: usize,
        leaves: u64,
    ) {
        self.note_sent(from, &bytes, to, kind, leaves);
        if from.is_some_and(|at| self.nodes[at].unplugged) {
            return;
        }
        let longest = self.segment.weather.longest;
        if longest.is_some_and(|longest| bytes.len() > ETHERNET_HEADER_LEN + longest) {
            return self.met(FaultKind::Narrow);
        }
        let due = self.arrival(from, leaves);
        if to == MacAddr::BROADCAST {
            self.send_to_all(from, bytes, due);
            return;
        }
        if from.is_some_and(|at| self.nodes[at].unicast_lost.0) {
            return self.met(FaultKind::Unicast);
        }
        let own = node_of(to).filter(|&at| self.nodes.get(at).is_some_and(|node| node.mac == to));
        for twin in 0..self.segment.twins.len() {
            let (at, _) = self.segment.twins[twin];
            if self.nodes[at].mac == to && own != Some(at) {
                self.send_to_one(from, at, bytes.clone(), due);
            }
        }
        if let Some(at) = own {
            self.send_to_one(from, at, bytes, due);
        }
    }

    fn note_sent(
        &mut self,
        from: Option<usize>,
        bytes: &Bytes,
        to: MacAddr,
        kind: usize,
        leaves: u64,
    ) {
        let stats = &mut self.books.stats;
        stats.sent[kind] += 1;
        if to == MacAddr::BROADCAST {
            stats.broadcast[kind] += 1;
        }
        stats.fingerprint = xxh3_64_with_seed(bytes, stats.fingerprint ^ leaves);
        self.sent_lately += 1;
        if self.segment.captures && from.is_some() {
            self.capture(bytes);
        }
        if let Some(record) = &mut self.books.record {
            record.sent(Duration::from_nanos(leaves), from, bytes);
        }
    }

    fn capture(&mut self, bytes: &Bytes) {
        if self.rng.below(CAPTURE_ONE_OF) > 0 {
            return;
        }
        if self.segment.captured.len() < CAPTURED {
            self.segment.captured.push(bytes.clone());
        } else {
            let at = self.rng.index(CAPTURED);
            self.segment.captured[at] = bytes.clone();
        }
    }

    /// When a frame arrives. A sender's frames stay in order.
    fn arrival(&mut self, from: Option<usize>, leaves: u64) -> u64 {
        let (least, spread) = self.segment.latency;
        let Weather { delay, jitter, .. } = self.segment.weather;
        let mut due = leaves + least + self.rng.below(spread + 1) + delay;
        if delay + jitter > 0 {
            due += self.rng.below(jitter + 1);
            self.books.stats.met[FaultKind::Delay as usize] += 1;
        }
        if let Some(from) = from {
            let before = &mut self.nodes[from].last_due;
            due = due.max(*before);
            *before = due;
        }
        due
    }

    fn send_to_all(&mut self, from: Option<usize>, bytes: Bytes, due: u64) {
        let mut except = Vec::new();
        if !self.segment.clear {
            for to in 0..self.nodes.len() {
                if Some(to) != from && !self.passes(from, to, &bytes, due) {
                    except.push(id(to));
                }
            }
        }
        let except = (!except.is_empty()).then(|| Rc::from(except));
        let from = from.map_or(u32::MAX, id);
        let all = What::All {
            from,
            bytes,
            except,
        };
        self.queue.push(due, all);
    }

    fn send_to_one(&mut self, from: Option<usize>, to: usize, bytes: Bytes, due: u64) {
        if self.nodes[to].unicast_lost.1 {
            return self.met(FaultKind::Unicast);
        }
        if from != Some(to) && (self.segment.clear || self.passes(from, to, &bytes, due)) {
            self.queue.push(due, What::One { to: id(to), bytes });
        }
    }

    /// Whether a copy arrives with the others. If not it is lost, or comes by itself.
    fn passes(&mut self, from: Option<usize>, to: usize, bytes: &Bytes, due: u64) -> bool {
        if let Some(from) = from
            && let Some(cut) = self.cut_between(from, to)
        {
            self.met(cut);
            return false;
        }
        let weather = self.segment.weather.clone();
        if self.rng.chance(weather.drop) {
            self.met(FaultKind::Drop);
            return false;
        }
        if self.rng.chance(weather.duplicate) {
            self.met(FaultKind::Duplicate);
            self.double(from, to, bytes, due);
        }
        if self.rng.chance(weather.corrupt) {
            self.met(FaultKind::Corrupt);
            self.corrupt(to, bytes, due);
            return false;
        }
        if self.rng.chance(weather.reorder) {
            self.met(FaultKind::Reorder);
            let later = due + self.rng.between(1, weather.reorder_by);
            let bytes = bytes.clone();
            self.queue.push(later, What::One { to: id(to), bytes });
            return false;
        }
        true
    }

    fn cut_between(&self, from: usize, to: usize) -> Option<FaultKind> {
        if self.segment.cuts.contains(&(from, to)) {
            Some(FaultKind::Oneway)
        } else if self.nodes[from].group != self.nodes[to].group {
            Some(FaultKind::Partition)
        } else {
            None
        }
    }

    /// A second copy; a bridge that has forgotten where the address is sends it everywhere.
    fn double(&mut self, from: Option<usize>, to: usize, bytes: &Bytes, due: u64) {
        let again = due
            + self
                .rng
                .below(self.segment.weather.reorder_by.max(1_000_000));
        let bytes = bytes.clone();
        let what = if self.rng.chance(250) && !self.segment.parted {
            What::All {
                from: from.map_or(u32::MAX, id),
                bytes,
                except: None,
            }
        } else {
            What::One { to: id(to), bytes }
        };
        self.queue.push(again, what);
    }

    fn corrupt(&mut self, to: usize, bytes: &Bytes, due: u64) {
        if self.rng.chance(CHECKSUM_FINDS) {
            return;
        }
        let mut wrong = bytes.to_vec();
        for _ in 0..self.rng.between(1, 3) {
            let bit = self.rng.index(wrong.len() * 8);
            wrong[bit / 8] ^= 1 << (bit % 8);
        }
        let (said, heard) = (claim(bytes), claim(&wrong));
        if heard.is_some() && heard != said {
            let exempt = &mut self.books.checks.exempt;
            for (_, token) in [said, heard].into_iter().flatten() {
                exempt.corrupt(&token);
            }
        }
        let kind = |bytes: &[u8]| Some(Frame::decode(bytes).ok()?.message.kind());
        if matches!(kind(&wrong), Some(Kind::Ping | Kind::TokenIsHere)) {
            self.void_promises_from(due);
        }
        if kind(&wrong) == Some(Kind::Stamps) {
            self.books.checks.exempt.void_stamps();
        }
        let bytes = wrong.into();
        self.queue.push(due, What::One { to: id(to), bytes });
    }

    pub(super) fn met(&mut self, kind: FaultKind) {
        self.books.stats.met[kind as usize] += 1;
    }
}

/// What a frame claims about a token, if it is valid and does: its kind, and the token.
pub(super) fn claim(bytes: &[u8]) -> Option<(usize, Token)> {
    let message = Frame::decode(bytes).ok()?.message;
    let (Message::TakeToken { token, .. }
    | Message::TokenIsHere { token, .. }
    | Message::GeneratingToken { token }
    | Message::TokenWasHereRecently { token, .. }) = message
    else {
        return None;
    };
    Some((message.kind() as usize, token))
}
