//! Generates a run's schedule from its seed.

use ring_proto::time::nanos;
use ring_trust::TRAILER_LEN;

use super::notation::CARDS;
use super::schedule::{
    Action, Fault, MAX_DRIFT, MIN_MTU, MTU, NARROW_MTU_MIN, SMALL_MTU, Schedule, default_forget_us,
    default_heartbeat_us, default_take_attempts, default_take_timeout_us,
};
use super::settings::{FaultKind, Settings};
use crate::kernel::keys::{KeyPlan, NodeKeys};
use crate::kernel::rng::{Rng, Stream};
use crate::kernel::schedule::FaultFields as _;

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;
/// The minimum downtime of a node that loses its state file. Within this time, the givers give up every earlier offer
/// to the node, for all constants that a run can have. Without this wait, the node could accept the same token twice.
const FORGET_DOWNTIME_MIN: u64 = 2 * SECOND;

impl Schedule {
    /// Generates the schedule of these settings.
    pub fn of(settings: &Settings) -> Self {
        let mut generator = Generator {
            rng: Rng::new(settings.seed, Stream::Plan),
            nodes: settings.nodes.max(1),
            time: nanos(settings.time) / 1_000,
            actions: Vec::new(),
            some_spoke: false,
        };
        let hold = generator.draw_idle_hold();
        let hold = settings
            .idle_hold
            .map_or(hold, |given| nanos(given) / 1_000);
        let latency = generator.draw_latency(hold);
        let kinds: Vec<_> = settings.faults.iter().collect();
        let mut met = Vec::new();
        let is_first = |kind: &&FaultKind| {
            use FaultKind::{Attack, Guardian, Keys, Lock, Survey};
            !matches!(kind, Lock | Survey | Keys | Attack | Guardian)
        };
        for &kind in kinds.iter().filter(is_first) {
            // Some runs have only half of the kinds of fault, because some effects stay hidden if all kinds occur
            // together.
            if kinds.len() < 4 || generator.rng.chance(500) {
                generator.add_episodes(kind);
                met.push(kind);
            }
        }
        let stay_dead = generator.draw_nodes(250);
        // Options come from a second random sequence. So the faults of a seed do not change when options are added.
        let mut rng = Rng::new(settings.seed, Stream::System);
        let (take_timeout_us, take_attempts) = draw_offer_times(&mut rng);
        let forget_us = rng.pick(&[
            15 * SECOND,
            30 * SECOND,
            default_forget_us(),
            default_forget_us(),
        ]);
        let lasting = draw_lasting_fault(&mut rng, generator.nodes, &met);
        let mut times = RingTimes {
            idle_hold_us: hold,
            heartbeat_us: default_heartbeat_us(),
            take_timeout_us,
            forget_us,
            latency_us: latency,
        };
        if rng.chance(250) {
            times.make_quick();
        }
        let preferences = draw_preferences(&mut rng, generator.nodes);
        // With preferences, an owner rests until it hears a request. With a lasting fault, it may never hear one, so
        // such runs have no preferences.
        let preferences = if lasting.is_some() {
            Vec::new()
        } else {
            preferences
        };
        if kinds.contains(&FaultKind::Lock) {
            // The locks have a separate sequence, so they do not change the other faults of a seed.
            generator.rng = Rng::new(settings.seed, Stream::Added);
            if kinds.len() < 4 || generator.rng.chance(500) {
                generator.add_lock_episodes(&met);
            }
        }
        if kinds.contains(&FaultKind::Survey) && (kinds.len() < 4 || generator.rng.chance(500)) {
            generator.add_episodes(FaultKind::Survey);
        }
        let keys = generator.add_keys(settings, &kinds);
        if kinds.contains(&FaultKind::Guardian) {
            // The guardians have a separate sequence, so they do not change the other faults of a seed.
            generator.rng = Rng::new(settings.seed, Stream::Guardians);
            if kinds.len() < 4 || generator.rng.chance(500) {
                generator.add_episodes(FaultKind::Guardian);
            }
        }
        generator.actions.sort_by_key(|action| action.at_us);
        Self {
            about: String::new(),
            seed: settings.seed,
            nodes: generator.nodes,
            time_us: generator.time,
            idle_hold_us: times.idle_hold_us,
            heartbeat_us: times.heartbeat_us,
            take_timeout_us: times.take_timeout_us,
            take_attempts,
            forget_us: times.forget_us,
            preferences,
            keys,
            latency_us: times.latency_us,
            stay_dead,
            lasting,
            actions: generator.actions,
        }
    }
}

