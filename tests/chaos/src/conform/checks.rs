//! Checks of the recorded frames. A check returns its violations as sentences.

use std::collections::HashSet;
use std::time::Duration;

use ring_segment::invariants::{TokenIdentities, check_well_formed};
use ring_segment::{MacAddr, Message, Seen, Timing, Token, is_claim, is_heartbeat};

/// A time span without faults.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calm {
    pub from: Duration,
    pub to: Duration,
}

impl Calm {
    fn contains(&self, at: Duration) -> bool {
        self.from <= at && at < self.to
    }
}

/// Number of occasions, and number of occasions that the member used.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Share {
    pub used: usize,
    pub all: usize,
}

impl Share {
    /// Whether at least nine of ten occasions were used. Not every occasion must be used, because a busy machine delays
    /// frames.
    pub(super) fn is_good(self) -> bool {
        10 * self.used >= 9 * self.all
    }
}

pub(super) fn malformed(frames: &[Seen], port: usize, mac: MacAddr) -> Vec<String> {
    let own = frames.iter().filter(|seen| seen.port == port);
    own.filter_map(|seen| {
        if seen.author != mac {
            return Some(format!("the author is not {mac}: {seen:?}"));
        }
        let error = check_well_formed(std::slice::from_ref(seen)).err()?;
        Some(error.to_string())
    })
    .collect()
}

pub(super) fn equal_tokens(frames: &[Seen], forgetful: Option<MacAddr>) -> Vec<String> {
    let mut identities = TokenIdentities::with_forgetful(forgetful);
    let check = |seen| identities.check_frame(seen).err();
    let errors = frames.iter().filter_map(check);
    errors.map(|error| error.to_string()).collect()
}

/// Returns the number of heartbeats in calms that ask for confirmations, and the number of these heartbeats that the
/// member confirmed. `barred` are the places of the heartbeats that the member must not confirm.
pub(super) fn confirmed(
    frames: &[Seen],
    port: usize,
    calms: &[Calm],
    timing: &Timing,
    barred: &HashSet<usize>,
) -> Share {
    let mut share = Share::default();
    for (at, seen) in frames.iter().enumerate() {
        if barred.contains(&at) {
            continue;
        }
        let Some(beat) = seen
            .beat()
            .filter(|_| seen.port != port && is_heartbeat(seen))
        else {
            continue;
        };
        let edge = timing.heartbeat;
        let inner = |calm: &Calm| calm.contains(seen.at) && calm.contains(seen.at + edge);
        if !calms.iter().any(inner) {
            continue;
        }
        let token = seen.message.token();
        let answers = frames[at..]
            .iter()
            .take_while(|later| later.at < seen.at + edge);
        let is_answer = |later: &Seen| {
            later.port == port
                && later.dst == seen.author
                && (later.confirmation())
                    .is_some_and(|it| Some(it.token) == token && it.beat == beat)
        };
        // If the token moves to the member at once, the member is no WAITER.
        let takes = |later: &Seen| later.port == port && is_claim(later);
        let mut answers = answers.filter(|later| is_answer(later) || takes(later));
        share.all += 1;
        share.used += usize::from(answers.next().is_some());
    }
    share
}

/// Returns the number of offers that the member got in calms, and the number of these offers that it took.
pub(super) fn taken(frames: &[Seen], port: usize, mac: MacAddr, calms: &[Calm]) -> Share {
    let in_calm = |seen: &&Seen| calms.iter().any(|calm| calm.contains(seen.at));
    let offers = frames.iter().filter(in_calm).filter_map(|seen| {
        (seen.dst == mac).then_some(())?;
        offered_token(seen)
    });
    let offers: HashSet<Token> = offers.collect();
    let claims: HashSet<Token> = (frames.iter())
        .filter(|seen| seen.port == port && is_claim(seen))
        .filter_map(held)
        .collect();
    Share {
        used: offers.intersection(&claims).count(),
        all: offers.len(),
    }
}

/// Returns the number of offers that the member made in calms, and the number of these offers that another member took.
pub(super) fn handed_on(frames: &[Seen], port: usize, calms: &[Calm]) -> Share {
    let in_calm = |seen: &&Seen| calms.iter().any(|calm| calm.contains(seen.at));
    let own = frames.iter().filter(in_calm);
    let offers: HashSet<Token> = own
        .filter(|seen| seen.port == port)
        .filter_map(offered_token)
        .collect();
    let claims: HashSet<Token> = (frames.iter())
        .filter(|seen| seen.port != port && is_claim(seen))
        .filter_map(held)
        .collect();
    Share {
        used: offers.intersection(&claims).count(),
        all: offers.len(),
    }
}

fn offered_token(seen: &Seen) -> Option<Token> {
    match seen.message {
        Message::TakeToken { token, .. } => Some(token),
        _ => None,
    }
}

/// Returns the token that the author of the claim held.
fn held(seen: &Seen) -> Option<Token> {
    match seen.message {
        Message::TokenIsHere { token, .. } => Some(token),
        Message::TakeToken { token, .. } => Some(Token {
            progress: token.progress.saturating_sub(1),
            ..token
        }),
        _ => None,
    }
}

/// Returns the frames that a voter must not send: frames of an owner or of a candidate.
pub(super) fn ambitions(frames: &[Seen], port: usize) -> Vec<String> {
    let own = frames.iter().filter(|seen| seen.port == port);
    own.filter_map(|seen| match seen.message {
        Message::TakeToken { .. }
        | Message::TokenIsHere { .. }
        | Message::GeneratingToken { .. }
        | Message::WantToken => Some(format!("a voter does not send {seen:?}")),
        Message::Ping { .. } if !seen.author_is_paused() => {
            Some(format!("the PING does not announce the pause: {seen:?}"))
        }
        _ => None,
    })
    .collect()
}

/// Checks that the member does not claim an old token: a token that it held before it was stopped for longer than its
/// lease. `stops` are the times at which the member was stopped and resumed.
pub(super) fn stale_claims(
    frames: &[Seen],
    port: usize,
    stops: &[(Duration, Duration)],
    timing: &Timing,
) -> (usize, Vec<String>) {
    let (mut occasions, mut violations) = (0, Vec::new());
    for &(from, to) in stops {
        let claims = |seen: &&Seen| seen.port == port && is_claim(seen);
        let before = frames.iter().filter(|seen| seen.at < from);
        let last = before.rev().find(claims).and_then(held);
        let mut others = frames.iter().filter(|seen| seen.port != port);
        let moved = others.any(|seen| {
            seen.at < from && held(seen).is_some_and(|it| last.is_some_and(|last| it.beats(&last)))
        });
        let Some(last) = last.filter(|_| !moved && to > from + timing.waiter_timeout()) else {
            continue;
        };
        occasions += 1;
        let later = frames.iter().filter(|seen| seen.at >= to).filter(claims);
        let again = later.filter(|seen| held(seen) == Some(last));
        violations.extend(again.map(|seen| format!("after its lease it claims {seen:?}")));
    }
    (occasions, violations)
}

/// Returns whether the member at a port broadcast a heartbeat in a time span.
pub(super) fn has_heartbeat(
    frames: &[Seen],
    port: usize,
    (from, to): (Duration, Duration),
) -> bool {
    let mut in_span = frames.iter().filter(|seen| from <= seen.at && seen.at < to);
    in_span.any(|seen| seen.port == port && is_heartbeat(seen))
}
