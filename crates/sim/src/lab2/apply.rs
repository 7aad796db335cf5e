//! Applies the faults and actions of a schedule, and undoes them when the faults end.

use std::rc::Rc;

use ring_codec::MacAddr;
use ring_codec::lab2::{Frame, Kind, NO_IP};
use ring_proto::lab2::{Command, Constants, Pause, StoredState};
use std::time::Duration;

use super::Inspect;
use super::frame_token::token_of;
use super::lease::is_orderly;
use super::named_locks::LockOptions;
use super::node::EMPTY_STATE;
use super::notation::{CARDS, card, ip};
use super::schedule::{Fault, MTU, Schedule};
use super::settings::FaultKind;
use super::system::{Node, World};
use crate::kernel::conditions::{Network, NetworkConditions};
use crate::kernel::keys::NodeKeys;
use crate::kernel::schedule::FaultFields as _;

const NANOS_PER_MICRO: u64 = 1_000;
/// The shortest HEART_BEAT_PERIOD with which a daemon starts.
const HEARTBEAT_MIN: Duration = Duration::from_millis(1);
/// If a node's times differ from the ring's times by at most this factor, all members take the node's times into
/// account.
const NEAR_FACTOR: u16 = 10;
/// The minimum downtime, in nanoseconds, of a node that has lost its state file. During this downtime, all givers give
/// up their earlier offers to the node. Without this downtime, the node could accept the same token twice.
const FORGET_DOWNTIME_MIN: u64 = 2_000_000_000;

impl<M: Inspect> World<M> {
    /// Creates the simulation of a schedule; its nodes are not started.
    pub fn of(schedule: &Schedule) -> Self {
        let mut sim = Self::new(schedule.nodes, schedule.constants(), schedule.seed);
        for (node, &preference) in sim.nodes.iter_mut().zip(&schedule.preferences) {
            node.own.preference = preference;
        }
        let (least, spread) = schedule.latency_us;
        sim.network = Network::new((least * NANOS_PER_MICRO, spread * NANOS_PER_MICRO));
        sim.system.orderly = is_orderly(schedule);
        let is_replay = |fault: &Fault| matches!(fault, Fault::Replay { .. });
        sim.network.captures = schedule.actions.iter().any(|act| is_replay(&act.fault));
        sim.set_first_keys(&schedule.keys);
        if (schedule.actions.iter()).any(|action| matches!(action.fault, Fault::Attack { .. })) {
            sim.start_recording();
        }
        sim.schedule(schedule.actions.as_slice().into());
        sim
    }

    /// Applies an action. Ignores an action that is impossible, such as stalling a dead process, and an action that
    /// names an unknown node.
    pub fn act(&mut self, fault: &Fault) {
        if !fault.is_among(self.nodes.len()) {
            return;
        }
        if let Some(recorder) = &mut self.system.recorder {
            recorder.on_action(Duration::from_nanos(self.now), fault);
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
            | Fault::Part { .. } => self.apply_segment_fault(fault),
            Fault::Replay { frames } => self.replay(frames),
            Fault::Stranger { frames } => self.send_stranger_frames(frames),
            Fault::Attack { frames, over_us } => {
                self.begin_attack(frames, over_us * NANOS_PER_MICRO);
            }
            Fault::Unresponsive {} => self.start_unresponsive_station(),
            Fault::Dead {
                first,
                count,
                spoke,
            } => self.introduce_dead_stations(first, count, spoke),
            Fault::Pause { node } => self.pause(node),
            Fault::Resume { node } => self.resume(node),
            Fault::Crash {
                node,
                guardian_us: None,
                ..
            } => self.crash(node, FaultKind::Crash),
            Fault::Crash {
                node,
                guardian_us: Some(delay),
                ended_us,
            } => {
                let ended = ended_us.map(|ended| ended * NANOS_PER_MICRO);
                self.crash_with_guardian(node, delay * NANOS_PER_MICRO, ended);
            }
            Fault::Forget { node } => self.forget(node),
            Fault::Rollback { node } => self.roll_back(node),
            Fault::Start { node } => self.start_again(node),
            Fault::Constants {
                node,
                percent,
                expect,
            } => self.change_constants(node, percent, expect),
            Fault::Twin { node, of } => self.make_twin(node, of),
            Fault::Untwin { node } => self.end_twin(node),
            _ => self.apply_node_fault(fault),
        }
    }