/// Those constants of a ring that are times, and the latency of the network.
#[expect(
    clippy::struct_field_names,
    reason = "as a schedule's file has them, with their unit"
)]
struct RingTimes {
    idle_hold_us: u64,
    heartbeat_us: u64,
    take_timeout_us: u64,
    forget_us: u64,
    latency_us: (u64, u64),
}

/// The factor by which the times of a quick ring are shorter than the default times. In a quick ring, a member is
/// silent after 3.2 s and forgotten after 4 s. So even the shortest runs have members that become silent and are
/// forgotten.
const QUICK_FACTOR: u64 = 4;

impl RingTimes {
    fn make_quick(&mut self) {
        self.heartbeat_us /= QUICK_FACTOR;
        self.take_timeout_us /= QUICK_FACTOR;
        self.forget_us = 4 * SECOND;
        // The latency is so short that an answer still comes within TAKE_TIMEOUT.
        let (least, most) = self.latency_us;
        self.latency_us = (least / QUICK_FACTOR, most / QUICK_FACTOR);
        self.idle_hold_us = self.idle_hold_us.min(self.heartbeat_us);
    }
}

/// Draws the preferences of the nodes. In most runs, no node has a preference.
fn draw_preferences(rng: &mut Rng, nodes: usize) -> Vec<u8> {
    if rng.chance(750) {
        return Vec::new();
    }
    (0..nodes).map(|_| rng.pick(&[0, 0, 1, 1, 200])).collect()
}

/// Draws TAKE_TIMEOUT and TAKE_ATTEMPTS. Most draws give the defaults. Some drawn times are so large that heartbeats
/// are due while a token is offered.
fn draw_offer_times(rng: &mut Rng) -> (u64, u32) {
    if rng.chance(750) {
        return (default_take_timeout_us(), default_take_attempts());
    }
    let timeout = rng.pick(&[5 * MS, 10 * MS, 25 * MS, 40 * MS, 60 * MS]);
    (timeout, rng.pick(&[1, 2, 3, 5]))
}

/// Draws a fault that continues after the other faults end: one node misses frames or is slow.
fn draw_lasting_fault(rng: &mut Rng, nodes: usize, met: &[FaultKind]) -> Option<Fault> {
    if nodes < 2 {
        return None;
    }
    if met.contains(&FaultKind::Broadcast) && rng.chance(500) {
        let (node, lost) = (rng.index(nodes), true);
        return Some(Fault::Broadcast { node, lost });
    }
    if met.contains(&FaultKind::Slow) && rng.chance(300) {
        let node = rng.index(nodes);
        let turn_us = rng.pick(&[5 * MS, 10 * MS, 20 * MS]);
        return Some(Fault::Slow { node, turn_us });
    }
    if met.contains(&FaultKind::Oneway) && rng.chance(300) {
        let from = rng.index(nodes);
        let to = (from + 1 + rng.index(nodes - 1)) % nodes;
        return Some(Fault::Cut { from, to });
    }
    None
}

/// The number of addresses from which dead stations are drawn.
const DEAD_ADDRESSES: u16 = 1_000;

struct Generator {
    rng: Rng,
    nodes: usize,
    /// The duration of the faults; all times here are in microseconds.
    time: u64,
    actions: Vec<Action>,
    /// Whether any dead station has sent a frame.
    some_spoke: bool,
}

impl Generator {
    /// Draws IDLE_HOLD: in most cases the default, otherwise a tenth of the default, for more handovers in the same
    /// time. A fast rotation costs a thousand times as many frames.
    fn draw_idle_hold(&mut self) -> u64 {
        match self.rng.below(100) {
            0..2 => 0,
            2..6 => MS,
            6..50 => 10 * MS,
            _ => 100 * MS,
        }
    }

