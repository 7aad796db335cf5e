//! Makes a run's schedule from its seed.

use ring_proto::time::nanos;

use super::notation::CARDS;
use super::plan::{
    Action, Fault, MAX_DRIFT, MIN_MTU, MTU, NARROWEST, SMALL_MTU, Schedule, usual_forget,
    usual_heartbeat, usual_take_attempts, usual_take_timeout,
};
use super::settings::{FaultKind, Settings};
use crate::kernel::rng::{Rng, Stream};
use crate::kernel::schedule::Fault as _;

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;
/// How long a node that loses its state file stays down at least. Whatever was offered to it before
/// is given up by then, at whatever constants; else it would take the same token twice.
const FORGETTING: u64 = 2 * SECOND;

impl Schedule {
    /// The run that follows from the settings.
    pub fn of(settings: &Settings) -> Self {
        let mut maker = Maker {
            rng: Rng::new(settings.seed, Stream::Plan),
            nodes: settings.nodes.max(1),
            time: nanos(settings.time) / 1_000,
            actions: Vec::new(),
            some_spoke: false,
        };
        let hold = maker.idle_hold();
        let hold = settings
            .idle_hold
            .map_or(hold, |given| nanos(given) / 1_000);
        let latency = maker.latency(hold);
        let kinds: Vec<_> = settings.faults.iter().collect();
        let mut met = Vec::new();
        for &kind in &kinds {
            // A run with half of all kinds finds what a run with all of them drowns.
            if kinds.len() < 4 || maker.rng.chance(500) {
                maker.episodes(kind);
                met.push(kind);
            }
        }
        let stay_dead = maker.some_nodes(250);
        let mut rng = Rng::new(settings.seed, Stream::System);
        let (take_timeout_us, take_attempts) = giving(&mut rng);
        let forget_us = rng.pick(&[15 * SECOND, 30 * SECOND, usual_forget(), usual_forget()]);
        let lasting = lasting(&mut rng, maker.nodes, &met);
        let mut pace = Pace {
            idle_hold_us: hold,
            heartbeat_us: usual_heartbeat(),
            take_timeout_us,
            forget_us,
            latency_us: latency,
        };
        if rng.chance(250) {
            pace.quicken();
        }
        maker.actions.sort_by_key(|action| action.at_us);
        Self {
            about: String::new(),
            seed: settings.seed,
            nodes: maker.nodes,
            time_us: maker.time,
            idle_hold_us: pace.idle_hold_us,
            heartbeat_us: pace.heartbeat_us,
            take_timeout_us: pace.take_timeout_us,
            take_attempts,
            forget_us: pace.forget_us,
            latency_us: pace.latency_us,
            stay_dead,
            lasting,
            actions: maker.actions,
        }
    }
}

/// The constants of a ring that are times, and the network's.
#[expect(
    clippy::struct_field_names,
    reason = "as a schedule's file has them, with their unit"
)]
struct Pace {
    idle_hold_us: u64,
    heartbeat_us: u64,
    take_timeout_us: u64,
    forget_us: u64,
    latency_us: (u64, u64),
}

/// A quick ring is so many times as fast as the usual one: a member is silent after 3.2 s, and forgotten after
/// 4 s, within the shortest runs.
const QUICK: u64 = 4;

impl Pace {
    fn quicken(&mut self) {
        self.heartbeat_us /= QUICK;
        self.take_timeout_us /= QUICK;
        self.forget_us = 4 * SECOND;
        // An answer still comes within TAKE_TIMEOUT.
        let (least, most) = self.latency_us;
        self.latency_us = (least / QUICK, most / QUICK);
        self.idle_hold_us = self.idle_hold_us.min(self.heartbeat_us);
    }
}

/// TAKE_TIMEOUT and TAKE_ATTEMPTS: mostly the defaults, sometimes so large that heartbeats are due
/// while a token is offered.
fn giving(rng: &mut Rng) -> (u64, u32) {
    if rng.chance(750) {
        return (usual_take_timeout(), usual_take_attempts());
    }
    let timeout = rng.pick(&[5 * MS, 10 * MS, 25 * MS, 40 * MS, 60 * MS]);
    (timeout, rng.pick(&[1, 2, 3, 5]))
}

