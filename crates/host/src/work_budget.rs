//! Limits the part of the loop's time that is spent on work for clients.

use std::time::Duration;

use ring_proto::time::Instant;

/// Maximum amount of work that may be done without a break, after a time without work.
const BURST_MAX: Duration = Duration::from_millis(1);
/// The part of the loop's time that work may use: one divided by this number.
const SHARE_DIVISOR: u32 = 10;
/// Work of at most this duration is free. It delays a frame no longer than one additional frame would. When a program
/// repeatedly takes and releases the token, each of its requests needs less time.
const FREE_WORK_MAX: Duration = Duration::from_micros(30);
/// Maximum charge for one piece of work. If the work seems to have taken longer, the process or the machine was stalled
/// in between. Clients should not wait ten times as long as the stall.
const CHARGE_MAX: Duration = Duration::from_millis(20);

/// A budget of time. Short bursts of work and very short pieces of work run at once. Continuous work gets a tenth of
/// the time.
#[derive(Debug, Default)]
pub struct WorkBudget {
    /// The time at which all past work will be a tenth of the elapsed time, if no more work is done before.
    balanced_at: Instant,
    resume: Option<Instant>,
}

impl WorkBudget {
    /// Charges the budget for work from `start` to `end`.
    pub fn charge(&mut self, start: Instant, end: Instant) {
        let took = end.since(start).min(CHARGE_MAX);
        if took <= FREE_WORK_MAX {
            return;
        }
        self.balanced_at = self.balanced_at.max(start) + took * SHARE_DIVISOR;
        let resume = self.balanced_at.before(BURST_MAX * SHARE_DIVISOR);
        self.resume = (resume > end).then_some(resume);
    }

    /// Returns the time at which work may continue. Returns `None` if it may continue now.
    pub const fn resume(&self) -> Option<Instant> {
        self.resume
    }

    /// Returns whether work may be done at `now`. If so, ends the pause.
    pub fn end_pause(&mut self, now: Instant) -> bool {
        if self.resume.is_some_and(|resume| now < resume) {
            return false;
        }
        self.resume = None;
        true
    }
}

#[cfg(test)]
mod tests {
    use ring_proto::time::Instant;

    use super::WorkBudget;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_short_burst_is_free() {
        let at = Instant::from_nanos;
        let mut budget = WorkBudget::default();
        budget.charge(at(100 * MS), at(100 * MS + MS / 2));
        assert_eq!(budget.resume(), None);
        assert!(budget.end_pause(at(100 * MS + MS / 2)));
    }

    #[test]
    fn continuous_work_gets_a_tenth_of_the_time() {
        let at = Instant::from_nanos;
        let mut budget = WorkBudget::default();
        budget.charge(at(100 * MS), at(102 * MS));
        assert_eq!(budget.resume(), Some(at(110 * MS)));
        assert!(!budget.end_pause(at(110 * MS - 1)) && budget.end_pause(at(110 * MS)));
        assert_eq!(budget.resume(), None, "the budget is balanced again");
        let (mut now, mut used) = (110 * MS, 0);
        while now < 10_000 * MS {
            budget.charge(at(now), at(now + MS));
            used += MS;
            now = budget
                .resume()
                .map_or(now + MS, Instant::as_nanos)
                .max(now + MS);
        }
        assert!((900 * MS..1_100 * MS).contains(&used), "{used}");
    }

    #[test]
    fn very_short_work_is_never_delayed() {
        let at = Instant::from_nanos;
        let mut budget = WorkBudget::default();
        for now in (100 * MS..200 * MS).step_by(40_000) {
            budget.charge(at(now), at(now + 30_000));
            assert_eq!(budget.resume(), None);
        }
        let now = 200 * MS;
        budget.charge(at(now), at(now + 2 * MS));
        let resume = budget.resume();
        budget.charge(at(now + 3 * MS), at(now + 3 * MS + 30_000));
        assert_eq!(budget.resume(), resume, "the pause stays as long as before");
    }

    #[test]
    fn time_in_which_the_machine_slept_is_not_charged() {
        let at = Instant::from_nanos;
        let mut budget = WorkBudget::default();
        budget.charge(at(100 * MS), at(3_600_000 * MS));
        assert_eq!(budget.resume(), None);
        budget.charge(at(3_600_000 * MS), at(3_600_050 * MS));
        let pause = budget
            .resume()
            .map(|resume| resume.since(at(3_600_050 * MS)));
        assert!(
            pause.is_some_and(|pause| pause.as_millis() <= 200),
            "{pause:?}"
        );
    }
}