    fn draw_latency(&mut self, idle_hold: u64) -> (u64, u64) {
        if idle_hold < MS {
            // Without IDLE_HOLD only the latency limits the rate of handovers.
            return (500, 1_000);
        }
        self.rng.pick(&[(10, 0), (20, 80), (50, 400), (200, 800)])
    }

    fn draw_node(&mut self) -> usize {
        self.rng.index(self.nodes)
    }

    fn draw_nodes(&mut self, of_1000: u16) -> Vec<usize> {
        (0..self.nodes)
            .filter(|_| self.rng.chance(of_1000))
            .collect()
    }

    fn add(&mut self, at_us: u64, fault: Fault) {
        if at_us < self.time {
            self.actions.push(Action { at_us, fault });
        }
    }

    fn add_until(&mut self, at: u64, end: u64, fault: Fault) {
        let ends = fault.end();
        self.add(at, fault);
        self.add(end, ends);
    }

    /// Draws a duration from `low` to `high`. Each range from a duration to its double is equally likely, so most
    /// durations are short.
    fn draw_duration(&mut self, low: u64, high: u64) -> u64 {
        let doublings = (high / low.max(1)).max(1).ilog2();
        let low = low << self.rng.below(u64::from(doublings) + 1);
        self.rng.between(low, (2 * low).min(high.max(low)))
    }

    /// Adds all episodes of one kind, at random intervals.
    fn add_episodes(&mut self, kind: FaultKind) {
        let interval = self.draw_duration(SECOND, 16 * SECOND);
        let mut at = self.rng.below(interval);
        while at < self.time {
            self.add_episode(kind, at);
            at += self.rng.between(interval / 4, 2 * interval);
        }
    }

    /// Kills one or several nodes at nearly the same time. Their guardians send the last frames.
    fn add_guardians(&mut self, at: u64) {
        let first = self.draw_node();
        let others = self.rng.pick(&[0, 0, 500]);
        let others = self.draw_nodes(others);
        for node in others.into_iter().filter(|&it| it != first).chain([first]) {
            // A guardian waits for a processor, perhaps until the lease has ended.
            let delay_max = self.rng.pick(&[200, 200, 5 * MS, 600 * MS]);
            let guardian_us = Some(self.rng.below(delay_max));
            // A program may ignore SIGTERM. Its keeper may die before it reports the end of the program.
            let ended_max = self.rng.pick(&[0, 0, 20 * MS, 600 * MS]);
            let ended_us = (ended_max > 0).then(|| self.rng.below(ended_max));
            let begins = at + self.rng.below(5 * MS);
            let down = self.draw_duration(MS, 4 * SECOND);
            let crash = Fault::Crash {
                node,
                guardian_us,
                ended_us,
            };
            self.add_until(begins, begins + down, crash);
        }
    }

    /// Adds a fault of one node that lasts for a while.
    fn add_long_node_fault(&mut self, kind: FaultKind, at: u64) {
        let node = self.draw_node();
        let end = at + self.draw_duration(100 * MS, 8 * SECOND);
        let fault = match kind {
            FaultKind::Deaf => Fault::Deaf { node, deaf: true },
            FaultKind::Broadcast => Fault::Broadcast { node, lost: true },
            FaultKind::Unicast => {
                let (sent, received, refused) = self.rng.pick(&[
                    (true, false, false),
                    (false, true, false),
                    (true, true, false),
                    (false, false, true),
                ]);
                Fault::Unicast {
                    node,
                    sent,
                    received,
                    refused,
                }
            }
            _ => {
                let by = i32::try_from(self.rng.between(20_000, MAX_DRIFT.into())).unwrap_or(0);
                let millionths = by * self.rng.pick(&[1, -1]);
                Fault::Drift { node, millionths }
            }
        };
        self.add_until(at, end, fault);
    }

