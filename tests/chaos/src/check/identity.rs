//! Invariant 1, over all frames of the run.

use ring_segment::invariants::Identities;

use super::evidence::Evidence;
use super::{Rule, Verdict};
use crate::cast::Part;

/// Maximum number of reported findings; the others are only counted.
const MOST: usize = 20;

pub(super) fn check(evidence: &Evidence, verdict: &mut Verdict) {
    let mut identities = Identities::with_forgetful(evidence.forgetful());
    look(evidence.sent.iter(), &mut identities, "", verdict);
    // Frames may arrive in another order than they were sent, so only the holders are compared.
    let all = evidence.cast.0.iter().map(crate::cast::Station::address);
    let mut identities = Identities::with_forgetful(all);
    let strangers: Vec<_> = evidence
        .cast
        .places(Part::Stranger)
        .map(|place| evidence.cast.0[place].address())
        .collect();
    let delivered = evidence.delivered.iter();
    let ours = delivered.filter(|seen| !strangers.contains(&seen.src));
    look(ours, &mut identities, "as delivered: ", verdict);
}

fn look<'a>(
    frames: impl Iterator<Item = &'a ring_segment::Seen>,
    identities: &mut Identities,
    which: &str,
    verdict: &mut Verdict,
) {
    let mut found = 0;
    for seen in frames {
        let Err(error) = identities.see(seen) else {
            continue;
        };
        found += 1;
        if found <= MOST {
            verdict.find(seen.at, Rule::EqualTokens, format!("{which}{error}"));
        }
    }
    if found > MOST {
        verdict.count("further violations of invariant 1", (found - MOST) as u64);
    }
}
