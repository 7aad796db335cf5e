//! The rules of confirmations (`docs/reference/lab2/grades.md`), judged by the frames of one member.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use ring_segment::{Confirmation, MacAddr, Message, Seen, Token};

/// Difference between two clocks that the checks tolerate.
const TOLERANCE: Duration = Duration::from_millis(3);

/// The vote of a member: the tenure that it confirms, and the time until which it must not confirm a different tenure.
#[derive(Debug, Clone, Copy)]
struct Vote {
    token: Token,
    holder: MacAddr,
    until: Duration,
    /// The latest time at which the vote can end by the member's own clock.
    until_max: Duration,
}

impl Vote {
    /// Whether the member may confirm the tenure of `holder` with `token`.
    fn permits(&self, at: Duration, token: Token, holder: MacAddr) -> bool {
        at + TOLERANCE >= self.until || self.is_released_by(token, holder)
    }

    /// Whether the member must confirm the tenure of `holder` with `token`, if it knows no stronger token.
    fn demands(&self, at: Duration, token: Token, holder: MacAddr) -> bool {
        at >= self.until_max || self.is_released_by(token, holder)
    }

    fn is_released_by(&self, token: Token, holder: MacAddr) -> bool {
        let is_newer = token.beats(&self.token) || token == self.token;
        let same_chain = token.chain() == self.token.chain();
        is_newer && (same_chain || holder == self.holder)
    }
}

/// Violations in the frames of a member.
#[derive(Debug, Default)]
pub(super) struct VoteFindings {
    /// Confirmations of a second tenure.
    pub second: Vec<String>,
    /// Confirmations of heartbeats that no other member sent, and confirmations for a wrong time.
    pub wrong: Vec<String>,
    /// Confirmations soon after a start.
    pub early: Vec<String>,
    /// The number of confirmations.
    pub count: usize,
    /// The places of heartbeats that the member must not confirm, or may be unable to confirm. Reasons are a recent
    /// start of the member, a vote for another tenure, and a tenure that the member has just lost.
    pub barred: HashSet<usize>,
}

