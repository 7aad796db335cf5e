//! The ring as a model for the checker: its states, and the events that lead from one state to the next.

use std::sync::Arc;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Message};
use ring_proto::lab2::{Command, Lab2};
use ring_proto::time::Instant;

use crate::action::Action;
use crate::breach::Breach;
use crate::fair::Fair;
use crate::machine::{self, Snapshot};
use crate::node::{EPOCH, Input, Node, Trouble};
use crate::notation;
use crate::outcome::Outcome;
use crate::report::{self, Exploration, Report, System};
use crate::scenario::{Faults, Scenario, Start, Timing};
use crate::sides::{self, Sides};
use crate::state::{FlyingFrame, Ring};
use crate::turn_cache::{TurnCache, TurnInput};

/// A ring with its scenario.
pub struct RingModel {
    scenario: Scenario,
    start: machine::Start,
    /// The progress and the time at the beginning.
    base: (u64, Instant),
    partitions: Vec<Sides>,
    cache: TurnCache<Node, Input, Outcome>,
}

/// Returns an exploration of all runs of `scenario` with state machines of type `M`.
pub fn exploration<M: Snapshot>(scenario: Scenario) -> Exploration<RingModel> {
    Exploration::of(RingModel::new(scenario, machine::start::<M>))
}

impl RingModel {
    fn new(scenario: Scenario, start: machine::Start) -> Self {
        let partitions = sides::all(scenario.nodes);
        let mut model = Self {
            scenario,
            start,
            base: (0, EPOCH),
            partitions,
            cache: TurnCache::default(),
        };
        let first = model.first();
        model.base = (first.progress(), first.time());
        model
    }

    /// Delivers a frame to its node.
    fn deliver(&self, ring: &mut Ring, frame: usize, stall: Duration, waited: bool, refused: bool) {
        let FlyingFrame { to, bytes, .. } = ring.frames.remove(frame);
        if !ring.nodes[to].can_receive() {
            return;
        }
        let age = if waited { stall } else { Duration::ZERO };
        let time = ring.present(to) + stall;
        self.give_input(ring, to, &Input::Frame(bytes, age), time, refused);
    }

    fn give_input(&self, ring: &mut Ring, at: usize, input: &Input, time: Instant, refused: bool) {
        let turn_input = TurnInput {
            at,
            node: Arc::clone(&ring.nodes[at]),
            input: input.clone(),
            time,
            refused,
        };
        let outcome = self.cache.outcome(turn_input, |turn_input| {
            let how = (turn_input.time, turn_input.refused);
            Outcome::of(&self.scenario, at, &turn_input.node, &turn_input.input, how)
        });
        let sent = ring.apply(&self.scenario, at, &outcome);
        ring.frames.extend(sent);
    }

    /// Fires those timeouts of a node that are due immediately. Most frames about named locks wait for such a timeout.
    /// Without this reduction, other events could happen first. The network can delay the sent frames in the same way.
    fn settle(&self, ring: &mut Ring, at: usize) {
        for _ in 0..TIMEOUTS_AT_ONCE_MAX {
            let node = &ring.nodes[at];
            let due = node.deadline().filter(|&due| due <= node.clock);
            let Some(due) = due.filter(|_| node.running && ring.breach.is_none()) else {
                return;
            };
            self.give_input(ring, at, &Input::TimeOut, due, false);
        }
        ring.breach.get_or_insert(Breach::Busy);
    }

    /// Whether the next event of the ring may be the timeout of this node.
    fn may_time_out(&self, ring: &Ring, at: usize) -> bool {
        let Some(due) = ring.nodes[at].deadline().filter(|_| ring.nodes[at].running) else {
            return false;
        };
        if self.scenario.in_order && !ring.frames.is_empty() {
            return false;
        }
        let Timing::Bounded { skew, delay } = self.scenario.timing else {
            return true;
        };
        let running = ring.nodes.iter().filter(|node| node.running);
        running
            .filter_map(|node| node.deadline())
            .all(|theirs| due <= theirs + skew)
            && ring.frames.iter().all(|frame| due <= frame.sent + delay)
    }

