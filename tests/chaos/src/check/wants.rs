//! Checks invariant 3: a member that wants the token gets it within (members + 1) tenures.

use std::collections::HashMap;
use std::time::Duration;

use ring_segment::invariants::tenures;
use ring_segment::{MacAddr, Message};

use super::evidence::{Cycle, Evidence, Span};
use super::{Lateness, Rule, Sample, Verdict};

struct Want {
    since: Duration,
    tenures: u32,
}

pub(super) fn check(evidence: &Evidence, lateness: &Lateness, verdict: &mut Verdict) {
    for cycle in &evidence.cycles {
        if let Some(wants) = cycle.wants {
            check_cycle(evidence, lateness, cycle, wants, verdict);
        }
    }
}

fn check_cycle(
    evidence: &Evidence,
    lateness: &Lateness,
    cycle: &Cycle,
    wants: Span,
    verdict: &mut Verdict,
) {
    // The last want of the member may be satisfied only after the end of this phase.
    let end = cycle.statuses.as_ref().map_or(wants.to, |(at, _)| *at);
    let frames = evidence.sent_in(Span::new(wants.from, end));
    // A tenure that began before the want does not count.
    let whole = Span::new(cycle.begins, end);
    let mut began = tenures(evidence.sent_in(whole));
    began.retain(|tenure| tenure.since >= wants.from);
    let mut began = began.iter().peekable();
    let mut open: HashMap<MacAddr, Want> = HashMap::new();
    let members = most_members(evidence, cycle);
    let judge = |verdict: &mut Verdict, mac, want: &Want, until| {
        let disturbed = lateness.disturbs(want.since, until);
        verdict.services.push(Sample {
            at: want.since,
            value: f64::from(want.tenures),
            disturbed,
        });
        if want.tenures > members + 1 && !disturbed {
            let place = evidence.stations.place_of(mac);
            let name = place.map_or("?", |it| evidence.stations.name(it));
            let times = want.tenures;
            let text = format!(
                "{name} wanted the token, and others had the token {times} times; the table has {members} members"
            );
            verdict.find(until, Rule::Service, text);
        }
    };
    for seen in frames {
        while let Some(tenure) = began.next_if(|tenure| tenure.since <= seen.at) {
            if let Some(want) = open.remove(&tenure.holder) {
                judge(verdict, tenure.holder, &want, tenure.since);
            }
            for want in open.values_mut() {
                want.tenures += 1;
            }
        }
        match seen.message {
            Message::WantToken => {
                open.entry(seen.author).or_insert(Want {
                    since: seen.at,
                    tenures: 0,
                });
            }
            // The member did not answer its offer in time, so the giver forgets that the member wants the token.
            Message::TakeToken { .. } if evidence.stations.place_of(seen.dst).is_some() => {
                let failed = offered_thrice(frames, seen);
                if failed && let Some(want) = open.get_mut(&seen.dst) {
                    verdict.count(
                        "wants that count again from a failed offer to the member",
                        1,
                    );
                    want.tenures = 0;
                }
            }
            _ => {}
        }
    }
    for (mac, want) in open {
        judge(verdict, mac, &want, end);
    }
}

/// Returns the size of the largest table of the cycle. A table may contain dead members.
fn most_members(evidence: &Evidence, cycle: &Cycle) -> u32 {
    let statuses = cycle.statuses.iter().flat_map(|(_, statuses)| statuses);
    let sizes = statuses.filter_map(|(_, status)| status["members"].as_array().map(Vec::len));
    let most = sizes.max().unwrap_or(0).max(evidence.stations.ring().len());
    u32::try_from(most).unwrap_or(u32::MAX)
}

fn offered_thrice(frames: &[ring_segment::Seen], offer: &ring_segment::Seen) -> bool {
    let until = frames.partition_point(|seen| seen.at <= offer.at);
    let recent = frames[..until].iter().rev().take(200);
    recent.filter(|seen| seen.bytes == offer.bytes).count() >= 3
}
