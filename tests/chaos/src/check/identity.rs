//! Checks invariant 1 with all frames of the run.

use ring_segment::invariants::TokenIdentities;

use super::evidence::Evidence;
use super::{Rule, Verdict};
use crate::stations::StationRole;

/// Maximum number of reported findings. Further findings are only counted, not described.
const FINDINGS_MAX: usize = 20;

pub(super) fn check(evidence: &Evidence, verdict: &mut Verdict) {
    let mut identities = TokenIdentities::with_forgetful(evidence.forgetful());
    check_frames(evidence.sent.iter(), &mut identities, "", verdict);
    // Frames may arrive in another order than the stations sent them, so the check compares only the holders.
    let all = evidence
        .stations
        .0
        .iter()
        .map(crate::stations::Station::address);
    let mut identities = TokenIdentities::with_forgetful(all);
    let strangers: Vec<_> = evidence
        .stations
        .places(StationRole::Stranger)
        .map(|place| evidence.stations.0[place].address())
        .collect();
    let delivered = evidence.delivered.iter();
    let ours = delivered.filter(|seen| !strangers.contains(&seen.src));
    check_frames(ours, &mut identities, "as delivered: ", verdict);
}

fn check_frames<'a>(
    frames: impl Iterator<Item = &'a ring_segment::Seen>,
    identities: &mut TokenIdentities,
    which: &str,
    verdict: &mut Verdict,
) {
    let mut found = 0;
    for seen in frames {
        let Err(error) = identities.check_frame(seen) else {
            continue;
        };
        found += 1;
        if found <= FINDINGS_MAX {
            verdict.find(seen.at, Rule::EqualTokens, format!("{which}{error}"));
        }
    }
    if found > FINDINGS_MAX {
        verdict.count(
            "further violations of invariant 1",
            (found - FINDINGS_MAX) as u64,
        );
    }
}