    /// Whether faults may still happen, and programs may take and release locks.
    fn is_active(&self, ring: &Ring) -> bool {
        let (_, began) = self.base;
        ring.time().since(began) <= self.scenario.locks.active
    }

    /// Returns the faults that may happen now.
    fn possible_faults(&self, ring: &Ring) -> Faults {
        if self.is_active(ring) {
            ring.left
        } else {
            Faults::NONE
        }
    }

    /// Adds the events of the oldest frame under way, in a scenario in which frames arrive in order.
    fn first_frame_actions(&self, ring: &Ring, actions: &mut Vec<Action>) {
        let Some(first) = ring.frames.first() else {
            return;
        };
        let (frame, refused) = (0, false);
        actions.push(Action::Deliver { frame, refused });
        let left = self.possible_faults(ring);
        if !ring.nodes[first.to].can_receive() {
            return;
        }
        if left.lost > 0 {
            actions.push(Action::Lose { frame });
        }
        if left.doubled > 0 {
            actions.push(Action::Double { frame });
        }
        if left.late > 0 && ring.frames.len() > 1 {
            actions.push(Action::Delay { frame });
        }
    }

    fn frame_actions(&self, ring: &Ring, actions: &mut Vec<Action>) {
        if self.scenario.in_order {
            return self.first_frame_actions(ring, actions);
        }
        let left = self.possible_faults(ring);
        for (frame, flying) in ring.frames.iter().enumerate() {
            if frame > 0 && ring.frames[frame - 1] == *flying {
                continue; // a duplicate of the frame before
            }
            if left.lost > 0 {
                actions.push(Action::Lose { frame });
            }
            if left.doubled > 0 {
                actions.push(Action::Double { frame });
            }
            if !ring.nodes[flying.to].can_receive() {
                continue;
            }
            let refused = false;
            actions.push(Action::Deliver { frame, refused });
            if left.refused > 0 {
                let refused = true;
                actions.push(Action::Deliver { frame, refused });
            }
            if left.stalls > 0 && self.scenario.timing == Timing::Free {
                actions.push(Action::Late {
                    frame,
                    waited: true,
                });
                actions.push(Action::Late {
                    frame,
                    waited: false,
                });
            }
            if left.misled > 0 && is_offer(&flying.bytes) {
                actions.push(Action::Mislead { frame });
            }
        }
    }

    fn node_actions(&self, ring: &Ring, at: usize, actions: &mut Vec<Action>) {
        let (node, mut left) = (&ring.nodes[at], self.possible_faults(ring));
        if !node.running {
            if !self.scenario.in_order {
                actions.push(Action::Begin { node: at });
            }
            return;
        }
        if self.may_time_out(ring, at) {
            for refused in [false, true] {
                if !refused || left.refused > 0 {
                    actions.push(Action::TimeOut { node: at, refused });
                }
            }
        }
        if left.crashes > 0 {
            actions.push(Action::Crash { node: at });
        }
        if left.restarts > 0 {
            actions.push(Action::Restart { node: at });
        }
        if !node.connected {
            actions.push(Action::Heal { node: at });
        } else if left.cuts > 0 {
            actions.push(Action::Cut { node: at });
        }
        if node.trouble.is_some() {
            actions.push(Action::Mend { node: at });
        } else {
            let possible = Trouble::ALL.into_iter();
            let possible = possible.filter(|&trouble| *left.troubles(trouble) > 0);
            actions.extend(possible.map(|trouble| Action::Trouble { node: at, trouble }));
        }
        if left.wants > 0 && !node.wants {
            actions.push(Action::Want { node: at });
        }
        if node.wants && node.machine.may_use() {
            actions.push(Action::Done { node: at });
        }
        if left.unlocks > 0 {
            let holders = node.programs.iter();
            let holders = holders.filter(|it| it.claim.is_some() && !it.is_orphan);
            let sessions = holders.map(|it| it.session);
            actions.extend(sessions.map(|session| Action::Unlock { node: at, session }));
        }
    }