    fn apply_segment_fault(&mut self, fault: &Fault) {
        let conditions = &mut self.network.conditions;
        match *fault {
            Fault::Drop { of_1000 } => conditions.drop = of_1000,
            Fault::Duplicate { of_1000 } => conditions.duplicate = of_1000,
            Fault::Reorder { of_1000, by_us } => {
                conditions.reorder = of_1000;
                conditions.reorder_by = by_us * NANOS_PER_MICRO;
            }
            Fault::Delay { by_us, jitter_us } => {
                conditions.delay = by_us * NANOS_PER_MICRO;
                conditions.jitter = jitter_us * NANOS_PER_MICRO;
            }
            Fault::Corrupt { of_1000 } => conditions.corrupt = of_1000,
            Fault::Narrow { mtu } => conditions.longest = (mtu < MTU).then_some(mtu.into()),
            Fault::Cut { from, to } => self.network.cuts.push((from, to)),
            Fault::Mend { from, to } => self.network.cuts.retain(|&cut| cut != (from, to)),
            Fault::Part { ref groups } => self.part(groups),
            Fault::Aside { node, aside } => self.cut_off(node, aside),
            _ => {}
        }
        self.network.update_clear();
    }

    /// Cuts a node off from all other nodes, or undoes all cuts of the node.
    fn cut_off(&mut self, node: usize, aside: bool) {
        self.network
            .cuts
            .retain(|&(from, to)| from != node && to != node);
        if aside {
            self.system.count_fault(FaultKind::Aside);
            let others = (0..self.nodes.len()).filter(|&other| other != node);
            let cuts = others.flat_map(|other| [(node, other), (other, node)]);
            self.network.cuts.extend(cuts);
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each fault")]
    fn apply_node_fault(&mut self, fault: &Fault) {
        match *fault {
            Fault::Rate { node, millionths } => {
                self.system.count_fault(FaultKind::Clock);
                self.set_rate(node, millionths);
            }
            Fault::Drift { node, millionths } => {
                self.system.count_fault(FaultKind::Drift);
                self.set_drift(node, millionths);
            }
            Fault::Wall { node, by_us } => {
                self.system.count_fault(FaultKind::Clock);
                self.system.checks.exemptions.on_clock_set();
                self.nodes[node].clock.set_wall(by_us.saturating_mul(1_000));
            }
            Fault::Slow { node, turn_us } => {
                self.system.count_fault(FaultKind::Slow);
                self.nodes[node].slow = turn_us * NANOS_PER_MICRO;
            }
            Fault::Refuse { node, of_1000 } => self.nodes[node].refuse = of_1000,
            Fault::Want {
                node,
                work_us,
                quorum,
            } => {
                self.system.count_fault(FaultKind::Work);
                self.want_token(node, work_us * NANOS_PER_MICRO, quorum);
            }
            Fault::Once {
                node,
                job,
                quorum,
                work_us,
            } => {
                self.system.count_fault(FaultKind::Once);
                self.start_job_run(node, job, quorum, work_us * NANOS_PER_MICRO);
            }
            Fault::Lock {
                node,
                name,
                shared,
                quorum,
                work_us,
                stubborn,
                repeats,
            } => {
                self.system.count_fault(FaultKind::Lock);
                let work = work_us * NANOS_PER_MICRO;
                let lock = LockOptions {
                    name,
                    shared,
                    quorum,
                    work,
                    stubborn,
                    repeats,
                };
                self.take_lock(node, lock);
            }
            Fault::Survey {
                node,
                probes,
                span_us,
            } => {
                self.system.count_fault(FaultKind::Survey);
                let span = Duration::from_micros(span_us);
                self.survey(node, (probes > 0).then_some((probes, span)));
            }
            Fault::Data { node, len } => {
                self.system.count_fault(FaultKind::Work);
                let byte = u8::try_from(len % 251).unwrap_or(0);
                self.command(node, Command::SetData(vec![byte; len.into()]));
            }
            Fault::Leave { node } => {
                self.system.count_fault(FaultKind::Leave);
                self.nodes[node].own.leaving |= self.nodes[node].is_running();
                self.command(node, Command::ShutDown);
            }
            Fault::Address { node, ip: number } => {
                self.system.count_fault(FaultKind::Address);
                self.nodes[node].own.ip = match number {
                    0 => NO_IP,
                    _ => ip(node, number),
                };
                self.report_link(node);
            }
            Fault::Yield { node, to } => {
                self.system.count_fault(FaultKind::Yield);
                let to = (to != node).then_some(self.nodes[to].own.mac);
                self.command(node, Command::Yield(to));
            }
            Fault::HoldOff { node } => {
                self.system.count_fault(FaultKind::HoldOff);
                self.nodes[node].own.held_off = true;
                self.command(node, Command::Pause(Some(Pause::PLAIN)));
            }
            Fault::HoldAgain { node } => {
                self.nodes[node].own.held_off &= !self.nodes[node].is_running();
                self.command(node, Command::Pause(None));
            }
            Fault::Unplug { node } => {
                self.system.count_fault(FaultKind::Link);
                self.set_plugged(node, false);
            }
            Fault::Plug { node } => self.set_plugged(node, true),
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
                    self.system.count_fault(FaultKind::Disk);
                }
                self.nodes[node].disk_full = full;
            }
            Fault::Mtu { node, mtu } => {
                self.system.count_fault(FaultKind::Mtu);
                self.nodes[node].mtu = mtu.into();
                self.report_link(node);
            }
            Fault::Keys { node, ref keys } => self.change_keys(node, keys),
            Fault::Card { node, card } => {
                self.system.count_fault(FaultKind::Card);
                self.change_card(node, card);
            }
            _ => {}
        }
    }

