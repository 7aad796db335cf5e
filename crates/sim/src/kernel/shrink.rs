//! Shortens a failing schedule as long as it still fails.

use super::schedule::Schedule;

/// The maximum number of runs. More runs would take too long and remove only a few more actions.
const MAX_RUNS: usize = 1_000;

/// Finds a schedule with fewer actions, fewer nodes and less time, for which `fails` still returns `true`. Calls
/// `tried` with the number of runs and the number of remaining actions.
///
/// Returns the schedule unchanged if no shorter schedule fails.
pub(crate) fn shrink<S: Schedule>(
    schedule: &S,
    fails: impl FnMut(&S) -> bool,
    tried: impl FnMut(usize, usize),
) -> S {
    let mut shrinker = Shrinker {
        fails,
        tried,
        runs: 0,
        best: schedule.clone(),
    };
    shrinker.shrink();
    shrinker.best
}

struct Shrinker<S, F, T> {
    fails: F,
    tried: T,
    runs: usize,
    /// The shortest failing schedule.
    best: S,
}

impl<S: Schedule, F: FnMut(&S) -> bool, T: FnMut(usize, usize)> Shrinker<S, F, T> {
    fn shrink(&mut self) {
        loop {
            let before = self.best.clone();
            // The end of the run is shortened first, because this removes the most actions with the fewest runs.
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

    /// Runs a shorter schedule, and keeps it if its run also fails.
    fn try_out(&mut self, candidate: S) -> bool {
        if candidate == self.best || self.runs >= MAX_RUNS {
            return false;
        }
        self.runs += 1;
        let fails = (self.fails)(&candidate);
        if fails {
            self.best = candidate;
        }
        (self.tried)(self.runs, self.best.parts().actions.len());
        fails
    }

    /// Repeatedly halves the time and removes the later actions. Finally makes the run end with the last action.
    fn end_earlier(&mut self) {
        let mut time = self.best.parts().time_us / 2;
        while self.best.parts().time_us - time > self.best.parts().time_us / 64 {
            if self.try_out(with_end(&self.best, time)) {
                time = self.best.parts().time_us / 2;
            } else {
                time += (self.best.parts().time_us - time) / 2;
            }
        }
        if let Some(last) = self.best.parts().actions.last() {
            let time = last.at_us + 1;
            self.try_out(with_end(&self.best, time));
        }
    }

    /// Removes smaller and smaller groups of actions (delta debugging).
    fn drop_actions(&mut self) {
        let mut part = self.best.parts().actions.len().div_ceil(2);
        while part > 0 {
            let mut at = 0;
            while at < self.best.parts().actions.len() {
                let mut candidate = self.best.clone();
                let end = (at + part).min(candidate.parts().actions.len());
                candidate.parts_mut().actions.drain(at..end);
                if !self.try_out(candidate) {
                    at += part;
                }
            }
            part /= 2;
        }
    }

    fn drop_nodes(&mut self) {
        let mut node = self.best.nodes();
        while node > 0 {
            node -= 1;
            self.try_out(self.best.without(node));
        }
    }

    /// Shortens the time before each action.
    fn begin_earlier(&mut self) {
        for at in 0..self.best.parts().actions.len() {
            let earlier = at
                .checked_sub(1)
                .map_or(0, |before| self.best.parts().actions[before].at_us);
            let mut quiet = self.best.parts().actions[at].at_us - earlier;
            while quiet > 1_000 {
                quiet /= 2;
                let mut candidate = self.best.clone();
                for action in &mut candidate.parts_mut().actions[at..] {
                    action.at_us -= quiet;
                }
                *candidate.parts_mut().time_us -= quiet;
                self.try_out(candidate);
            }
        }
    }

    fn start_all_again(&mut self) {
        let mut candidate = self.best.clone();
        candidate.parts_mut().stay_dead.clear();
        self.try_out(candidate);
    }
}

fn with_end<S: Schedule>(schedule: &S, time_us: u64) -> S {
    let mut shorter = schedule.clone();
    let parts = shorter.parts_mut();
    *parts.time_us = time_us;
    parts.actions.retain(|action| action.at_us < time_us);
    shorter
}