    fn give_outside_input(&self, ring: &mut Ring, at: usize, input: &Input) {
        let time = ring.present(at);
        self.give_input(ring, at, input, time, false);
    }
}

/// The number by which the progress of a token grows when the token outbids a rival
/// (`docs/reference/lab2/passing.md P12` and `docs/reference/lab2/grades.md B4`).
const OUTBID_STEP: u64 = 1_024;

/// The maximum number of timeouts of a node that are due at once. In practice, a node needs fewer timeouts.
const TIMEOUTS_AT_ONCE_MAX: usize = 20;

/// Explores a scenario with state machines of type `M`.
///
/// # Panics
/// Panics if a state machine panics.
pub fn explore<M: Snapshot>(scenario: &Scenario, threads: usize) -> Report {
    report::run(
        RingModel::new(scenario.clone(), machine::start::<M>),
        threads,
    )
}

/// Explores a scenario with the real state machine, on one thread so that every run is the same.
pub fn explore_shipping(scenario: &Scenario) -> Report {
    explore::<Lab2>(scenario, 1)
}

impl System for RingModel {
    type State = Ring;
    type Action = Action;
    type Breach = Breach;

    const RECOVERS: &'static str =
        "after the faults there is one owner, tables are equal, and all members get the token";

    fn title(&self) -> String {
        self.scenario.to_string()
    }

    fn depth(&self) -> usize {
        self.scenario.bounds.depth
    }

    fn recovery_limit(&self) -> Duration {
        self.scenario.recovery_limit()
    }

    fn recover_one_in(&self) -> u64 {
        self.scenario.recover_one_in
    }

    fn first(&self) -> Ring {
        let mut ring = Ring::new(&self.scenario, self.start);
        if let Start::Parted(sides) = self.scenario.start {
            ring.sides = sides.to_vec();
        }
        if self.scenario.start != Start::Cold {
            match Fair::from(&self.scenario, &ring).form() {
                Ok(formed) => ring = formed,
                Err(breach) => ring.breach = Some(breach),
            }
        }
        ring
    }

    fn actions(&self, ring: &Ring, actions: &mut Vec<Action>) {
        self.frame_actions(ring, actions);
        for at in 0..ring.nodes.len() {
            self.node_actions(ring, at, actions);
        }
        let take = self.scenario.locks.takes.get(ring.locks.taken);
        if self.is_active(ring) && take.is_some_and(|take| ring.nodes[take.node].running) {
            actions.push(Action::TakeLock);
        }
        if self.possible_faults(ring).regroups > 0 {
            let others = self.partitions.iter().enumerate();
            let others = others.filter(|&(_, sides)| *sides != ring.sides);
            actions.extend(others.map(|(into, _)| Action::Regroup { into }));
        }
    }