/// Checks the confirmations of the member at `port`. `starts` are the start times of the member's program. `lasts` is
/// the duration of a confirmation.
pub(super) fn check(
    frames: &[Seen],
    port: usize,
    starts: &[Duration],
    lasts: Duration,
) -> VoteFindings {
    let mut findings = VoteFindings::default();
    let mut heartbeats: HashMap<(Token, u32), (Duration, MacAddr)> = HashMap::new();
    // For each chain: its newest token that was offered without success.
    let mut failed: HashMap<(MacAddr, u32), u64> = HashMap::new();
    let mut vote: Option<Vote> = None;
    let mut own: Option<Token> = None;
    let mut starts = starts.iter().peekable();
    let mut silent_until = Duration::ZERO;
    // The time from which the member is able to confirm tenures. This time counts from the program's first frame,
    // because the program may need some time to start.
    let mut able_from = Some(Duration::ZERO);
    // The end of the member's vote for its own tenure.
    let mut own_until = Duration::ZERO;
    for (place, seen) in frames.iter().enumerate() {
        while let Some(start) = starts.next_if(|start| **start <= seen.at) {
            // The new process knows nothing of the vote. Therefore it confirms nothing until the vote has ended.
            (vote, silent_until) = (None, *start + lasts);
            (own, own_until, able_from) = (None, Duration::ZERO, None);
        }
        if seen.port == port {
            able_from.get_or_insert(seen.at + lasts);
        }
        if let Message::TokenWasHereRecently { token, .. } = seen.message
            && seen.is_broadcast()
        {
            let newest = failed.entry(token.chain()).or_insert(token.progress);
            *newest = token.progress.max(*newest);
        }
        // A member that was stopped reads the broadcast and older heartbeats in their order, but it reads all of them
        // late.
        let ends = |vote: &Vote| {
            let newest = failed.get(&vote.token.chain());
            newest.is_some_and(|&newest| newest > vote.token.progress)
        };
        vote = vote.filter(|vote| !ends(vote));
        if let (Message::TokenIsHere { token, .. }, true) = (&seen.message, seen.port == port) {
            // An owner that outbids another owner continues its tenure with a token that it has minted.
            let continues = token.author == seen.author
                && own.is_some_and(|own| own.chain() != token.chain())
                && own.zip(vote).is_some_and(|(own, vote)| {
                    vote.permits(seen.at, own, seen.author) && own.chain() == vote.token.chain()
                });
            vote = vote.filter(|_| !continues);
            own = Some(*token);
        }
        if let (Some(beat), Some(token)) = (seen.beat(), seen.message.token()) {
            if seen.port != port {
                heartbeats.insert((token, beat), (seen.at, seen.author));
                let is_able = able_from.is_some_and(|from| seen.at >= from);
                // An owner that gives way still confirms its own tenure until its last confirmation ends.
                let is_own = own.is_none_or(|own| own.chain() == token.chain());
                let is_free = (is_own || seen.at >= own_until)
                    && vote.is_none_or(|vote| vote.demands(seen.at, token, seen.author));
                if !(is_able && is_free) {
                    findings.barred.insert(place);
                }
            } else if seen.is_broadcast() {
                // The author confirms its own tenure. Its vote for another tenure stays.
                let vote = vote.filter(|vote| !vote.permits(seen.at, token, seen.author));
                findings.second.extend(vote.map(|vote| text(seen, &vote)));
                own_until = seen.at + lasts;
            }
        }
        let Some(confirmed) = seen.confirmation().filter(|_| seen.port == port) else {
            continue;
        };
        findings.count += 1;
        let token = confirmed.token;
        let heartbeat = heartbeats.get(&(token, confirmed.beat));
        // A confirmation may be a broadcast, if the PING also contains news for all members.
        let is_holder = |author: MacAddr| seen.dst == author || seen.is_broadcast();
        let Some(&(sent, holder)) = heartbeat.filter(|(_, author)| is_holder(*author)) else {
            findings
                .wrong
                .push(format!("no such heartbeat: {}", describe(seen)));
            continue;
        };
        if confirmed.lasts != lasts {
            let text = format!("the time is not {lasts:?}: {}", describe(seen));
            findings.wrong.push(text);
        }
        if seen.at < silent_until {
            let text = format!("before {silent_until:?}: {}", describe(seen));
            findings.early.push(text);
        }
        if let Some(vote) = vote.filter(|vote| !vote.permits(seen.at, token, holder)) {
            findings.second.push(text(seen, &vote));
        }
        // The member measures the duration from the moment at which it read the heartbeat. Only the time of sending is
        // known here.
        let mut until = sent + confirmed.lasts;
        let mut until_max = seen.at + confirmed.lasts;
        if let Some(vote) = vote.filter(|vote| vote.holder == holder) {
            until = until.max(vote.until);
            until_max = until_max.max(vote.until_max);
        }
        vote = Some(Vote {
            token,
            holder,
            until,
            until_max,
        });
    }
    findings
}

fn text(seen: &Seen, vote: &Vote) -> String {
    let Vote {
        token,
        holder,
        until,
        until_max: _,
    } = vote;
    format!(
        "until {until:?} it confirms {token:?} of {holder}, but: {}",
        describe(seen)
    )
}

/// Returns a frame as text, with its trailers.
pub(super) fn describe(seen: &Seen) -> String {
    let beat = seen.beat().map(|beat| format!(", beat {beat}"));
    let confirmed = (seen.confirmation()).map(|it| {
        let Confirmation { token, beat, lasts } = it;
        format!(", confirms {token:?}, beat {beat}, for {lasts:?}")
    });
    format!(
        "{seen:?}{}{}",
        beat.unwrap_or_default(),
        confirmed.unwrap_or_default()
    )
}
