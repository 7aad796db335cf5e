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
use crate::node::{Input, Node, Trouble};
use crate::notation;
use crate::outcome::Outcome;
use crate::report::{self, Exploration, Report, System};
use crate::scenario::{Scenario, Start, Timing};
use crate::sides::{self, Sides};
use crate::state::{FlyingFrame, Ring};
use crate::turn_cache::{TurnCache, TurnInput};

/// A ring with its scenario.
pub struct RingModel {
    scenario: Scenario,
    start: machine::Start,
    base: u64,
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
            base: 0,
            partitions,
            cache: TurnCache::default(),
        };
        model.base = model.first().progress();
        model
    }

    /// Delivers a frame to its node.
    fn deliver(&self, ring: &mut Ring, frame: usize, stall: Duration, waited: bool, refused: bool) {
        let FlyingFrame { to, bytes, .. } = ring.frames.remove(frame);
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

    /// Whether the next event of the ring may be the timeout of this node.
    fn may_time_out(&self, ring: &Ring, at: usize) -> bool {
        let Some(due) = ring.nodes[at].deadline().filter(|_| ring.nodes[at].running) else {
            return false;
        };
        let Timing::Bounded { skew, delay } = self.scenario.timing else {
            return true;
        };
        let running = ring.nodes.iter().filter(|node| node.running);
        running
            .filter_map(|node| node.deadline())
            .all(|theirs| due <= theirs + skew)
            && ring.frames.iter().all(|frame| due <= frame.sent + delay)
    }

    fn frame_actions(&self, ring: &Ring, actions: &mut Vec<Action>) {
        for (frame, flying) in ring.frames.iter().enumerate() {
            if frame > 0 && ring.frames[frame - 1] == *flying {
                continue; // a duplicate of the frame before
            }
            if ring.left.lost > 0 {
                actions.push(Action::Lose { frame });
            }
            if ring.left.doubled > 0 {
                actions.push(Action::Double { frame });
            }
            if !ring.nodes[flying.to].can_receive() {
                continue;
            }
            let refused = false;
            actions.push(Action::Deliver { frame, refused });
            if ring.left.refused > 0 {
                let refused = true;
                actions.push(Action::Deliver { frame, refused });
            }
            if ring.left.stalls > 0 && self.scenario.timing == Timing::Free {
                actions.push(Action::Late {
                    frame,
                    waited: true,
                });
                actions.push(Action::Late {
                    frame,
                    waited: false,
                });
            }
            if ring.left.misled > 0 && is_offer(&flying.bytes) {
                actions.push(Action::Mislead { frame });
            }
        }
    }

    fn node_actions(&self, ring: &Ring, at: usize, actions: &mut Vec<Action>) {
        let (node, left) = (&ring.nodes[at], &ring.left);
        if !node.running {
            actions.push(Action::Begin { node: at });
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
        if !node.connected {
            actions.push(Action::Heal { node: at });
        } else if left.cuts > 0 {
            actions.push(Action::Cut { node: at });
        }
        if node.trouble.is_some() {
            actions.push(Action::Mend { node: at });
        } else {
            let mut left = *left;
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
    }

    fn give_outside_input(&self, ring: &mut Ring, at: usize, input: &Input) {
        let time = ring.present(at);
        self.give_input(ring, at, input, time, false);
    }
}

/// The number by which the progress of a token grows when the token outbids a rival
/// (`docs/reference/lab2/passing.md P12` and `docs/reference/lab2/grades.md B4`).
const OUTBID_STEP: u64 = 1_024;

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
        if ring.left.regroups > 0 {
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
        ring.frames.sort_unstable();
    }

    fn breach(ring: &Ring) -> Option<&Breach> {
        ring.breach.as_ref()
    }

    fn recover(&self, ring: &Ring) -> Result<Duration, Breach> {
        Fair::from(&self.scenario, ring).recover()
    }

    fn is_within_bounds(&self, ring: &Ring) -> bool {
        let bounds = &self.scenario.bounds;
        let grown = ring.progress() - self.base;
        // A token that outbids a rival grows by 1,024 at once.
        let steps = grown / OUTBID_STEP + grown % OUTBID_STEP;
        ring.frames.len() <= bounds.frames && steps <= bounds.progress
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
