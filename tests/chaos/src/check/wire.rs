//! Checks single frames: the protocol must allow each frame, and the network must deliver it as the run requires.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use ring_segment::invariants::check_well_formed;
use ring_segment::{MacAddr, Message, Seen, Token};

use super::evidence::{Cycle, Evidence, Span};
use super::{Rule, Verdict};

/// Duration of the edges of a calm: its beginning and its end. During this time, frames of the previous phase may still
/// be on their way.
const EDGE_TIME: Duration = Duration::from_millis(200);

/// Travel times of frames in calms.
#[derive(Debug, Default)]
pub struct Transit {
    /// Periods of frames that took longer than TAKE_TIMEOUT. In these periods the switch itself was late.
    pub slow: Vec<Span>,
}

pub(super) fn check(evidence: &Evidence, verdict: &mut Verdict) -> Transit {
    for seen in &evidence.sent {
        if let Err(error) = check_well_formed(std::slice::from_ref(seen)) {
            verdict.find(seen.at, Rule::Frames, error.to_string());
        }
    }
    verdict.count("frames sent", evidence.sent.len() as u64);
    verdict.count("frames delivered", evidence.delivered.len() as u64);
    verdict.count("garbage frames", evidence.garbage.len() as u64);
    check_instruments(evidence, verdict);
    check_origins(evidence, verdict);
    let mut transit = Transit::default();
    for cycle in &evidence.cycles {
        follow_frames(evidence, cycle, &mut transit, verdict);
        find_ignored_offers(evidence, cycle, verdict);
    }
    transit
}

fn check_instruments(evidence: &Evidence, verdict: &mut Verdict) {
    for (at, frames) in &evidence.blind {
        let text = format!("the recordings lack {frames} frames");
        verdict.find(*at, Rule::Instruments, text);
    }
    for (at, station, status) in &evidence.died {
        let text = format!("{}: {status}", evidence.stations.name(*station));
        verdict.find(*at, Rule::Death, text);
    }
}

/// Checks that each arrived frame was sent by a station.
fn check_origins(evidence: &Evidence, verdict: &mut Verdict) {
    let all = evidence.sent.iter().chain(&evidence.garbage);
    let sent: HashSet<&[u8]> = all.map(|seen| &seen.bytes[..]).collect();
    for seen in &evidence.delivered {
        if !sent.contains(&seen.bytes[..]) {
            let text = format!("a frame arrived that no station sent: {seen:?}");
            verdict.find(seen.at, Rule::Instruments, text);
        }
    }
}

/// Checks that each frame of a calm arrives at all its receivers, exactly once and without delay.
fn follow_frames(evidence: &Evidence, cycle: &Cycle, transit: &mut Transit, verdict: &mut Verdict) {
    let Some(calm) = cycle.calm else { return };
    let whole = Span::new(calm, cycle.ends + EDGE_TIME);
    let mut arrivals: HashMap<(usize, &[u8]), VecDeque<Duration>> = HashMap::new();
    for seen in evidence.delivered_in(whole) {
        let key = (seen.port, &seen.bytes[..]);
        arrivals.entry(key).or_default().push_back(seen.at);
    }
    let inner = Span::new(calm + EDGE_TIME, cycle.ends.saturating_sub(EDGE_TIME));
    let ring = evidence.stations.ring();
    let limit = evidence.timing.take_timeout;
    for seen in evidence.sent_in(inner) {
        for place in receivers(evidence, &ring, seen) {
            let arrived = arrivals
                .get_mut(&(place, &seen.bytes[..]))
                .and_then(|times| {
                    // Equal frames that were sent before the calm arrive first.
                    while times.front().is_some_and(|at| *at < seen.at) {
                        times.pop_front();
                    }
                    times.pop_front()
                });
            verdict.count("checked deliveries in calms", 1);
            match arrived {
                None => {
                    let name = evidence.stations.name(place);
                    let text = format!("lost in a calm on its way to {name}: {seen:?}");
                    verdict.find(seen.at, Rule::Instruments, text);
                }
                Some(at) if at > seen.at + limit => transit.slow.push(Span::new(seen.at, at)),
                Some(_) => {}
            }
        }
    }
}

fn receivers(evidence: &Evidence, ring: &[usize], seen: &Seen) -> Vec<usize> {
    if seen.is_broadcast() {
        let others = ring.iter().copied();
        return others.filter(|place| *place != seen.port).collect();
    }
    let place = evidence.stations.place_of(seen.dst);
    place
        .filter(|place| ring.contains(place))
        .into_iter()
        .collect()
}

/// Checks that a running member answers each offer, even if it answers late. If a member sends no frame after an offer,
/// it has ignored the offer.
fn find_ignored_offers(evidence: &Evidence, cycle: &Cycle, verdict: &mut Verdict) {
    let Some(calm) = cycle.calm else { return };
    let timing = &evidence.timing;
    let end = cycle.crashes.first().map_or(cycle.ends, |it| it.span.from);
    let settled = Span::new(calm + timing.one_owner_bound(), end);
    let patience = timing.one_owner_bound();
    let mut open: HashMap<(MacAddr, Token), (Duration, u32)> = HashMap::new();
    for seen in evidence.sent_in(settled) {
        let author = seen.author;
        // Any later frame of the member shows that the member is alive and was able to answer.
        open.retain(|(taker, _), _| *taker != author);
        if let Message::TakeToken { token, .. } = seen.message {
            open.entry((seen.dst, token)).or_insert((seen.at, 0)).1 += 1;
        }
    }
    for ((taker, token), (at, times)) in open {
        let Some(place) = evidence.stations.place_of(taker) else {
            continue;
        };
        let in_ring = evidence.stations.ring().contains(&place);
        let name = evidence.stations.name(place);
        // A station that did not run drops the frames that waited in the meantime, because they are too old.
        let starved = |(span, who): &(Span, String)| {
            who == name && span.from <= at + patience && at <= span.to
        };
        if in_ring && times >= 3 && at + patience < end && !evidence.late.iter().any(starved) {
            let text = format!("{name} sent no frame after the offer of {token:?}");
            verdict.find(at, Rule::Frames, text);
        }
    }
}
