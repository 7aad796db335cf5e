//! Formats the results of a run.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::check::{Evidence, Rule, Sample, Verdict};

/// Maximum number of findings that are printed in full.
const FINDINGS_SHOWN: usize = 20;

/// Returns a text with the faults, the measurements and the findings of a run.
pub fn text(evidence: &Evidence, verdict: &Verdict) -> String {
    let mut text = format!(
        "seed {}: {} cycles, {} faults, {} frames sent, {} delivered, {} garbage frames\n",
        evidence.seed,
        evidence.cycles.len(),
        evidence.faults.len(),
        evidence.sent.len(),
        evidence.delivered.len(),
        evidence.garbage.len(),
    );
    // Writing to a String cannot fail.
    let _ = faults(&mut text, evidence).and_then(|()| measures(&mut text, evidence, verdict));
    for (what, count) in &verdict.counts {
        let _ = writeln!(text, "{count:>12} {what}");
    }
    for rule in Rule::ALL {
        let count = verdict.findings.iter().filter(|it| it.rule == rule).count();
        let _ = writeln!(text, "{count:>12} violations of \"{}\"", rule.words());
    }
    for finding in verdict.findings.iter().take(FINDINGS_SHOWN) {
        let (at, rule) = (finding.at, finding.rule.words());
        let _ = writeln!(text, "\nat {at:.3?}, {rule}:\n{}", finding.text);
    }
    text
}

fn faults(text: &mut String, evidence: &Evidence) -> std::fmt::Result {
    let mut kinds: BTreeMap<&str, (u32, Duration)> = BTreeMap::new();
    for done in &evidence.faults {
        let (times, lasted) = kinds.entry(&done.kind).or_default();
        *times += 1;
        *lasted += done.span.length();
    }
    writeln!(text, "\n{:<44} {:>6} {:>9}", "fault", "times", "in all")?;
    for (kind, (times, lasted)) in kinds {
        writeln!(text, "{kind:<44} {times:>6} {:>7} s", lasted.as_secs())?;
    }
    Ok(())
}

/// Writes the judged measurements. The last column is the bound from `docs/explanation/guarantees.md`.
fn measures(text: &mut String, evidence: &Evidence, verdict: &Verdict) -> std::fmt::Result {
    let settled = Some(evidence.timing.one_owner_bound());
    let replaced = Some(evidence.timing.new_owner_bound());
    writeln!(
        text,
        "\n{:<44} {:>6} {:>9} {:>9} {:>9} {:>9}",
        "measured", "times", "median", "99 %", "slowest", "bound"
    )?;
    for (what, samples, bound) in [
        ("one owner after the faults, s", &verdict.settling, settled),
        ("equal tables after the faults, s", &verdict.tables, None),
        (
            "others' tenures until a member gets the token",
            &verdict.services,
            None,
        ),
        (
            "another owner after SIGKILL, s",
            &verdict.fail_overs,
            replaced,
        ),
        (
            "new owner after the last frame, s",
            &verdict.silences,
            replaced,
        ),
    ] {
        let values = judge_samples(samples);
        let at = |share: usize| values.get(values.len() * share / 100).or(values.last());
        let [median, most, slowest] = [50, 99, 100].map(|share| at(share).copied().unwrap_or(0.0));
        let bound = bound.map_or_else(String::new, |it| format!("{:.3}", it.as_secs_f64()));
        writeln!(
            text,
            "{what:<44} {:>6} {median:>9.3} {most:>9.3} {slowest:>9.3} {bound:>9}",
            values.len()
        )?;
    }
    writeln!(text)
}

/// Returns the sorted values of the samples during which the machine was not late.
fn judge_samples(samples: &[Sample]) -> Vec<f64> {
    let judged = samples.iter().filter(|it| !it.disturbed);
    let mut values: Vec<f64> = judged.map(|it| it.value).collect();
    values.sort_by(f64::total_cmp);
    values
}
