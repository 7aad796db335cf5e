//! Checks invariant 4: another member replaces a killed owner within the bound, with O(n) broadcasts.

use std::time::Duration;

use ring_segment::{Message, Seen, is_claim, is_heartbeat};

use super::evidence::{CrashTime, Cycle, Evidence, Span};
use super::{Lateness, Rule, Sample, Verdict};

/// Time that is added to the bound. The bound consists of four timeouts, but timers fire late and frames need some time
/// to arrive.
const BOUND_MARGIN: Duration = Duration::from_millis(5);
/// Broadcasts per member in an election: the question about the token, the candidacy, the answers, and the winner's
/// heartbeat.
const BROADCASTS_PER_MEMBER: usize = 5;

pub(super) fn check(evidence: &Evidence, lateness: &Lateness, verdict: &mut Verdict) {
    for cycle in &evidence.cycles {
        for (index, crash) in cycle.crashes.iter().enumerate() {
            let next = cycle.crashes.get(index + 1).map(|next| next.span.from);
            let until = next.unwrap_or(cycle.ends);
            check_crash(evidence, lateness, cycle, crash, until, verdict);
        }
    }
}

fn check_crash(
    evidence: &Evidence,
    lateness: &Lateness,
    cycle: &Cycle,
    crash: &CrashTime,
    until: Duration,
    verdict: &mut Verdict,
) {
    let (killed, victim) = (crash.span.from, crash.station);
    verdict.count("daemons killed in a calm while they claimed the token", 1);
    let before = evidence.sent_in(Span::new(cycle.begins, crash.span.to.min(until)));
    let Some(last) = before.iter().rev().find(|seen| seen.port == victim) else {
        return;
    };
    let claim = before
        .iter()
        .rev()
        .find(|it| it.port == victim && is_claim(it));
    let after = evidence.sent_in(Span::new(killed, until));
    let Some(successor) = first_elected_claim(after, victim) else {
        if claim.is_some_and(|claim| !continues_chain(after, victim, claim)) {
            let text = format!("no node replaced {}", evidence.stations.name(victim));
            verdict.find(until, Rule::FailOver, text);
        }
        return;
    };
    let took = successor.at.saturating_sub(killed);
    // A delay before the kill may still cause members to ask for the token too late.
    let disturbed = lateness.disturbs(killed, successor.at);
    let sample = |value: Duration| Sample {
        at: killed,
        value: value.as_secs_f64(),
        disturbed,
    };
    verdict.fail_overs.push(sample(took));
    verdict
        .silences
        .push(sample(successor.at.saturating_sub(last.at)));
    let bound = evidence.timing.new_owner_bound();
    if took > bound + BOUND_MARGIN && !disturbed {
        let name = evidence.stations.name(victim);
        let text = format!("the successor of {name} came after {took:.1?}, bound {bound:.0?}");
        verdict.find(successor.at, Rule::FailOver, text);
    }
    let broadcasts = after
        .iter()
        .filter(|seen| seen.is_broadcast() && seen.at <= successor.at)
        .count();
    let members = evidence.stations.ring().len();
    if broadcasts > BROADCASTS_PER_MEMBER * members && !disturbed {
        let text = format!("an election among {members} cost {broadcasts} broadcasts");
        verdict.find(successor.at, Rule::FailOver, text);
    }
}

/// Returns the first heartbeat of an elected station. An elected station has already announced its chain as a
/// candidate.
fn first_elected_claim(after: &[Seen], victim: usize) -> Option<&Seen> {
    let heartbeats = after
        .iter()
        .filter(|it| it.port != victim && is_heartbeat(it));
    let mut heartbeats = heartbeats.filter_map(|seen| Some((seen, seen.message.token()?)));
    let found = heartbeats.find(|(heartbeat, token)| {
        after.iter().any(|seen| {
            let stood = matches!(seen.message, Message::GeneratingToken { .. });
            let same = seen.message.token().map(|it| it.chain()) == Some(token.chain());
            stood && same && seen.at <= heartbeat.at
        })
    });
    found.map(|(seen, _)| seen)
}

/// Whether other stations claim the victim's chain. If other stations claim the chain, the victim had already handed
/// the token over, or had not taken it.
fn continues_chain(after: &[Seen], victim: usize, claim: &Seen) -> bool {
    let mut claims = after.iter().filter(|it| it.port != victim && is_claim(it));
    let strongest = claim.message.token();
    claims.any(|seen| match (seen.message.token(), strongest) {
        (Some(token), Some(strongest)) => token == strongest || token.beats(&strongest),
        _ => false,
    })
}
