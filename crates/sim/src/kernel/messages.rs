//! What becomes of each message on its way.

use std::rc::Rc;

use super::kinds::Trouble;
use super::network::Weather;
use super::queue::{Bytes, Event, id};
use super::stats::Count;
use super::system::{Message, Peer, Route, System};
use super::world::World;

/// How many messages are kept for being sent again much later.
const CAPTURED: usize = 64;
/// Of this many messages one is kept.
const CAPTURE_ONE_OF: u64 = 16;

impl<S: System> World<S> {
    /// What the network does to messages from now on.
    pub fn set_weather(&mut self, weather: Weather) {
        self.network.weather = weather;
        self.network.look_up();
    }

    /// Cuts the network: only nodes of the same group hear each other. Nodes that `groups` does not
    /// reach are in group 0; so no groups at all heal every cut.
    pub fn part(&mut self, groups: &[u8]) {
        for (at, node) in self.nodes.iter_mut().enumerate() {
            node.group = groups.get(at).copied().unwrap_or(0);
        }
        self.network.parted = self.nodes.iter().any(|node| node.group != 0);
        self.network.look_up();
    }

    /// Something that is no node sends a message.
    pub fn inject(&mut self, from: Peer<S>, to: S::Address, bytes: Bytes) {
        let message = Message::<S> {
            node: None,
            from,
            to,
            bytes,
        };
        self.carry(message, S::Label::default(), self.now);
    }

    /// Something that is no node sends so many messages again that it has captured.
    pub fn send_again(&mut self, count: u16) {
        for _ in 0..count {
            let at = self.rng.index(self.network.captured.len());
            let Some(old) = self.network.captured.get(at).cloned() else {
                return;
            };
            self.inject(old.from, old.to, old.bytes);
            self.meet(Trouble::Replay);
        }
    }

    /// Puts a message on its way to everybody that it is for.
    pub(super) fn carry(&mut self, message: Message<S>, label: S::Label, leaves: u64) {
        let from = message.sender();
        self.sent_lately += 1;
        if self.network.captures && from.is_some() {
            self.capture(&message);
        }
        self.system
            .carried(leaves, from, &message.bytes, message.to, label);
        if from.is_some_and(|at| self.nodes[at].unplugged) {
            return;
        }
        let longest = self.network.weather.longest;
        if longest.is_some_and(|longest| message.bytes.len() > S::HEADER_LEN + longest) {
            return self.meet(Trouble::Narrow);
        }
        let due = self.arrival(from, leaves);
        let route = S::route(self, message.to);
        if let Route::All = route {
            return self.send_to_all(message, due);
        }
        if from.is_some_and(|at| self.nodes[at].unicast_lost.0) {
            return self.meet(Trouble::Unicast);
        }
        match route {
            Route::All | Route::One(None) => {}
            Route::One(Some(at)) => self.send_to_one(message, at, due),
            Route::Several(stations) => {
                for at in stations {
                    self.send_to_one(message.clone(), at, due);
                }
            }
        }
    }

    fn capture(&mut self, message: &Message<S>) {
        if self.rng.below(CAPTURE_ONE_OF) > 0 {
            return;
        }
        if self.network.captured.len() < CAPTURED {
            self.network.captured.push(message.clone());
        } else {
            let at = self.rng.index(CAPTURED);
            self.network.captured[at] = message.clone();
        }
    }

    /// When a message arrives. A sender's messages stay in order.
    fn arrival(&mut self, from: Option<usize>, leaves: u64) -> u64 {
        let (least, spread) = self.network.latency;
        let Weather { delay, jitter, .. } = self.network.weather;
        let mut due = leaves + least + self.rng.below(spread + 1) + delay;
        if delay + jitter > 0 {
            due += self.rng.below(jitter + 1);
            self.meet(Trouble::Delay);
        }
        if let Some(from) = from {
            let before = &mut self.nodes[from].last_due;
            due = due.max(*before);
            *before = due;
        }
        due
    }

