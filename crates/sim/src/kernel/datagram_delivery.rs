//! The way of a message through the network, and the faults on this way.

use std::rc::Rc;

use super::conditions::NetworkConditions;
use super::kinds::FaultEffect;
use super::queue::{Bytes, Event, id};
use super::simulation::Simulation;
use super::stats::Count;
use super::system::{Message, Moment, Peer, Route, System};

/// The number of messages that are kept for a later replay.
const CAPTURED_MESSAGES_MAX: usize = 64;
/// On average, one in this number of messages is captured.
const CAPTURE_ONE_OF: u64 = 16;

impl<S: System> Simulation<S> {
    /// Sets the network's faults.
    pub fn set_conditions(&mut self, conditions: NetworkConditions) {
        self.network.conditions = conditions;
        self.network.update_clear();
    }

    /// Splits the network: only nodes of the same group hear each other. Nodes beyond the end of `groups` are in group
    /// 0, so an empty list heals the split.
    pub fn part(&mut self, groups: &[u8]) {
        for (at, node) in self.nodes.iter_mut().enumerate() {
            node.group = groups.get(at).copied().unwrap_or(0);
        }
        self.network.parted = self.nodes.iter().any(|node| node.group != 0);
        self.network.update_clear();
    }

    /// Injects a message that does not come from a node.
    pub fn inject(&mut self, from: Peer<S>, to: S::Address, bytes: Bytes) {
        let message = Message::<S> {
            node: None,
            from,
            to,
            bytes,
        };
        self.transmit(message, S::Label::default(), self.now);
    }

    /// Sends a message in the name of a node whose process is dead. Its first `len` bytes are the message, and a
    /// signature may follow.
    pub fn send_for_dead(&mut self, at: usize, bytes: Vec<u8>, len: usize, to: Peer<S>) {
        let node = &mut self.nodes[at];
        let moment = Moment {
            at: self.now,
            node: at,
        };
        let sent = self
            .system
            .on_sent(moment, &mut node.own, &bytes[..len], to);
        let Some((to, label)) = sent else { return };
        let message = Message::<S> {
            node: Some(id(at)),
            from: S::address(at, &node.own),
            to,
            bytes: bytes.into(),
        };
        if message.bytes.len() > len {
            let sender = (at, node.life);
            self.signed.on_sent(sender, self.now, &message.bytes);
        }
        self.transmit(message, label, self.now);
    }

    /// Sends `count` captured messages again.
    pub fn replay_captured(&mut self, count: u16) {
        for _ in 0..count {
            let at = self.rng.index(self.network.captured.len());
            let Some(old) = self.network.captured.get(at).cloned() else {
                return;
            };
            self.inject(old.from, old.to, old.bytes);
            self.count_effect(FaultEffect::Replay);
        }
    }