    /// Makes one node work while another node is behind a switch port that does not forward frames yet. The port starts
    /// to forward frames after about the time of an election.
    fn add_aside(&mut self, at: u64) {
        if self.nodes < 2 {
            return;
        }
        let node = self.draw_node();
        let busy = (node + 1 + self.rng.index(self.nodes - 1)) % self.nodes;
        let work_us = self.rng.between(SECOND, 4 * SECOND);
        self.add(
            at,
            Fault::Want {
                node: busy,
                work_us,
                quorum: false,
            },
        );
        let begins = at + self.rng.between(300 * MS, SECOND);
        let ends = begins + self.rng.between(300 * MS, 1_500 * MS);
        if self.rng.chance(300) {
            self.add_until(begins, begins + 50 * MS, Fault::Unplug { node });
        }
        self.add_until(begins, ends, Fault::Aside { node, aside: true });
    }

    fn add_episode(&mut self, kind: FaultKind, at: u64) {
        match kind {
            FaultKind::Drop
            | FaultKind::Duplicate
            | FaultKind::Reorder
            | FaultKind::Delay
            | FaultKind::Corrupt => self.add_network_fault(kind, at),
            FaultKind::Oneway | FaultKind::Partition => self.add_cut(kind, at),
            FaultKind::Crash
            | FaultKind::Forget
            | FaultKind::Rollback
            | FaultKind::Leave
            | FaultKind::Constants => self.add_restart(kind, at),
            FaultKind::Replay => {
                let frames = self.draw_up_to(40);
                self.add(at, Fault::Replay { frames });
            }
            FaultKind::Stranger => {
                let frames = self.draw_up_to(20);
                self.add(at, Fault::Stranger { frames });
            }
            FaultKind::Clock => self.add_clock_fault(at),
            FaultKind::Work => self.add_work(at),
            FaultKind::Pause | FaultKind::Slow | FaultKind::Refuse | FaultKind::Twin => {
                self.add_node_fault(kind, at);
            }
            FaultKind::Yield => {
                let (node, to) = (self.draw_node(), self.draw_node());
                self.add(at, Fault::Yield { node, to });
            }
            FaultKind::HoldOff => {
                let node = self.draw_node();
                let end = at + self.draw_duration(10 * MS, 8 * SECOND);
                self.add_until(at, end, Fault::HoldOff { node });
            }
            FaultKind::Link => {
                let node = self.draw_node();
                let end = at + self.draw_duration(MS, 8 * SECOND);
                self.add_until(at, end, Fault::Unplug { node });
            }
            FaultKind::Card => {
                let node = self.draw_node();
                let card = u8::try_from(self.rng.below(CARDS.into())).unwrap_or(0);
                self.add(at, Fault::Card { node, card });
            }
            FaultKind::Unresponsive => self.add(at, Fault::Unresponsive {}),
            FaultKind::Disk => {
                let node = self.draw_node();
                let end = at + self.draw_duration(10 * MS, 8 * SECOND);
                self.add_until(at, end, Fault::Disk { node, full: true });
            }
            FaultKind::Mtu => {
                let node = self.draw_node();
                let mtu = self
                    .rng
                    .pick(&[MIN_MTU, SMALL_MTU, 300, 576, 1_000, 1_280, MTU]);
                self.add(at, Fault::Mtu { node, mtu });
            }
            FaultKind::Narrow => {
                let mtu = self
                    .rng
                    .pick(&[NARROW_MTU_MIN, SMALL_MTU, 300, 576, 1_000, 1_280]);
                let end = at + self.draw_duration(100 * MS, 8 * SECOND);
                self.add_until(at, end, Fault::Narrow { mtu });
            }
            FaultKind::Once => self.add_jobs(at),
            FaultKind::Lock => self.add_locks(at),
            FaultKind::Deaf | FaultKind::Unicast | FaultKind::Broadcast | FaultKind::Drift => {
                self.add_long_node_fault(kind, at);
            }
            FaultKind::Survey => self.add_survey(at),
            FaultKind::Attack => {
                let frames = self.draw_up_to(100);
                let over_us = self.draw_duration(MS, 4 * SECOND);
                self.add(at, Fault::Attack { frames, over_us });
            }
            // The changes of the keys are drawn for all nodes at once.
            FaultKind::Keys => {}
            FaultKind::Aside => self.add_aside(at),
            FaultKind::Guardian => self.add_guardians(at),
            FaultKind::Dead => {
                let first = self.draw_up_to(DEAD_ADDRESSES);
                // A station that has just sent a frame counts as one of the eight members that answer the other
                // members.
                let spoke = !self.some_spoke && self.rng.chance(500);
                self.some_spoke |= spoke;
                let most = if spoke { 7 } else { 200 };
                let count = u16::try_from(self.draw_duration(1, most)).unwrap_or(1);
                let dead = Fault::Dead {
                    first,
                    count,
                    spoke,
                };
                self.add(at, dead);
            }
            FaultKind::Address => {
                let (node, ip) = (self.draw_node(), self.draw_up_to(6));
                let ip = u8::try_from(ip - 1).unwrap_or(0);
                self.add(at, Fault::Address { node, ip });
            }
        }
    }

