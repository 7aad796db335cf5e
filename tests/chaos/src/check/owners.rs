//! Invariant 2: in a calm one owner remains.

use std::time::Duration;

use ring_segment::invariants::first_rival;
use ring_segment::is_claim;

use super::evidence::{Cycle, Evidence, Span};
use super::{Lateness, Rule, Sample, Verdict};

pub(super) fn check(evidence: &Evidence, lateness: &Lateness, verdict: &mut Verdict) {
    for cycle in &evidence.cycles {
        let Some(calm) = cycle.calm else { continue };
        let first_crash = cycle.crashes.first().map(|crash| crash.span.from);
        let quiet = Span {
            from: calm,
            to: first_crash.unwrap_or(cycle.ends),
        };
        let last = look_for_rivals(evidence, lateness, quiet, verdict);
        let first = look_for_the_first(evidence, lateness, quiet, verdict);
        let settled = last.unwrap_or(calm).max(first.unwrap_or(calm));
        verdict.settling.push(Sample {
            at: calm,
            value: settled.saturating_sub(calm).as_secs_f64(),
            disturbed: cycle.starved || lateness.disturbs(calm, settled),
        });
        look_for_silence(evidence, lateness, quiet, verdict);
        for (index, crash) in cycle.crashes.iter().enumerate() {
            let next = cycle.crashes.get(index + 1).map(|next| next.span.from);
            let span = Span {
                from: crash.span.from,
                to: next.unwrap_or(cycle.ends),
            };
            look_for_rivals(evidence, lateness, span, verdict);
        }
        count(cycle, verdict);
    }
}

fn count(cycle: &Cycle, verdict: &mut Verdict) {
    verdict.count("calms", 1);
    verdict.count("calms under CPU starvation", u64::from(cycle.starved));
}

/// Finds claims of a second owner for which neither the end of the faults nor the machine's own
/// lateness accounts, and tells when the last claim of a second owner was made at all.
fn look_for_rivals(
    evidence: &Evidence,
    lateness: &Lateness,
    span: Span,
    verdict: &mut Verdict,
) -> Option<Duration> {
    let bound = evidence.timing.one_owner_bound();
    let frames = evidence.sent_in(span);
    let (mut from, mut last) = (span.from, None);
    while let Some(rival) = first_rival(frames, from, evidence.timing.take_timeout) {
        let since = lateness.in_time_since(rival.at).max(span.from);
        let after = rival.at.saturating_sub(since);
        if after > bound {
            let text = format!(
                "{after:.0?} after the last trouble, bound {bound:.0?}: {}",
                rival.text
            );
            verdict.find(rival.at, Rule::OneOwner, text);
        }
        verdict.count("claims of a second owner after the faults", 1);
        last = Some(rival.at);
        from = rival.at + Duration::from_nanos(1);
    }
    last
}

/// Somebody claims the token within the bound; tells when that was.
fn look_for_the_first(
    evidence: &Evidence,
    lateness: &Lateness,
    span: Span,
    verdict: &mut Verdict,
) -> Option<Duration> {
    let bound = evidence.timing.one_owner_bound();
    let first = evidence.sent_in(span).iter().find(|seen| is_claim(seen))?;
    let after = first
        .at
        .saturating_sub(lateness.in_time_since(first.at).max(span.from));
    if after > bound {
        let text = format!("the first owner spoke after {after:.0?}, bound {bound:.0?}");
        verdict.find(first.at, Rule::OneOwner, text);
    }
    Some(first.at)
}

/// A ring with an owner says so all the time.
fn look_for_silence(evidence: &Evidence, lateness: &Lateness, span: Span, verdict: &mut Verdict) {
    let bound = evidence.timing.one_owner_bound();
    let patience = evidence.timing.waiter_timeout();
    let claims = evidence.sent_in(span).iter().filter(|seen| is_claim(seen));
    let times = claims.map(|seen| seen.at).chain([span.to]);
    let mut last = span.from;
    for at in times {
        let settled = lateness.in_time_since(at).max(span.from) + bound;
        let silent = at.saturating_sub(last.max(settled));
        if silent > patience {
            let text = format!("nobody claimed the token for {silent:.0?}");
            verdict.find(at, Rule::OneOwner, text);
        }
        last = at;
    }
}