    /// Sends a message to its receivers.
    pub(super) fn transmit(&mut self, message: Message<S>, label: S::Label, leaves: u64) {
        let from = message.sender();
        self.sent_this_second += 1;
        if self.network.captures && from.is_some() {
            self.capture_some(&message);
        }
        self.system
            .on_carried(leaves, from, &message.bytes, message.to, label);
        if let Some(at) = from {
            self.record(&message);
            let node = &self.nodes[at];
            if node.signer.is_some() {
                let sender = (at, node.life);
                self.signed.on_sent(sender, leaves, &message.bytes);
            }
        }
        if from.is_some_and(|at| self.nodes[at].unplugged) {
            return;
        }
        let longest = self.network.conditions.longest;
        if longest.is_some_and(|longest| message.bytes.len() > S::HEADER_LEN + longest) {
            return self.count_effect(FaultEffect::Narrow);
        }
        let due = self.draw_arrival(from, leaves);
        let route = S::route(self, message.to);
        if let Route::All = route {
            return self.send_to_all(message, due);
        }
        if from.is_some_and(|at| self.nodes[at].unicast_lost.0) {
            return self.count_effect(FaultEffect::Unicast);
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

    fn capture_some(&mut self, message: &Message<S>) {
        // Only some messages are captured, so that the captured messages come from the whole run.
        if self.rng.below(CAPTURE_ONE_OF) > 0 {
            return;
        }
        if self.network.captured.len() < CAPTURED_MESSAGES_MAX {
            self.network.captured.push(message.clone());
        } else {
            let at = self.rng.index(CAPTURED_MESSAGES_MAX);
            self.network.captured[at] = message.clone();
        }
    }

    /// Draws the time of arrival. Messages of one sender stay in order.
    fn draw_arrival(&mut self, from: Option<usize>, leaves: u64) -> u64 {
        let (least, spread) = self.network.latency;
        let NetworkConditions { delay, jitter, .. } = self.network.conditions;
        let mut due = leaves + least + self.rng.below(spread + 1) + delay;
        if delay + jitter > 0 {
            due += self.rng.below(jitter + 1);
            self.count_effect(FaultEffect::Delay);
        }
        if let Some(from) = from {
            let before = &mut self.nodes[from].last_due;
            // Without the fault `reorder`, a network does not change the order of messages from the same sender.
            due = due.max(*before);
            *before = due;
        }
        due
    }

    fn send_to_all(&mut self, message: Message<S>, due: u64) {
        let from = message.sender();
        let mut except = Vec::new();
        // Without faults, one event delivers all copies. A single event keeps the simulation of thousands of nodes
        // fast.
        let clear = self.network.clear && !self.nodes.iter().any(|node| node.broadcasts_lost);
        if !clear {
            for to in (0..self.nodes.len()).filter(|&to| Some(to) != from) {
                if self.nodes[to].broadcasts_lost {
                    self.count_effect(FaultEffect::Broadcast);
                    except.push(id(to));
                } else if !self.delivers_with_others(&message, to, due) {
                    except.push(id(to));
                }
            }
        }
        let except = (!except.is_empty()).then(|| Rc::from(except));
        self.queue.push(due, Event::All { message, except });
    }

    fn send_to_one(&mut self, message: Message<S>, at: usize, due: u64) {
        if self.nodes[at].unicast_lost.1 {
            return self.count_effect(FaultEffect::Unicast);
        }
        let is_own = message.sender() == Some(at);
        if !is_own && (self.network.clear || self.delivers_with_others(&message, at, due)) {
            let at = id(at);
            self.queue.push(due, Event::One { message, at });
        }
    }

    /// Decides whether a copy arrives together with the other copies. Otherwise the copy is lost, or scheduled
    /// separately.
    fn delivers_with_others(&mut self, message: &Message<S>, to: usize, due: u64) -> bool {
        if let Some(from) = message.sender()
            && let Some(cut) = self.cut_between(from, to)
        {
            self.count_effect(cut);
            return false;
        }
        let conditions = self.network.conditions.clone();
        if self.rng.chance(conditions.drop) {
            self.count_effect(FaultEffect::Drop);
            return false;
        }
        if self.rng.chance(conditions.duplicate) {
            self.count_effect(FaultEffect::Duplicate);
            self.send_duplicate(message, to, due);
        }
        if self.rng.chance(conditions.corrupt) {
            self.count_effect(FaultEffect::Corrupt);
            self.send_corrupted(message, to, due);
            return false;
        }
        if self.rng.chance(conditions.reorder) {
            self.count_effect(FaultEffect::Reorder);
            let later = due + self.rng.between(1, conditions.reorder_by);
            let (message, at) = (message.clone(), id(to));
            self.queue.push(later, Event::One { message, at });
            return false;
        }
        true
    }

    pub(super) fn cut_between(&self, from: usize, to: usize) -> Option<FaultEffect> {
        if self.network.cuts.contains(&(from, to)) {
            Some(FaultEffect::OneWay)
        } else if self.nodes[from].group != self.nodes[to].group {
            Some(FaultEffect::Partition)
        } else {
            None
        }
    }

    /// Schedules a second copy. If a bridge has forgotten the receiver's address, it floods the copy to every node.
    fn send_duplicate(&mut self, message: &Message<S>, to: usize, due: u64) {
        let again = due
            + self
                .rng
                .below(self.network.conditions.reorder_by.max(1_000_000));
        let message = message.clone();
        let copy = if S::FLOODS_DUPLICATES && self.rng.chance(250) && !self.network.parted {
            let except = None;
            Event::All { message, except }
        } else {
            let at = id(to);
            Event::One { message, at }
        };
        self.queue.push(again, copy);
    }

    fn send_corrupted(&mut self, message: &Message<S>, to: usize, due: u64) {
        if self.rng.chance(S::CHECKSUM_FINDS_PER_1000) {
            return;
        }
        let mut wrong = message.bytes.to_vec();
        for _ in 0..self.rng.between(1, 3) {
            let bit = self.rng.index(wrong.len() * 8);
            wrong[bit / 8] ^= 1 << (bit % 8);
        }
        self.system.on_corrupted(due, &message.bytes, &wrong);
        let message = Message::<S> {
            bytes: wrong.into(),
            ..message.clone()
        };
        let at = id(to);
        self.queue.push(due, Event::One { message, at });
    }

    pub(super) fn count_effect(&mut self, trouble: FaultEffect) {
        self.system.count(Count::Effect(trouble));
    }
}