    /// Changes the keys of a node. A node that does not sign can send longer payloads.
    fn change_keys(&mut self, at: usize, keys: &NodeKeys) {
        if self.set_keys(at, keys) {
            self.report_link(at);
        }
    }

    pub(super) fn crash(&mut self, at: usize, kind: FaultKind) {
        if self.nodes[at].driver.is_some() {
            self.system.count_fault(kind);
            self.kill(at);
        }
    }

    /// Sets a clock rate that is worse than the promises allow. When the rate is right again, the promises stay void
    /// until the slowest node's promises expire.
    fn set_drift(&mut self, at: usize, millionths: i32) {
        self.set_rate(at, millionths);
        self.system
            .checks
            .exemptions
            .set_drifting(at, millionths != 0);
        self.system.void_promises_from(self.now);
    }

    /// Kills the process and deletes its state file. The process cannot start for 2 s.
    pub fn forget(&mut self, at: usize) {
        self.crash(at, FaultKind::Forget);
        self.lose_state(at, EMPTY_STATE);
    }

    /// Cuts the power. The last writes are not on the disk, because a running node does not sync its file.
    fn roll_back(&mut self, at: usize) {
        self.crash(at, FaultKind::Rollback);
        let synced = self.nodes[at].own.synced;
        self.lose_state(at, synced);
    }

    fn lose_state(&mut self, at: usize, left: StoredState) {
        let node = &mut self.nodes[at];
        let last = node.own.durable.my_token_number;
        node.own.durable = left;
        node.own.synced = left;
        node.own.stamps.clear();
        // The guardian offers only a token that is stored.
        node.own.last_frames = None;
        // Forgets the earlier tenures. Tokens are certain to grow because of the state file, or because of a created
        // token's clock floor if the clocks are right.
        node.own.last_held = None;
        node.own.down_until = self.now + FORGET_DOWNTIME_MIN;
        // The node forgets its chains under each of its addresses.
        for number in 0..CARDS {
            self.system
                .checks
                .exemptions
                .on_state_lost(card(at, number), last);
        }
        let mac = self.nodes[at].own.mac;
        self.system.checks.exemptions.on_state_lost(mac, last);
    }

    /// Starts the process if it is dead and its minimum downtime has passed.
    fn start_again(&mut self, at: usize) {
        if self.now >= self.nodes[at].own.down_until {
            self.start(at);
        }
    }

