//! Checks invariant 5: the tables of all live members become equal. The check compares the digests in frames and in the
//! status of daemons.

use std::collections::HashMap;
use std::time::Duration;

use ring_segment::{Digest, MacAddr};

use super::evidence::{Evidence, Span};
use super::{Lateness, Rule, Sample, Verdict};

pub(super) fn check(evidence: &Evidence, lateness: &Lateness, verdict: &mut Verdict) {
    for cycle in &evidence.cycles {
        let (Some(calm), Some((status_time, statuses))) = (cycle.calm, &cycle.statuses) else {
            continue;
        };
        let bound = evidence.timing.one_owner_bound();
        let disturbed = lateness.disturbs(status_time.saturating_sub(bound), *status_time);
        let last_digests_sent = last_digests(evidence, calm, *status_time);
        verdict.count(
            "calms without a comparison of tables, because the machine was late",
            u64::from(disturbed),
        );
        if !disturbed {
            let common = compare(
                evidence,
                *status_time,
                statuses,
                &last_digests_sent,
                verdict,
            );
            compare_statuses(
                evidence,
                *status_time,
                statuses,
                &last_digests_sent,
                common,
                verdict,
            );
        }
        verdict.count("compared answers of ringctl", statuses.len() as u64);
        let Some((last, _)) = last_digests_sent.values().max_by_key(|(at, _)| *at) else {
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

/// Answers of the daemons to ringctl, with the place of each daemon.
type Statuses = [(usize, serde_json::Value)];

/// Checks that all stations sent the same digest, and returns the digest. A WAITER that gets no token sends no digest,
/// so its status is checked instead.
fn compare(
    evidence: &Evidence,
    at: Duration,
    statuses: &Statuses,
    last_digests_sent: &HashMap<MacAddr, (Duration, Digest)>,
    verdict: &mut Verdict,
) -> Option<Digest> {
    let mut first: Option<(&str, Digest)> = None;
    for place in evidence.stations.ring() {
        let (name, mac) = (
            evidence.stations.name(place),
            evidence.stations.0[place].address(),
        );
        let Some((_, digest)) = last_digests_sent.get(&mac) else {
            if !statuses
                .iter()
                .any(|(status_time, _)| *status_time == place)
            {
                let text = format!("{name} sent no digest in the whole calm");
                verdict.find(at, Rule::EqualTables, text);
            }
            continue;
        };
        let (other, expected) = *first.get_or_insert((name, *digest));
        if *digest != expected {
            let text = format!("{name} sends {digest:x?}, {other} sends {expected:x?}");
            verdict.find(at, Rule::EqualTables, text);
        }
    }
    first.map(|(_, digest)| digest)
}

/// Checks that each daemon is in the ring, and that its status shows the digest that the stations sent.
fn compare_statuses(
    evidence: &Evidence,
    at: Duration,
    statuses: &Statuses,
    last_digests_sent: &HashMap<MacAddr, (Duration, Digest)>,
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
        let own = last_digests_sent.get(&evidence.stations.0[*place].address());
        let Some(digest) = own.map(|(_, digest)| *digest).or(common) else {
            continue;
        };
        let shown = status["ring_hash"].as_str().unwrap_or("none");
        let size = status["members"].as_array().map_or(0, Vec::len);
        if shown != format!("{:016x}", digest.hash) || size as u64 != u64::from(digest.size) {
            let text = format!("{name} shows {shown} of {size}, but the stations sent {digest:x?}");
            verdict.find(at, Rule::EqualTables, text);
        }
    }
}

/// Returns the time at which a station last sent a digest that differs from the final digest.
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