    /// Draws a number from 1 to `most`.
    fn draw_up_to(&mut self, most: u16) -> u16 {
        u16::try_from(self.rng.between(1, most.into())).unwrap_or(most)
    }

    fn draw_rate(&mut self, most: u16) -> u16 {
        u16::try_from(self.draw_duration(10, most.into())).unwrap_or(most)
    }

    fn add_network_fault(&mut self, kind: FaultKind, at: u64) {
        let end = at + self.draw_duration(100 * MS, 8 * SECOND);
        let of_1000 = self.draw_rate(600);
        let few_of_1000 = self.draw_rate(80);
        let (by_us, jitter_us) = (
            self.draw_duration(100, 30 * MS),
            self.draw_duration(100, 30 * MS),
        );
        let fault = match kind {
            FaultKind::Drop => Fault::Drop { of_1000 },
            FaultKind::Duplicate => Fault::Duplicate { of_1000 },
            FaultKind::Reorder => Fault::Reorder { of_1000, by_us },
            FaultKind::Delay => Fault::Delay { by_us, jitter_us },
            _ => Fault::Corrupt {
                of_1000: few_of_1000,
            },
        };
        self.add_until(at, end, fault);
    }

    fn add_cut(&mut self, kind: FaultKind, at: u64) {
        let end = at + self.draw_duration(50 * MS, 8 * SECOND);
        let fault = if kind == FaultKind::Oneway {
            let (from, to) = (self.draw_node(), self.draw_node());
            Fault::Cut { from, to }
        } else {
            let parts = self.rng.between(2, 3);
            let mut group = || u8::try_from(self.rng.below(parts)).unwrap_or(0);
            let groups = (0..self.nodes).map(|_| group()).collect();
            Fault::Part { groups }
        };
        self.add_until(at, end, fault);
    }

    fn add_restart(&mut self, kind: FaultKind, at: u64) {
        let node = self.draw_node();
        let down = self.draw_duration(20 * MS, 8 * SECOND);
        let (fault, down) = match kind {
            FaultKind::Forget => (Fault::Forget { node }, down.max(FORGET_DOWNTIME_MIN)),
            FaultKind::Rollback => (Fault::Rollback { node }, down.max(FORGET_DOWNTIME_MIN)),
            FaultKind::Leave => (Fault::Leave { node }, down + SECOND),
            FaultKind::Constants => {
                let near = self.rng.pick(&[20, 50, 80, 120, 200, 400]);
                let far = self.rng.pick(&[1, 4, 9, 1_100, 3_000, 10_000]);
                let percent = if self.rng.chance(500) { near } else { far };
                let told = self.rng.chance(500);
                let expect = told.then(|| self.rng.pick(&[2, 3, 2 * self.nodes]));
                let fault = Fault::Constants {
                    node,
                    percent,
                    expect,
                };
                (fault, down)
            }
            _ => (crash_of(node), down),
        };
        self.add_until(at, at + down, fault);
    }

    fn add_node_fault(&mut self, kind: FaultKind, at: u64) {
        let node = self.draw_node();
        let end = at + self.draw_duration(10 * MS, 4 * SECOND);
        let fault = match kind {
            FaultKind::Pause => Fault::Pause { node },
            FaultKind::Slow => {
                let turn_us = self.draw_duration(50, 20 * MS);
                Fault::Slow { node, turn_us }
            }
            FaultKind::Refuse => {
                let of_1000 = self.draw_rate(1_000);
                Fault::Refuse { node, of_1000 }
            }
            _ => {
                let of = self.draw_node();
                Fault::Twin { node, of }
            }
        };
        self.add_until(at, end, fault);
    }