    fn apply(&self, ring: &mut Ring, action: Action) {
        let command = |command| Input::Command(command);
        match action {
            Action::Deliver { frame, refused } => {
                ring.left.refused -= u8::from(refused);
                self.deliver(ring, frame, Duration::ZERO, false, refused);
            }
            Action::Late { frame, waited } => {
                ring.left.stalls -= 1;
                self.deliver(ring, frame, self.scenario.stall(), waited, false);
            }
            Action::Mislead { frame } => {
                ring.left.misled -= 1;
                mislead(ring, frame);
            }
            Action::Lose { frame } => {
                ring.left.lost -= 1;
                ring.frames.remove(frame);
            }
            Action::Double { frame } => {
                ring.left.doubled -= 1;
                let double = ring.frames[frame].clone();
                ring.frames.push(double);
            }
            Action::TimeOut { node, refused } => {
                ring.left.refused -= u8::from(refused);
                let due = ring.nodes[node].deadline().unwrap_or_default();
                self.give_input(ring, node, &Input::TimeOut, due, refused);
            }
            Action::Crash { node } => {
                ring.left.crashes -= 1;
                ring.nodes[node] = Arc::new(ring.nodes[node].after_crash(&self.scenario, node));
            }
            Action::Restart { node } => {
                ring.left.restarts -= 1;
                ring.nodes[node] = Arc::new(ring.nodes[node].after_crash(&self.scenario, node));
                self.give_outside_input(ring, node, &Input::Link(true));
            }
            Action::Delay { frame } => {
                ring.left.late -= 1;
                let late = ring.frames.remove(frame);
                ring.frames.push(late);
            }
            Action::Begin { node } | Action::Heal { node } => {
                self.give_outside_input(ring, node, &Input::Link(true));
            }
            Action::Cut { node } => {
                ring.left.cuts -= 1;
                self.give_outside_input(ring, node, &Input::Link(false));
            }
            Action::Want { node } => {
                ring.left.wants -= 1;
                self.give_outside_input(ring, node, &command(Command::WantToken));
            }
            Action::Done { node } => {
                self.give_outside_input(ring, node, &command(Command::WorkDone));
            }
            Action::TakeLock => {
                let take = self.scenario.locks.command(ring.locks.taken);
                ring.locks.taken += 1;
                if let Some((node, take)) = take {
                    self.give_outside_input(ring, node, &command(take));
                }
            }
            Action::Unlock { node, session } => {
                ring.left.unlocks -= 1;
                let release = Command::ReleaseLock(session);
                self.give_outside_input(ring, node, &command(release));
            }
            Action::Trouble { node, trouble } => {
                *ring.left.troubles(trouble) -= 1;
                let troubled = ring.nodes[node].with_trouble(trouble);
                ring.nodes[node] = Arc::new(troubled);
            }
            Action::Mend { node } => {
                let mended = ring.nodes[node].without_trouble();
                let has_news = mended.mtu != ring.nodes[node].mtu && mended.connected;
                ring.nodes[node] = Arc::new(mended);
                if has_news {
                    self.give_outside_input(ring, node, &Input::Link(true));
                }
            }
            Action::Regroup { into } => {
                ring.left.regroups -= 1;
                ring.sides.clone_from(&self.partitions[into]);
            }
        }
        if !self.scenario.locks.is_empty() {
            for at in 0..ring.nodes.len() {
                self.settle(ring, at);
            }
        }
        if !self.scenario.in_order {
            ring.frames.sort_unstable();
        }
    }

    fn breach(ring: &Ring) -> Option<&Breach> {
        ring.breach.as_ref()
    }

    fn recover(&self, ring: &Ring) -> Result<Duration, Breach> {
        Fair::from(&self.scenario, ring).recover()
    }

    fn is_within_bounds(&self, ring: &Ring) -> bool {
        let bounds = &self.scenario.bounds;
        let (progress, began) = self.base;
        let grown = ring.progress() - progress;
        // A token that outbids a rival grows by 1,024 at once.
        let steps = grown / OUTBID_STEP + grown % OUTBID_STEP;
        let in_time = ring.time().since(began) <= self.scenario.locks.lasts;
        in_time && ring.frames.len() <= bounds.frames && steps <= bounds.progress
    }

    fn describe(&self, ring: &Ring, action: Action) -> String {
        action.describe(ring)
    }
}

fn is_offer(bytes: &[u8]) -> bool {
    Frame::decode(bytes).is_ok_and(|frame| matches!(frame.message, Message::TakeToken { .. }))
}

/// Changes the destination of an offer to the broadcast address, and sends the offer to every node except its author.
fn mislead(ring: &mut Ring, frame: usize) {
    let FlyingFrame { bytes, sent, .. } = ring.frames.remove(frame);
    let Ok(offer) = Frame::decode(&bytes) else {
        return;
    };
    let mut buffer = [0; FRAME_LEN_MAX];
    let destination = MacAddr::BROADCAST;
    let to_all = Frame {
        destination,
        ..offer
    };
    let ethertype = ring_codec::lab2::ETHERTYPE;
    let len = to_all.encode(ethertype, &mut buffer).unwrap_or(0);
    let bytes: Arc<[u8]> = buffer[..len].into();
    let author = notation::place(offer.author);
    for to in (0..ring.nodes.len()).filter(|&to| to != author) {
        let bytes = Arc::clone(&bytes);
        ring.frames.push(FlyingFrame { to, bytes, sent });
    }
}
