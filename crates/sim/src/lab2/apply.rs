//! Carries out what a plan says, and undoes it when the faults end.

use std::rc::Rc;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Kind, NO_IP};
use ring_proto::lab2::{Command, Constants, Durable};
use std::time::Duration;

use super::Subject;
use super::claim::claim;
use super::lease::is_orderly;
use super::node::BLANK;
use super::notation::{CARDS, card, ip};
use super::plan::{Fault, MTU, Schedule};
use super::ring::{Node, World};
use super::settings::FaultKind;
use crate::kernel::network::{Network, Weather};
use crate::kernel::schedule::Fault as _;

const MICRO: u64 = 1_000;
/// No daemon starts with a shorter HEART_BEAT_PERIOD.
const SHORTEST: Duration = Duration::from_millis(1);
/// Times that differ from the ring's by no more than this factor bind all members.
const NEAR: u16 = 10;
/// How long a node that has lost its state file stays down at least, in nanoseconds. Whatever was
/// offered to it before has been given up by then; else it could take the same token twice.
const FORGETTING: u64 = 2_000_000_000;

impl<M: Subject> World<M> {
    /// The world that a schedule begins with; its nodes start at once.
    pub fn of(schedule: &Schedule) -> Self {
        let mut world = Self::new(schedule.nodes, schedule.constants(), schedule.seed);
        let (least, spread) = schedule.latency_us;
        world.network = Network::new((least * MICRO, spread * MICRO));
        world.system.orderly = is_orderly(&schedule.actions);
        let is_replay = |fault: &Fault| matches!(fault, Fault::Replay { .. });
        world.network.captures = schedule.actions.iter().any(|act| is_replay(&act.fault));
        world.schedule(schedule.actions.as_slice().into());
        world
    }

    /// Carries out an action. What cannot be done just now, such as stopping a dead process, or
    /// names no node of this world, is not done.
    pub fn act(&mut self, fault: &Fault) {
        if !fault.is_among(self.nodes.len()) {
            return;
        }
        if let Some(record) = &mut self.system.record {
            record.acted(Duration::from_nanos(self.now), fault);
        }
        match *fault {
            Fault::Drop { .. }
            | Fault::Duplicate { .. }
            | Fault::Reorder { .. }
            | Fault::Delay { .. }
            | Fault::Corrupt { .. }
            | Fault::Cut { .. }
            | Fault::Mend { .. }
            | Fault::Narrow { .. }
            | Fault::Aside { .. }
            | Fault::Part { .. } => self.act_on_segment(fault),
            Fault::Replay { frames } => self.replay(frames),
            Fault::Stranger { frames } => self.hear_stranger(frames),
            Fault::Unresponsive {} => self.begin_asking(),
            Fault::Dead {
                first,
                count,
                spoke,
            } => self.tell_of_dead(first, count, spoke),
            Fault::Pause { node } => self.pause(node),
            Fault::Resume { node } => self.resume(node),
            Fault::Crash { node } => self.crash(node, FaultKind::Crash),
            Fault::Forget { node } => self.forget(node),
            Fault::Rollback { node } => self.roll_back(node),
            Fault::Start { node } => self.start_again(node),
            Fault::Constants {
                node,
                percent,
                expect,
            } => self.change_constants(node, percent, expect),
            Fault::Twin { node, of } => self.make_twin(node, of),
            Fault::Untwin { node } => self.part_twin(node),
            _ => self.act_on_node(fault),
        }
    }

    fn act_on_segment(&mut self, fault: &Fault) {
        let weather = &mut self.network.weather;
        match *fault {
            Fault::Drop { of_1000 } => weather.drop = of_1000,
            Fault::Duplicate { of_1000 } => weather.duplicate = of_1000,
            Fault::Reorder { of_1000, by_us } => {
                weather.reorder = of_1000;
                weather.reorder_by = by_us * MICRO;
            }
            Fault::Delay { by_us, jitter_us } => {
                weather.delay = by_us * MICRO;
                weather.jitter = jitter_us * MICRO;
            }
            Fault::Corrupt { of_1000 } => weather.corrupt = of_1000,
            Fault::Narrow { mtu } => weather.longest = (mtu < MTU).then_some(mtu.into()),
            Fault::Cut { from, to } => self.network.cuts.push((from, to)),
            Fault::Mend { from, to } => self.network.cuts.retain(|&cut| cut != (from, to)),
            Fault::Part { ref groups } => self.part(groups),
            Fault::Aside { node, aside } => self.set_aside(node, aside),
            _ => {}
        }
        self.network.look_up();
    }

