//! Invariant 5: the tables of all live members become equal, in their frames and in the daemons' status.

use std::collections::HashMap;
use std::time::Duration;

use ring_segment::{Digest, MacAddr};

use super::evidence::{Evidence, Span};
use super::{Lateness, Rule, Sample, Verdict};

pub(super) fn check(evidence: &Evidence, lateness: &Lateness, verdict: &mut Verdict) {
    for cycle in &evidence.cycles {
        let (Some(calm), Some((asked, statuses))) = (cycle.calm, &cycle.statuses) else {
            continue;
        };
        let bound = evidence.timing.one_owner_bound();
        let disturbed = lateness.disturbs(asked.saturating_sub(bound), *asked);
        let told = last_digests(evidence, calm, *asked);
        verdict.count(
            "calms whose tables were not compared, since the machine was late",
            u64::from(disturbed),
        );
        if !disturbed {
            let common = compare(evidence, *asked, statuses, &told, verdict);
            compare_statuses(evidence, *asked, statuses, &told, common, verdict);
        }
        verdict.count("answers of ringctl compared", statuses.len() as u64);
        let Some((last, _)) = told.values().max_by_key(|(at, _)| *at) else {
            continue;
        };
        let differing = last_difference(evidence, calm, *last);
        verdict.tables.push(Sample {
            at: calm,
            value: differing.saturating_sub(calm).as_secs_f64(),
            disturbed: cycle.starved || lateness.disturbs(calm, differing),
        });
    }
}

/// Returns the last digest that each station sent.
fn last_digests(
    evidence: &Evidence,
    from: Duration,
    to: Duration,
) -> HashMap<MacAddr, (Duration, Digest)> {
    let frames = evidence.sent_in(Span::new(from, to)).iter();
    frames
        .filter_map(|seen| Some((seen.author, (seen.at, seen.message.digest()?))))
        .collect()
}

/// Answers of the daemons to ringctl, by place.
type Statuses = [(usize, serde_json::Value)];

/// Checks that all stations sent the same digest, and returns it. A WAITER that gets no token sends none; its
/// status is checked instead.
fn compare(
    evidence: &Evidence,
    at: Duration,
    statuses: &Statuses,
    told: &HashMap<MacAddr, (Duration, Digest)>,
    verdict: &mut Verdict,
) -> Option<Digest> {
    let mut first: Option<(&str, Digest)> = None;
    for place in evidence.stations.ring() {
        let (name, mac) = (
            evidence.stations.name(place),
            evidence.stations.0[place].address(),
        );
        let Some((_, digest)) = told.get(&mac) else {
            if !statuses.iter().any(|(asked, _)| *asked == place) {
                let text = format!("{name} told no digest in the whole calm");
                verdict.find(at, Rule::EqualTables, text);
            }
            continue;
        };
        let (other, expected) = *first.get_or_insert((name, *digest));
        if *digest != expected {
            let text = format!("{name} tells {digest:x?}, {other} tells {expected:x?}");
            verdict.find(at, Rule::EqualTables, text);
        }
    }
    first.map(|(_, digest)| digest)
}

/// Checks that each daemon is in the ring, and its status shows the digest that the ring sent.
fn compare_statuses(
    evidence: &Evidence,
    at: Duration,
    statuses: &Statuses,
    told: &HashMap<MacAddr, (Duration, Digest)>,
    common: Option<Digest>,
    verdict: &mut Verdict,
) {
    for (place, status) in statuses {
        let name = evidence.stations.name(*place);
        let state = status["state"].as_str().unwrap_or("none");
        if !["OWNER", "WAITER"].contains(&state) {
            let text = format!("{name} is {state} at the end of a calm");
            verdict.find(at, Rule::OneOwner, text);
        }
        let own = told.get(&evidence.stations.0[*place].address());
        let Some(digest) = own.map(|(_, digest)| *digest).or(common) else {
            continue;
        };
        let shown = status["ring_hash"].as_str().unwrap_or("none");
        let size = status["members"].as_array().map_or(0, Vec::len);
        if shown != format!("{:016x}", digest.hash) || size as u64 != u64::from(digest.size) {
            let text = format!("{name} shows {shown} of {size}, but {digest:x?} was told");
            verdict.find(at, Rule::EqualTables, text);
        }
    }
}

/// Returns the time when a station last sent a digest other than the final one.
fn last_difference(evidence: &Evidence, calm: Duration, last: Duration) -> Duration {
    let to = last + Duration::from_nanos(1);
    let frames = evidence.sent_in(Span::new(calm, to));
    let mut digests = frames
        .iter()
        .rev()
        .filter_map(|seen| Some((seen.at, seen.message.digest()?)));
    let Some((_, expected)) = digests.next() else {
        return calm;
    };
    digests
        .find(|(_, digest)| *digest != expected)
        .map_or(calm, |(at, _)| at)
}