/// In some runs a node does not hear what it should, or is too slow, even when the other faults have ended.
fn lasting(rng: &mut Rng, nodes: usize, met: &[FaultKind]) -> Option<Fault> {
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

/// From so many numbers those of stations that are gone are drawn.
const DEAD: u16 = 1_000;

struct Maker {
    rng: Rng,
    nodes: usize,
    /// All times here are in microseconds.
    time: u64,
    actions: Vec<Action>,
    /// There are stations already that are gone and have said something.
    some_spoke: bool,
}

impl Maker {
    /// Mostly the default, or a tenth of it for more hand-overs in the same time. A fast rotation costs
    /// a thousand times as many frames.
    fn idle_hold(&mut self) -> u64 {
        match self.rng.below(100) {
            0..2 => 0,
            2..6 => MS,
            6..50 => 10 * MS,
            _ => 100 * MS,
        }
    }

    fn latency(&mut self, idle_hold: u64) -> (u64, u64) {
        if idle_hold < MS {
            // Where nothing else holds the token up, this does.
            return (500, 1_000);
        }
        self.rng.pick(&[(10, 0), (20, 80), (50, 400), (200, 800)])
    }

    /// Whom a fault is about.
    fn node(&mut self) -> usize {
        self.rng.index(self.nodes)
    }

    fn some_nodes(&mut self, of_1000: u16) -> Vec<usize> {
        (0..self.nodes)
            .filter(|_| self.rng.chance(of_1000))
            .collect()
    }

    fn at(&mut self, at_us: u64, fault: Fault) {
        if at_us < self.time {
            self.actions.push(Action { at_us, fault });
        }
    }

    /// A fault that ends.
    fn until(&mut self, at: u64, end: u64, fault: Fault) {
        let ends = fault.end();
        self.at(at, fault);
        self.at(end, ends);
    }

    /// Mostly short, sometimes long: from `low` to `high`, each doubling as likely as the others.
    fn lasting(&mut self, low: u64, high: u64) -> u64 {
        let doublings = (high / low.max(1)).max(1).ilog2();
        let low = low << self.rng.below(u64::from(doublings) + 1);
        self.rng.between(low, (2 * low).min(high.max(low)))
    }

    /// All episodes of one kind, at intervals that the seed chooses.
    fn episodes(&mut self, kind: FaultKind) {
        let interval = self.lasting(SECOND, 16 * SECOND);
        let mut at = self.rng.below(interval);
        while at < self.time {
            self.episode(kind, at);
            at += self.rng.between(interval / 4, 2 * interval);
        }
    }

    /// Something that lasts for a while at one node.
    fn spell(&mut self, kind: FaultKind, at: u64) {
        let node = self.node();
        let end = at + self.lasting(100 * MS, 8 * SECOND);
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
        self.until(at, end, fault);
    }

    /// One node works while another, which may have got its link just now, is behind a switch that forwards nothing
    /// yet: long enough for an election there, or not.
    fn aside(&mut self, at: u64) {
        if self.nodes < 2 {
            return;
        }
        let node = self.node();
        let busy = (node + 1 + self.rng.index(self.nodes - 1)) % self.nodes;
        let work_us = self.rng.between(SECOND, 4 * SECOND);
        self.at(
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
            self.until(begins, begins + 50 * MS, Fault::Unplug { node });
        }
        self.until(begins, ends, Fault::Aside { node, aside: true });
    }

    fn episode(&mut self, kind: FaultKind, at: u64) {
        match kind {
            FaultKind::Drop
            | FaultKind::Duplicate
            | FaultKind::Reorder
            | FaultKind::Delay
            | FaultKind::Corrupt => self.weather(kind, at),
            FaultKind::Oneway | FaultKind::Partition => self.cut(kind, at),
            FaultKind::Crash
            | FaultKind::Forget
            | FaultKind::Rollback
            | FaultKind::Leave
            | FaultKind::Constants => self.restart(kind, at),
            FaultKind::Replay => {
                let frames = self.few(40);
                self.at(at, Fault::Replay { frames });
            }
            FaultKind::Stranger => {
                let frames = self.few(20);
                self.at(at, Fault::Stranger { frames });
            }
            FaultKind::Clock => self.clock(at),
            FaultKind::Work => self.work(at),
            FaultKind::Pause | FaultKind::Slow | FaultKind::Refuse | FaultKind::Twin => {
                self.trouble(kind, at);
            }
            FaultKind::Yield => {
                let (node, to) = (self.node(), self.node());
                self.at(at, Fault::Yield { node, to });
            }
            FaultKind::HoldOff => {
                let node = self.node();
                let end = at + self.lasting(10 * MS, 8 * SECOND);
                self.until(at, end, Fault::HoldOff { node });
            }
            FaultKind::Link => {
                let node = self.node();
                let end = at + self.lasting(MS, 8 * SECOND);
                self.until(at, end, Fault::Unplug { node });
            }
            FaultKind::Card => {
                let node = self.node();
                let card = u8::try_from(self.rng.below(CARDS.into())).unwrap_or(0);
                self.at(at, Fault::Card { node, card });
            }
            FaultKind::Unresponsive => self.at(at, Fault::Unresponsive {}),
            FaultKind::Disk => {
                let node = self.node();
                let end = at + self.lasting(10 * MS, 8 * SECOND);
                self.until(at, end, Fault::Disk { node, full: true });
            }
            FaultKind::Mtu => {
                let node = self.node();
                let mtu = self
                    .rng
                    .pick(&[MIN_MTU, SMALL_MTU, 300, 576, 1_000, 1_280, MTU]);
                self.at(at, Fault::Mtu { node, mtu });
            }
            FaultKind::Narrow => {
                let mtu = self
                    .rng
                    .pick(&[NARROWEST, SMALL_MTU, 300, 576, 1_000, 1_280]);
                let end = at + self.lasting(100 * MS, 8 * SECOND);
                self.until(at, end, Fault::Narrow { mtu });
            }
            FaultKind::Once => self.once(at),
            FaultKind::Deaf | FaultKind::Unicast | FaultKind::Broadcast | FaultKind::Drift => {
                self.spell(kind, at);
            }
            FaultKind::Aside => self.aside(at),
            FaultKind::Dead => {
                let first = self.few(DEAD);
                // Who has just spoken counts as one of the eight that answer others.
                let spoke = !self.some_spoke && self.rng.chance(500);
                self.some_spoke |= spoke;
                let most = if spoke { 7 } else { 200 };
                let count = u16::try_from(self.lasting(1, most)).unwrap_or(1);
                let dead = Fault::Dead {
                    first,
                    count,
                    spoke,
                };
                self.at(at, dead);
            }
            FaultKind::Address => {
                let (node, ip) = (self.node(), self.few(6));
                let ip = u8::try_from(ip - 1).unwrap_or(0);
                self.at(at, Fault::Address { node, ip });
            }
        }
    }

    /// From 1 to `most`.
    fn few(&mut self, most: u16) -> u16 {
        u16::try_from(self.rng.between(1, most.into())).unwrap_or(most)
    }

    fn rate(&mut self, most: u16) -> u16 {
        u16::try_from(self.lasting(10, most.into())).unwrap_or(most)
    }

    fn weather(&mut self, kind: FaultKind, at: u64) {
        let end = at + self.lasting(100 * MS, 8 * SECOND);
        let of_1000 = self.rate(600);
        let few_of_1000 = self.rate(80);
        let (by_us, jitter_us) = (self.lasting(100, 30 * MS), self.lasting(100, 30 * MS));
        let fault = match kind {
            FaultKind::Drop => Fault::Drop { of_1000 },
            FaultKind::Duplicate => Fault::Duplicate { of_1000 },
            FaultKind::Reorder => Fault::Reorder { of_1000, by_us },
            FaultKind::Delay => Fault::Delay { by_us, jitter_us },
            _ => Fault::Corrupt {
                of_1000: few_of_1000,
            },
        };
        self.until(at, end, fault);
    }

    fn cut(&mut self, kind: FaultKind, at: u64) {
        let end = at + self.lasting(50 * MS, 8 * SECOND);
        let fault = if kind == FaultKind::Oneway {
            let (from, to) = (self.node(), self.node());
            Fault::Cut { from, to }
        } else {
            let parts = self.rng.between(2, 3);
            let mut group = || u8::try_from(self.rng.below(parts)).unwrap_or(0);
            let groups = (0..self.nodes).map(|_| group()).collect();
            Fault::Part { groups }
        };
        self.until(at, end, fault);
    }

    fn restart(&mut self, kind: FaultKind, at: u64) {
        let node = self.node();
        let down = self.lasting(20 * MS, 8 * SECOND);
        let (fault, down) = match kind {
            FaultKind::Forget => (Fault::Forget { node }, down.max(FORGETTING)),
            FaultKind::Rollback => (Fault::Rollback { node }, down.max(FORGETTING)),
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
            _ => (Fault::Crash { node }, down),
        };
        self.until(at, at + down, fault);
    }

    fn trouble(&mut self, kind: FaultKind, at: u64) {
        let node = self.node();
        let end = at + self.lasting(10 * MS, 4 * SECOND);
        let fault = match kind {
            FaultKind::Pause => Fault::Pause { node },
            FaultKind::Slow => {
                let turn_us = self.lasting(50, 20 * MS);
                Fault::Slow { node, turn_us }
            }
            FaultKind::Refuse => {
                let of_1000 = self.rate(1_000);
                Fault::Refuse { node, of_1000 }
            }
            _ => {
                let of = self.node();
                Fault::Twin { node, of }
            }
        };
        self.until(at, end, fault);
    }

    fn clock(&mut self, at: u64) {
        let node = self.node();
        let sign = self.rng.pick(&[1, -1]);
        if self.rng.chance(500) {
            let millionths = sign * i32::from(self.few(10_000));
            self.at(at, Fault::Rate { node, millionths });
        } else {
            // From a millisecond to decades, so that some clocks show 1970.
            let year = 31_557_600 * SECOND;
            let by = i64::try_from(self.lasting(MS, 60 * year)).unwrap_or(0);
            let by_us = i64::from(sign) * by;
            self.at(at, Fault::Wall { node, by_us });
        }
    }

    /// As cron does it: on most nodes at nearly the same time.
    fn once(&mut self, at: u64) {
        let job = u8::try_from(self.rng.below(3)).unwrap_or(0);
        let quorum = self.rng.chance(700);
        let work_us = self.lasting(MS, 2 * SECOND);
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
                self.at(at, fault);
            }
        }
    }

    fn work(&mut self, at: u64) {
        let node = self.node();
        if self.rng.chance(250) {
            let len = self.few(1_024);
            self.at(at, Fault::Data { node, len });
        } else {
            let work_us = self.lasting(MS, 2 * SECOND);
            let quorum = self.rng.chance(250);
            let want = Fault::Want {
                node,
                work_us,
                quorum,
            };
            self.at(at, want);
        }
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