    fn add_clock_fault(&mut self, at: u64) {
        let node = self.draw_node();
        let sign = self.rng.pick(&[1, -1]);
        if self.rng.chance(500) {
            let millionths = sign * i32::from(self.draw_up_to(10_000));
            self.add(at, Fault::Rate { node, millionths });
        } else {
            // The change is between a millisecond and decades, so that some clocks show 1970.
            let year = 31_557_600 * SECOND;
            let by = i64::try_from(self.draw_duration(MS, 60 * year)).unwrap_or(0);
            let by_us = i64::from(sign) * by;
            self.add(at, Fault::Wall { node, by_us });
        }
    }

    /// Makes some nodes survey the ring at nearly the same time.
    fn add_survey(&mut self, at: u64) {
        let probes = u8::try_from(self.rng.pick(&[0, 0, 4, 16])).unwrap_or(0);
        let span_us = self.draw_duration(MS, 3 * SECOND);
        for _ in 0..self.rng.between(1, 3) {
            let (node, at) = (self.draw_node(), at + self.rng.below(100 * MS));
            let fault = Fault::Survey {
                node,
                probes,
                span_us,
            };
            self.add(at, fault);
        }
    }

    /// Starts a job on most nodes at nearly the same time, as cron does.
    fn add_jobs(&mut self, at: u64) {
        let job = u8::try_from(self.rng.below(3)).unwrap_or(0);
        let quorum = self.rng.chance(700);
        let work_us = self.draw_duration(MS, 2 * SECOND);
        let apart = self.rng.pick(&[MS, 20 * MS, SECOND]);
        for node in 0..self.nodes {
            if self.rng.chance(700) {
                let at = at + self.rng.below(apart);
                let fault = Fault::Once {
                    node,
                    job,
                    quorum,
                    work_us,
                };
                self.add(at, fault);
            }
        }
    }

    /// Draws the keys of the run, and adds their changes and the attacks. The keys do not change the other faults of
    /// this seed. Returns the keys at the start.
    fn add_keys(&mut self, settings: &Settings, kinds: &[FaultKind]) -> NodeKeys {
        self.rng = Rng::new(settings.seed, Stream::Keys);
        let mut is_met = |kind| kinds.contains(&kind) && (kinds.len() < 4 || self.rng.chance(500));
        let (is_attacked, changes) = (is_met(FaultKind::Attack), is_met(FaultKind::Keys));
        if !is_attacked && !changes {
            return NodeKeys::default();
        }
        let run = (self.nodes, self.time);
        let plan = KeyPlan::draw(&mut self.rng, run, is_attacked, changes);
        for (at, node, keys) in plan.changes {
            self.add(at, Fault::Keys { node, keys });
        }
        if is_attacked {
            self.add_episodes(FaultKind::Attack);
        }
        // With a smaller MTU, signed offers would not fit.
        let signature_len = u16::try_from(TRAILER_LEN).unwrap_or(0);
        for action in &mut self.actions {
            if let Fault::Mtu { mtu, .. } | Fault::Narrow { mtu } = &mut action.fault {
                *mtu = (*mtu + signature_len).min(MTU);
            }
        }
        plan.first
    }

    /// Adds the episodes of named locks. Faults of the kinds `met` often occur while programs wait for their locks, or
    /// have just got them.
    fn add_lock_episodes(&mut self, met: &[FaultKind]) {
        let interval = self.draw_duration(SECOND, 8 * SECOND);
        let mut at = self.rng.below(interval);
        while at < self.time {
            self.add_locks(at);
            let kinds = [FaultKind::Crash, FaultKind::Partition, FaultKind::Pause];
            for kind in kinds.into_iter().filter(|kind| met.contains(kind)) {
                if self.rng.chance(400) {
                    self.add_fault_during_locks(kind, at);
                }
            }
            at += self.rng.between(interval / 4, 2 * interval);
        }
    }