    /// Cuts a node off from all others, or undoes all cuts between it and others.
    fn set_aside(&mut self, node: usize, aside: bool) {
        self.network
            .cuts
            .retain(|&(from, to)| from != node && to != node);
        if aside {
            self.system.met(FaultKind::Aside);
            let others = (0..self.nodes.len()).filter(|&other| other != node);
            let cuts = others.flat_map(|other| [(node, other), (other, node)]);
            self.network.cuts.extend(cuts);
        }
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each fault")]
    fn act_on_node(&mut self, fault: &Fault) {
        match *fault {
            Fault::Rate { node, millionths } => {
                self.system.met(FaultKind::Clock);
                self.set_rate(node, millionths);
            }
            Fault::Drift { node, millionths } => {
                self.system.met(FaultKind::Drift);
                self.drift(node, millionths);
            }
            Fault::Wall { node, by_us } => {
                self.system.met(FaultKind::Clock);
                self.system.checks.exempt.set_clock();
                self.nodes[node].clock.set_wall(by_us.saturating_mul(1_000));
            }
            Fault::Slow { node, turn_us } => {
                self.system.met(FaultKind::Slow);
                self.nodes[node].slow = turn_us * MICRO;
            }
            Fault::Refuse { node, of_1000 } => self.nodes[node].refuse = of_1000,
            Fault::Want {
                node,
                work_us,
                quorum,
            } => {
                self.system.met(FaultKind::Work);
                self.want_for(node, work_us * MICRO, quorum);
            }
            Fault::Once {
                node,
                job,
                quorum,
                work_us,
            } => {
                self.system.met(FaultKind::Once);
                self.send_on_errand(node, job, quorum, work_us * MICRO);
            }
            Fault::Data { node, len } => {
                self.system.met(FaultKind::Work);
                let byte = u8::try_from(len % 251).unwrap_or(0);
                self.command(node, Command::SetData(vec![byte; len.into()]));
            }
            Fault::Leave { node } => {
                self.system.met(FaultKind::Leave);
                self.nodes[node].own.leaving |= self.nodes[node].is_running();
                self.command(node, Command::ShutDown);
            }
            Fault::Address { node, ip: number } => {
                self.system.met(FaultKind::Address);
                self.nodes[node].own.ip = match number {
                    0 => NO_IP,
                    _ => ip(node, number),
                };
                self.look_at_link(node);
            }
            Fault::Yield { node, to } => {
                self.system.met(FaultKind::Yield);
                let to = (to != node).then_some(self.nodes[to].own.mac);
                self.command(node, Command::Yield(to));
            }
            Fault::HoldOff { node } => {
                self.system.met(FaultKind::HoldOff);
                self.nodes[node].own.held_off = true;
                self.command(node, Command::Pause(true));
            }
            Fault::HoldAgain { node } => {
                self.nodes[node].own.held_off &= !self.nodes[node].is_running();
                self.command(node, Command::Pause(false));
            }
            Fault::Unplug { node } => {
                self.system.met(FaultKind::Link);
                self.plug(node, false);
            }
            Fault::Plug { node } => self.plug(node, true),
            Fault::Deaf { node, deaf } => self.nodes[node].deaf = deaf,
            Fault::Broadcast { node, lost } => self.nodes[node].broadcasts_lost = lost,
            Fault::Unicast {
                node,
                sent,
                received,
                refused,
            } => {
                self.nodes[node].unicast_lost = (sent, received);
                self.nodes[node].unicast_refused = refused;
            }
            Fault::Disk { node, full } => {
                if full {
                    self.system.met(FaultKind::Disk);
                }
                self.nodes[node].disk_full = full;
            }
            Fault::Mtu { node, mtu } => {
                self.system.met(FaultKind::Mtu);
                self.nodes[node].mtu = mtu.into();
                self.look_at_link(node);
            }
            Fault::Card { node, card } => {
                self.system.met(FaultKind::Card);
                self.change_card(node, card);
            }
            _ => {}
        }
    }

    fn crash(&mut self, at: usize, kind: FaultKind) {
        if self.nodes[at].driver.is_some() {
            self.system.met(kind);
            self.kill(at);
        }
    }

    /// A clock's rate is off by more than the promises count on: they are void until one of their lives after it
    /// is right again.
    fn drift(&mut self, at: usize, millionths: i32) {
        self.set_rate(at, millionths);
        self.system.checks.exempt.drift(at, millionths != 0);
        self.system.void_promises_from(self.now);
    }

    /// The process dies, and its state file with it. It cannot be started again for 2 s.
    pub fn forget(&mut self, at: usize) {
        self.crash(at, FaultKind::Forget);
        self.lose_state(at, BLANK);
    }

    /// The machine loses its power: what was written last is not on the disk. Nothing is synced while the ring runs.
    fn roll_back(&mut self, at: usize) {
        self.crash(at, FaultKind::Rollback);
        let synced = self.nodes[at].own.synced;
        self.lose_state(at, synced);
    }

    fn lose_state(&mut self, at: usize, left: Durable) {
        let node = &mut self.nodes[at];
        let last = node.own.durable.my_token_number;
        node.own.durable = left;
        node.own.synced = left;
        node.own.stamps.clear();
        // What it held before is forgotten: that its tenures grow is kept by the state file, or,
        // if the clocks are right, by the clock floor of what it generates.
        node.own.last_held = None;
        node.own.down_until = self.now + FORGETTING;
        // It forgets what it did under whatever address.
        for number in 0..CARDS {
            self.system.checks.exempt.forget(card(at, number), last);
        }
        let mac = self.nodes[at].own.mac;
        self.system.checks.exempt.forget(mac, last);
    }

    /// Starts the process if it is dead, and has been for long enough.
    fn start_again(&mut self, at: usize) {
        if self.now >= self.nodes[at].own.down_until {
            self.start(at);
        }
    }

    /// The process is started anew with a heartbeat of so many hundredths of the ring's, and perhaps told of
    /// another number of members. A dead
    /// one is started with it some time.
    fn change_constants(&mut self, at: usize, percent: u16, expect: Option<usize>) {
        let ring = &self.system.constants;
        // Of two that are told too low a number each would believe the other.
        let others = self.nodes.iter().enumerate().filter(|&(of, _)| of != at);
        let agree = |(_, node): (usize, &Node<M>)| node.own.constants.expect == ring.expect;
        let told = others.into_iter().all(agree);
        let expect = expect.filter(|&expect| told && expect <= ring.max_members);
        // If the times of several were far from the ring's they might be the ring's.
        let others = self.nodes.iter().enumerate().filter(|&(of, _)| of != at);
        let is_far = |(_, node): (usize, &Node<M>)| {
            let (theirs, ring) = (node.own.constants.heartbeat, ring.heartbeat);
            theirs > ring * u32::from(NEAR) || ring > theirs * u32::from(NEAR)
        };
        let percent = if others.into_iter().any(is_far) {
            percent.clamp(100 / NEAR, 100 * NEAR)
        } else {
            percent
        };
        let constants = if percent == 100 && expect.is_none() {
            Rc::clone(ring)
        } else {
            self.system.stats.note_met(FaultKind::Constants);
            let heartbeat = (ring.heartbeat * u32::from(percent) / 100).max(SHORTEST);
            Rc::new(Constants {
                max_members: ring.max_members,
                expect: expect.or(ring.expect),
                forget: ring.forget,
                ..Constants::for_heartbeat(heartbeat)
            })
        };
        self.system.slowest = self.system.slowest.max(constants.waiter_timeout());
        let was_there = self.nodes[at].driver.is_some();
        self.kill(at);
        if self.nodes[at].own.constants.waiter_timeout() > constants.waiter_timeout() {
            self.system.void_promises_from(self.now);
        }
        self.nodes[at].own.constants = constants;
        if was_there {
            self.start(at);
        }
    }

    /// The node gets the address of another.
    fn make_twin(&mut self, at: usize, of: usize) {
        if at == of {
            return;
        }
        self.system.met(FaultKind::Twin);
        self.part_twin(at);
        self.system.twins.push((at, of));
        let shared = self.own_mac(of);
        self.system.checks.exempt.share(shared);
        self.change_mac(at, shared);
    }

    /// The address of the node's own network card.
    fn own_mac(&self, at: usize) -> MacAddr {
        card(at, self.nodes[at].own.card)
    }

    /// What has shared the old address, or is shared with it, does so no more.
    fn change_card(&mut self, at: usize, card: u8) {
        let with = |&(twin, of): &(usize, usize)| (of == at).then_some(twin);
        let twins: Vec<_> = self.system.twins.iter().filter_map(with).collect();
        for twin in twins.into_iter().chain([at]) {
            self.part_twin(twin);
        }
        self.nodes[at].own.card = card;
        // A node that was told too low a number learns the ring's from others. This one says LEAVING now, and what
        // it said no longer counts, but its promise does.
        let ring = self.system.constants.expect;
        let is_misled = |node: &Node<M>| node.own.constants.expect != ring;
        if self.nodes.iter().any(is_misled) {
            self.system.void_promises_from(self.now);
        }
        self.change_mac(at, self.own_mac(at));
    }

    fn plug(&mut self, at: usize, plugged: bool) {
        if self.nodes[at].unplugged == plugged {
            self.nodes[at].unplugged = !plugged;
            self.look_at_link(at);
        }
    }

    fn part_twin(&mut self, at: usize) {
        let before = self.system.twins.len();
        self.system.twins.retain(|&(twin, _)| twin != at);
        if self.system.twins.len() < before {
            self.system.void_promises_from(self.now);
            self.change_mac(at, self.own_mac(at));
        }
    }

    fn change_mac(&mut self, at: usize, mac: MacAddr) {
        self.nodes[at].own.mac = mac;
        self.look_at_link(at);
    }

    /// Frames that were captured earlier are sent again as they are.
    fn replay(&mut self, frames: u16) {
        for _ in 0..frames {
            if self.network.captured.is_empty() {
                return;
            }
            let at = self.rng.index(self.network.captured.len());
            let bytes = self.network.captured[at].bytes.clone();
            let Ok(frame) = Frame::decode(&bytes) else {
                continue;
            };
            let to = frame.destination;
            self.system.met(FaultKind::Replay);
            if let Some((kind, token)) = claim(&bytes)
                && kind == Kind::TakeToken as usize
            {
                self.system.checks.exempt.offer_again(to, &token);
            }
            self.inject((), to, bytes);
        }
    }

    /// Undoes all that the faults have done. Nodes that are dead are started again unless they are
    /// to stay so; but if nobody were left, all are.
    pub(super) fn end_faults(&mut self, stay_dead: &[usize]) {
        self.network.cuts.clear();
        self.network.weather = Weather::default();
        self.part(&[]);
        let alive =
            |world: &Self, at: usize| world.nodes[at].driver.is_some() || !stay_dead.contains(&at);
        let anybody = (0..self.nodes.len()).any(|at| alive(self, at));
        for at in 0..self.nodes.len() {
            self.nodes[at].refuse = 0;
            self.nodes[at].slow = 0;
            if self.system.checks.exempt.drifts(at) {
                self.drift(at, 0);
            }
            self.nodes[at].deaf = false;
            self.nodes[at].broadcasts_lost = false;
            self.nodes[at].unicast_lost = (false, false);
            self.nodes[at].unicast_refused = false;
            self.nodes[at].disk_full = false;
            self.resume(at);
            self.part_twin(at);
            self.plug(at, true);
            // What a node has found out itself, it finds out itself to be over.
            if self.nodes[at].own.held_off {
                self.command(at, Command::Pause(false));
            }
            // Nobody waits for a quorum that may never come again.
            self.give_up_errand(at);
            if self.nodes[at].own.leaving {
                self.kill(at);
            }
            if !Rc::ptr_eq(&self.nodes[at].own.constants, &self.system.constants) {
                self.change_constants(at, 100, None);
            }
        }
        let wakes = self.nodes.iter().map(|node| node.own.down_until).max();
        if let Some(wait) = wakes.and_then(|at| at.checked_sub(self.now)) {
            self.run(Duration::from_nanos(wait));
        }
        for at in 0..self.nodes.len() {
            if !anybody || alive(self, at) {
                self.start(at);
            }
        }
    }
}
