//! Makes a failing schedule shorter as long as it still fails.

use super::outcome::Rule;
use super::plan::{Action, Fault, Schedule};
use super::run::replay;
use super::subject::Subject;

/// More runs than this are not worth the last action.
const MAX_RUNS: usize = 1_000;

/// Finds a shorter schedule in which the same rule is broken: fewer actions, fewer nodes, less
/// time. `tried` is told how many runs that has taken so far, and how many actions are left.
///
/// The schedule comes back as it was if the rule is not broken in it.
pub fn shrink<M: Subject>(
    schedule: &Schedule,
    rule: Rule,
    tried: impl FnMut(usize, usize),
) -> Schedule {
    let mut shrinker = Shrinker {
        fails: |schedule: &Schedule| {
            let outcome = replay::<M>(schedule, None);
            let mut broken = outcome.violations.iter();
            broken.any(|violation| violation.rule == rule)
        },
        tried,
        runs: 0,
        best: schedule.clone(),
    };
    shrinker.shrink();
    shrinker.best
}

struct Shrinker<F, T> {
    fails: F,
    tried: T,
    runs: usize,
    /// The shortest that fails so far.
    best: Schedule,
}

impl<F: FnMut(&Schedule) -> bool, T: FnMut(usize, usize)> Shrinker<F, T> {
    fn shrink(&mut self) {
        loop {
            let before = self.best.clone();
            self.end_earlier();
            self.drop_actions();
            self.drop_nodes();
            self.begin_earlier();
            self.start_all_again();
            if self.best == before || self.runs >= MAX_RUNS {
                return;
            }
        }
    }

    /// Keeps the candidate if it fails too.
    fn try_out(&mut self, candidate: Schedule) -> bool {
        if candidate == self.best || self.runs >= MAX_RUNS {
            return false;
        }
        self.runs += 1;
        let fails = (self.fails)(&candidate);
        if fails {
            self.best = candidate;
        }
        (self.tried)(self.runs, self.best.actions.len());
        fails
    }

    /// Halves the time, and takes off what comes later; then ends with the last action.
    fn end_earlier(&mut self) {
        let mut time = self.best.time_us / 2;
        while self.best.time_us - time > self.best.time_us / 64 {
            if self.try_out(ending(&self.best, time)) {
                time = self.best.time_us / 2;
            } else {
                time += (self.best.time_us - time) / 2;
            }
        }
        if let Some(last) = self.best.actions.last() {
            let time = last.at_us + 1;
            self.try_out(ending(&self.best, time));
        }
    }

    /// Delta debugging: takes out ever smaller parts.
    fn drop_actions(&mut self) {
        let mut part = self.best.actions.len().div_ceil(2);
        while part > 0 {
            let mut at = 0;
            while at < self.best.actions.len() {
                let mut candidate = self.best.clone();
                let end = (at + part).min(candidate.actions.len());
                candidate.actions.drain(at..end);
                if !self.try_out(candidate) {
                    at += part;
                }
            }
            part /= 2;
        }
    }

    fn drop_nodes(&mut self) {
        let mut node = self.best.nodes;
        while node > 0 {
            node -= 1;
            if self.best.nodes > 1 {
                self.try_out(without(&self.best, node));
            }
        }
    }

    /// Shortens the quiet before each action.
    fn begin_earlier(&mut self) {
        for at in 0..self.best.actions.len() {
            let earlier = at
                .checked_sub(1)
                .map_or(0, |before| self.best.actions[before].at_us);
            let mut quiet = self.best.actions[at].at_us - earlier;
            while quiet > 1_000 {
                quiet /= 2;
                let mut candidate = self.best.clone();
                for action in &mut candidate.actions[at..] {
                    action.at_us -= quiet;
                }
                candidate.time_us -= quiet;
                self.try_out(candidate);
            }
        }
    }

    fn start_all_again(&mut self) {
        let mut candidate = self.best.clone();
        candidate.stay_dead.clear();
        self.try_out(candidate);
    }
}

fn ending(schedule: &Schedule, time_us: u64) -> Schedule {
    let mut shorter = schedule.clone();
    shorter.time_us = time_us;
    shorter.actions.retain(|action| action.at_us < time_us);
    shorter
}

/// The schedule without a node, those above it numbered anew.
fn without(schedule: &Schedule, gone: usize) -> Schedule {
    let mut fewer = schedule.clone();
    fewer.nodes -= 1;
    fewer.stay_dead.retain(|&at| at != gone);
    for at in &mut fewer.stay_dead {
        *at -= usize::from(*at > gone);
    }
    fewer
        .actions
        .retain(|action| !action.fault.nodes().contains(&Some(gone)));
    for Action { fault, .. } in &mut fewer.actions {
        fault.renumber(|at| at - usize::from(at > gone));
        if let Fault::Part { groups } = fault
            && gone < groups.len()
        {
            groups.remove(gone);
        }
    }
    fewer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(at_us: u64, node: usize) -> Action {
        let fault = Fault::Pause { node };
        Action { at_us, fault }
    }

    fn schedule(actions: Vec<Action>) -> Schedule {
        Schedule {
            about: String::new(),
            seed: 1,
            nodes: 6,
            time_us: 60_000_000,
            idle_hold_us: 10_000,
            take_timeout_us: 5_000,
            take_attempts: 3,
            forget_us: 86_400_000_000,
            latency_us: (10, 10),
            stay_dead: vec![0, 5],
            actions,
        }
    }

    fn shrunk(schedule: Schedule, fails: impl FnMut(&Schedule) -> bool) -> Schedule {
        let mut shrinker = Shrinker {
            fails,
            tried: |_, _| {},
            runs: 0,
            best: schedule,
        };
        shrinker.shrink();
        shrinker.best
    }

    #[test]
    fn only_the_actions_nodes_and_time_that_it_takes_are_left() {
        let actions = (0..40).map(|n| {
            let node = usize::try_from(n % 6).unwrap();
            pause(1_000_000 * (n + 1), node)
        });
        // It takes two of the actions, in this order.
        let needs = |schedule: &Schedule| {
            let nodes: Vec<_> = schedule
                .actions
                .iter()
                .map(|a| a.fault.nodes()[0])
                .collect();
            let first = nodes.iter().position(|&node| node == Some(1));
            first.is_some_and(|at| nodes[at..].contains(&Some(0)))
        };
        let small = shrunk(schedule(actions.collect()), needs);
        assert_eq!(small.actions.len(), 2);
        assert_eq!((small.nodes, small.stay_dead), (2, vec![]));
        assert!(small.time_us < 10_000, "{}", small.time_us);
    }

    #[test]
    fn what_does_not_fail_stays_as_it_is() {
        let whole = schedule(vec![pause(7, 3)]);
        assert_eq!(shrunk(whole.clone(), |_| false), whole);
    }

    #[test]
    fn nodes_above_one_that_goes_are_numbered_anew() {
        let groups = Fault::Part {
            groups: vec![0, 1, 2, 3],
        };
        let cut = Fault::Cut { from: 5, to: 1 };
        let faults = [groups, cut, Fault::Pause { node: 2 }];
        let actions = faults.map(|fault| Action { at_us: 1, fault });
        let fewer = without(&schedule(actions.to_vec()), 2);
        let groups = vec![0, 1, 3];
        let left: Vec<_> = fewer.actions.into_iter().map(|a| a.fault).collect();
        let cut = Fault::Cut { from: 4, to: 1 };
        assert_eq!(left, [Fault::Part { groups }, cut]);
        assert_eq!(fewer.stay_dead, [0, 4]);
    }
}