    /// Adds a fault shortly after `at`, and programs that take locks soon after the fault begins. A fault of the kind
    /// `Crash` kills several nodes at nearly the same time.
    fn add_fault_during_locks(&mut self, kind: FaultKind, at: u64) {
        let begins = at + self.draw_duration(MS, SECOND);
        match kind {
            FaultKind::Crash => {
                let killed_of_1000 = self.rng.pick(&[500, 1_000]);
                for node in self.draw_nodes(killed_of_1000) {
                    let begins = begins + self.rng.below(100 * MS);
                    let down = self.draw_duration(20 * MS, SECOND);
                    self.add_until(begins, begins + down, crash_of(node));
                }
            }
            FaultKind::Partition => {
                let groups = (0..self.nodes).map(|_| u8::from(self.rng.chance(500)));
                let groups = groups.collect();
                let ends = begins + self.draw_duration(300 * MS, 4 * SECOND);
                self.add_until(begins, ends, Fault::Part { groups });
            }
            _ => {
                let node = self.draw_node();
                let ends = begins + self.draw_duration(300 * MS, 4 * SECOND);
                self.add_until(begins, ends, Fault::Pause { node });
            }
        }
        let soon = self.draw_duration(200 * MS, 2 * SECOND);
        self.add_locks(begins + soon);
    }

    /// Starts programs on most nodes at nearly the same time. These programs take locks with few different names.
    fn add_locks(&mut self, at: u64) {
        let quorum = self.rng.chance(700);
        let (others_of_1000, shared_of_1000) =
            (self.rng.pick(&[50, 300]), self.rng.pick(&[100, 400]));
        // An early grant is visible only if a program works longer than a lease.
        let longest = self.rng.pick(&[20 * MS, 2 * SECOND, 8 * SECOND]);
        let apart = self.rng.pick(&[MS, 20 * MS, SECOND]);
        for node in 0..self.nodes {
            if self.rng.chance(600) {
                let at = at + self.rng.below(apart);
                let fault = Fault::Lock {
                    node,
                    name: u8::try_from(self.rng.below(2)).unwrap_or(0),
                    shared: self.rng.chance(shared_of_1000),
                    quorum: quorum ^ self.rng.chance(others_of_1000),
                    work_us: self.draw_duration(longest / 16, longest),
                    stubborn: self.rng.chance(500),
                    repeats: if self.rng.chance(250) { 20 } else { 0 },
                };
                self.add(at, fault);
            }
        }
    }

    fn add_work(&mut self, at: u64) {
        let node = self.draw_node();
        if self.rng.chance(250) {
            let len = self.draw_up_to(1_024);
            self.add(at, Fault::Data { node, len });
        } else {
            let work_us = self.draw_duration(MS, 2 * SECOND);
            let quorum = self.rng.chance(250);
            let want = Fault::Want {
                node,
                work_us,
                quorum,
            };
            self.add(at, want);
        }
    }
}

/// Returns the death of a process together with its guardian.
const fn crash_of(node: usize) -> Fault {
    Fault::Crash {
        node,
        guardian_us: None,
        ended_us: None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lab2::Faults;

    fn settings(seed: u64, faults: Faults) -> Settings {
        Settings {
            seed,
            nodes: 5,
            time: Duration::from_secs(60),
            faults,
            idle_hold: None,
        }
    }

    #[test]
    fn every_kind_makes_actions_in_order_of_time() {
        for &kind in FaultKind::ALL {
            let schedule = Schedule::of(&settings(3, Faults::only(kind)));
            assert!(!schedule.actions.is_empty(), "{kind:?}");
            let times = schedule.actions.iter().map(|action| action.at_us);
            assert!(times.is_sorted() && schedule.actions.last().unwrap().at_us < 60 * SECOND);
        }
    }

    #[test]
    fn a_seed_makes_one_schedule_and_another_seed_another() {
        let all = |seed| Schedule::of(&settings(seed, Faults::all()));
        assert_eq!(all(1), all(1));
        assert_ne!(all(1).actions, all(2).actions);
        assert!(Schedule::of(&settings(1, Faults::NONE)).actions.is_empty());
    }

    #[test]
    fn a_given_idle_hold_is_kept() {
        let mut given = settings(1, Faults::NONE);
        given.idle_hold = Some(Duration::from_millis(3));
        assert_eq!(Schedule::of(&given).idle_hold_us, 3 * MS);
    }
}