    fn send_to_all(&mut self, message: Message<S>, due: u64) {
        let from = message.sender();
        let mut except = Vec::new();
        let clear = self.network.clear && !self.nodes.iter().any(|node| node.broadcasts_lost);
        if !clear {
            for to in (0..self.nodes.len()).filter(|&to| Some(to) != from) {
                if self.nodes[to].broadcasts_lost {
                    self.meet(Trouble::Broadcast);
                    except.push(id(to));
                } else if !self.passes(&message, to, due) {
                    except.push(id(to));
                }
            }
        }
        let except = (!except.is_empty()).then(|| Rc::from(except));
        self.queue.push(due, Event::All { message, except });
    }

    fn send_to_one(&mut self, message: Message<S>, at: usize, due: u64) {
        if self.nodes[at].unicast_lost.1 {
            return self.meet(Trouble::Unicast);
        }
        let is_own = message.sender() == Some(at);
        if !is_own && (self.network.clear || self.passes(&message, at, due)) {
            let at = id(at);
            self.queue.push(due, Event::One { message, at });
        }
    }

    /// Whether a copy arrives with the others. If not it is lost, or comes by itself.
    fn passes(&mut self, message: &Message<S>, to: usize, due: u64) -> bool {
        if let Some(from) = message.sender()
            && let Some(cut) = self.cut_between(from, to)
        {
            self.meet(cut);
            return false;
        }
        let weather = self.network.weather.clone();
        if self.rng.chance(weather.drop) {
            self.meet(Trouble::Drop);
            return false;
        }
        if self.rng.chance(weather.duplicate) {
            self.meet(Trouble::Duplicate);
            self.double(message, to, due);
        }
        if self.rng.chance(weather.corrupt) {
            self.meet(Trouble::Corrupt);
            self.corrupt(message, to, due);
            return false;
        }
        if self.rng.chance(weather.reorder) {
            self.meet(Trouble::Reorder);
            let later = due + self.rng.between(1, weather.reorder_by);
            let (message, at) = (message.clone(), id(to));
            self.queue.push(later, Event::One { message, at });
            return false;
        }
        true
    }

    pub(super) fn cut_between(&self, from: usize, to: usize) -> Option<Trouble> {
        if self.network.cuts.contains(&(from, to)) {
            Some(Trouble::OneWay)
        } else if self.nodes[from].group != self.nodes[to].group {
            Some(Trouble::Partition)
        } else {
            None
        }
    }

    /// A second copy; a bridge that has forgotten where the address is sends it everywhere.
    fn double(&mut self, message: &Message<S>, to: usize, due: u64) {
        let again = due
            + self
                .rng
                .below(self.network.weather.reorder_by.max(1_000_000));
        let message = message.clone();
        let copy = if S::FLOODED && self.rng.chance(250) && !self.network.parted {
            let except = None;
            Event::All { message, except }
        } else {
            let at = id(to);
            Event::One { message, at }
        };
        self.queue.push(again, copy);
    }

    fn corrupt(&mut self, message: &Message<S>, to: usize, due: u64) {
        if self.rng.chance(S::CHECKSUM_FINDS) {
            return;
        }
        let mut wrong = message.bytes.to_vec();
        for _ in 0..self.rng.between(1, 3) {
            let bit = self.rng.index(wrong.len() * 8);
            wrong[bit / 8] ^= 1 << (bit % 8);
        }
        self.system.corrupted(due, &message.bytes, &wrong);
        let message = Message::<S> {
            bytes: wrong.into(),
            ..message.clone()
        };
        let at = id(to);
        self.queue.push(due, Event::One { message, at });
    }

    /// Something has gone wrong, and counts.
    pub(super) fn meet(&mut self, trouble: Trouble) {
        self.system.count(Count::Met(trouble));
    }
}