    /// Restarts the process with `percent` % of the ring's heartbeat, and perhaps with a different `--ring-size`. A
    /// dead process is started with these options later.
    fn change_constants(&mut self, at: usize, percent: u16, expect: Option<usize>) {
        let ring = &self.system.constants;
        // At most one node may expect too few members, because two such nodes would believe each other.
        let others = self.nodes.iter().enumerate().filter(|&(of, _)| of != at);
        let agree = |(_, node): (usize, &Node<M>)| node.own.constants.expect == ring.expect;
        let told = others.into_iter().all(agree);
        let expect = expect.filter(|&expect| told && expect <= ring.max_members);
        // Only one node's times may differ much from the ring's times, because the times of several such nodes could
        // count as the ring's times.
        let others = self.nodes.iter().enumerate().filter(|&(of, _)| of != at);
        let is_far = |(_, node): (usize, &Node<M>)| {
            let (theirs, ring) = (node.own.constants.heartbeat, ring.heartbeat);
            theirs > ring * u32::from(NEAR_FACTOR) || ring > theirs * u32::from(NEAR_FACTOR)
        };
        let percent = if others.into_iter().any(is_far) {
            percent.clamp(100 / NEAR_FACTOR, 100 * NEAR_FACTOR)
        } else {
            percent
        };
        let constants = if percent == 100 && expect.is_none() {
            Rc::clone(ring)
        } else {
            self.system.stats.count_fault(FaultKind::Constants);
            let heartbeat = (ring.heartbeat * u32::from(percent) / 100).max(HEARTBEAT_MIN);
            Rc::new(Constants {
                max_members: ring.max_members,
                expect: expect.or(ring.expect),
                forget: ring.forget,
                ..Constants::for_heartbeat(heartbeat)
            })
        };
        // The promises of this node last for its WAITER_TIMEOUT, which may be longer than the ring's.
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

    /// Gives the node the address of another node.
    fn make_twin(&mut self, at: usize, of: usize) {
        if at == of {
            return;
        }
        self.system.count_fault(FaultKind::Twin);
        self.end_twin(at);
        self.system.twins.push((at, of));
        let shared = self.own_mac(of);
        self.system.checks.exemptions.on_address_shared(shared);
        self.set_mac(at, shared);
    }

    /// Returns the address of the node's own network card.
    fn own_mac(&self, at: usize) -> MacAddr {
        card(at, self.nodes[at].own.card)
    }

    /// Changes the network card. If other nodes share the node's old address, or the node shares the address of another
    /// node, the sharing ends.
    fn change_card(&mut self, at: usize, card: u8) {
        let with = |&(twin, of): &(usize, usize)| (of == at).then_some(twin);
        let twins: Vec<_> = self.system.twins.iter().filter_map(with).collect();
        for twin in twins.into_iter().chain([at]) {
            self.end_twin(twin);
        }
        self.nodes[at].own.card = card;
        // A node that expects too few members learns the ring's number from other members. This node sends LEAVING.
        // After the LEAVING, the number of this node no longer counts, but its promise still counts.
        let ring = self.system.constants.expect;
        let is_misled = |node: &Node<M>| node.own.constants.expect != ring;
        if self.nodes.iter().any(is_misled) {
            self.system.void_promises_from(self.now);
        }
        self.set_mac(at, self.own_mac(at));
    }

    fn set_plugged(&mut self, at: usize, plugged: bool) {
        if self.nodes[at].unplugged == plugged {
            self.nodes[at].unplugged = !plugged;
            self.report_link(at);
        }
    }

    fn end_twin(&mut self, at: usize) {
        let before = self.system.twins.len();
        self.system.twins.retain(|&(twin, _)| twin != at);
        if self.system.twins.len() < before {
            self.system.void_promises_from(self.now);
            self.set_mac(at, self.own_mac(at));
        }
    }

    fn set_mac(&mut self, at: usize, mac: MacAddr) {
        self.nodes[at].own.mac = mac;
        self.report_link(at);
    }

    /// Sends frames again that were captured before.
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
            self.system.count_fault(FaultKind::Replay);
            if let Some((kind, token)) = token_of(&bytes)
                && kind == Kind::TakeToken as usize
            {
                self.system.checks.exemptions.on_offer_replayed(to, &token);
            }
            self.inject((), to, bytes);
        }
    }

    /// Undoes all faults. Dead nodes start again, except the nodes in `stay_dead`. If no node would be alive, all nodes
    /// start.
    pub(super) fn end_faults(&mut self, stay_dead: &[usize]) {
        self.network.cuts.clear();
        self.network.conditions = NetworkConditions::default();
        self.part(&[]);
        let alive =
            |sim: &Self, at: usize| sim.nodes[at].driver.is_some() || !stay_dead.contains(&at);
        let anybody = (0..self.nodes.len()).any(|at| alive(self, at));
        for at in 0..self.nodes.len() {
            self.nodes[at].refuse = 0;
            self.nodes[at].slow = 0;
            if self.system.checks.exemptions.is_drifting(at) {
                self.set_drift(at, 0);
            }
            self.nodes[at].deaf = false;
            self.nodes[at].broadcasts_lost = false;
            self.nodes[at].unicast_lost = (false, false);
            self.nodes[at].unicast_refused = false;
            self.nodes[at].disk_full = false;
            self.resume(at);
            self.end_twin(at);
            self.set_plugged(at, true);
            // Nodes get no message about the end of the faults: they must notice it.
            if self.nodes[at].own.held_off {
                self.command(at, Command::Pause(None));
            }
            // The job run may wait for a quorum that never comes again.
            self.cancel_job_run(at);
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
