//! Checks invariant 2: in a calm exactly one owner remains.

use std::time::Duration;

use ring_segment::invariants::first_rival;
use ring_segment::{Seen, Timing, is_claim};

use super::evidence::{CrashTime, Evidence, Span};
use super::{Lateness, Rule, Sample, Verdict};

pub(super) fn check(evidence: &Evidence, lateness: &Lateness, verdict: &mut Verdict) {
    for cycle in &evidence.cycles {
        let Some(calm) = cycle.calm else { continue };
        let look = |from: Duration, next: Option<&CrashTime>| {
            let span = Span::new(from, next.map_or(cycle.ends, |next| next.span.from));
            let frames = evidence.sent_in(span);
            Calm {
                frames,
                timing: evidence.timing,
                lateness,
                span,
            }
        };
        let quiet = look(calm, cycle.crashes.first());
        let last = quiet.find_rivals(verdict);
        let first = quiet.check_first_claim(verdict);
        let settled = last.unwrap_or(calm).max(first.unwrap_or(calm));
        verdict.settling.push(Sample {
            at: calm,
            value: settled.saturating_sub(calm).as_secs_f64(),
            disturbed: cycle.starved || lateness.disturbs(calm, settled),
        });
        quiet.check_silence(verdict);
        for (index, crash) in cycle.crashes.iter().enumerate() {
            look(crash.span.from, cycle.crashes.get(index + 1)).find_rivals(verdict);
        }
        verdict.count("calms", 1);
        verdict.count("calms under CPU starvation", u64::from(cycle.starved));
    }
}

/// Period in which the ring is judged.
struct Calm<'a> {
    frames: &'a [Seen],
    timing: Timing,
    lateness: &'a Lateness,
    span: Span,
}

impl Calm<'_> {
    /// Returns the start of the period before `at` in which there were no faults and the machine was not late. If this
    /// period is longer than the bound, a station has no excuse for a wrong frame.
    fn in_time_since(&self, at: Duration) -> Duration {
        self.lateness.in_time_since(at).max(self.span.from)
    }

    /// Finds claims of a second owner that neither the faults nor a late machine explain. Returns the time of the
    /// last claim of a second owner.
    fn find_rivals(&self, verdict: &mut Verdict) -> Option<Duration> {
        let bound = self.timing.one_owner_bound();
        let (mut from, mut last) = (self.span.from, None);
        while let Some(rival) = first_rival(self.frames, from, self.timing.take_timeout) {
            let after = rival.at.saturating_sub(self.in_time_since(rival.at));
            if after > bound {
                let trouble = format!("{after:.0?} after the last disturbance, bound {bound:.0?}");
                let text = format!("{trouble}: {}", rival.text);
                verdict.find(rival.at, Rule::OneOwner, text);
            }
            verdict.count("claims of a second owner after the faults", 1);
            last = Some(rival.at);
            from = rival.at + Duration::from_nanos(1);
        }
        last
    }

    /// Checks that a station claims the token within the bound. Returns the time of the first claim.
    fn check_first_claim(&self, verdict: &mut Verdict) -> Option<Duration> {
        let bound = self.timing.one_owner_bound();
        let first = self.frames.iter().find(|seen| is_claim(seen))?.at;
        let after = first.saturating_sub(self.in_time_since(first));
        if after > bound {
            let text = format!("the first claim came after {after:.0?}, bound {bound:.0?}");
            verdict.find(first, Rule::OneOwner, text);
        }
        Some(first)
    }

    /// Checks that the time without heartbeats in the ring is never too long.
    fn check_silence(&self, verdict: &mut Verdict) {
        let claims = self.frames.iter().filter(|seen| is_claim(seen));
        let mut last = self.span.from;
        for at in claims.map(|seen| seen.at).chain([self.span.to]) {
            let settled = self.in_time_since(at) + self.timing.one_owner_bound();
            let silent = at.saturating_sub(last.max(settled));
            if silent > self.timing.waiter_timeout() {
                let text = format!("no node claimed the token for {silent:.0?}");
                verdict.find(at, Rule::OneOwner, text);
            }
            last = at;
        }
    }
}
