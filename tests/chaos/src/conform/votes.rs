//! The rules of confirmations (`docs/reference/lab2/grades.md`), judged by the frames of one member.

use std::collections::HashMap;
use std::time::Duration;

use ring_segment::{MacAddr, Message, Seen, Token};

/// Delay between two clocks that the checks permit.
const TOLERANCE: Duration = Duration::from_millis(3);

/// The vote of a member: a tenure that it confirms, and a time until which it confirms no other tenure.
#[derive(Debug, Clone, Copy)]
struct Vote {
    token: Token,
    holder: MacAddr,
    until: Duration,
}

impl Vote {
    /// Whether the member may confirm the tenure of `holder` with `token`.
    fn permits(&self, at: Duration, token: Token, holder: MacAddr) -> bool {
        let is_newer = token.beats(&self.token) || token == self.token;
        let same_chain = token.chain() == self.token.chain();
        at + TOLERANCE >= self.until || is_newer && (same_chain || holder == self.holder)
    }
}

/// Violations in the frames of a member.
#[derive(Debug, Default)]
pub(super) struct VoteFindings {
    /// Confirmations of a second tenure.
    pub second: Vec<String>,
    /// Confirmations of heartbeats that no member has sent to it, or for a wrong time.
    pub wrong: Vec<String>,
    /// Confirmations soon after a start.
    pub early: Vec<String>,
    /// The number of confirmations.
    pub count: usize,
}

/// Checks the confirmations of the member at `port`. `starts` are the times at which its program was started, and
/// `lasts` is the time for which a confirmation lasts.
pub(super) fn check(
    frames: &[Seen],
    port: usize,
    starts: &[Duration],
    lasts: Duration,
) -> VoteFindings {
    let mut findings = VoteFindings::default();
    let mut heartbeats: HashMap<(Token, u32), (Duration, MacAddr)> = HashMap::new();
    let mut vote: Option<Vote> = None;
    let mut starts = starts.iter().peekable();
    let mut silent_until = Duration::ZERO;
    for seen in frames {
        while let Some(start) = starts.next_if(|start| **start <= seen.at) {
            // The new process knows nothing of the vote. Therefore it confirms nothing until the vote has ended.
            (vote, silent_until) = (None, *start + lasts);
        }
        if let Message::TokenWasHereRecently { token, .. } = seen.message
            && seen.is_broadcast()
            && vote.is_some_and(|vote| ends_tenure(token, &vote))
        {
            vote = None;
        }
        if let (Some(beat), Some(token)) = (seen.beat(), seen.message.token()) {
            if seen.port != port {
                heartbeats.insert((token, beat), (seen.at, seen.author));
            } else if seen.is_broadcast() {
                // The author confirms its own tenure. The end of this vote cannot be seen.
                if let Some(vote) = vote.filter(|vote| !vote.permits(seen.at, token, seen.author)) {
                    findings.second.push(text(seen, &vote));
                }
                vote = None;
            }
        }
        let Some(confirmed) = seen.confirmation().filter(|_| seen.port == port) else {
            continue;
        };
        findings.count += 1;
        let (token, holder) = (confirmed.token, seen.dst);
        let heartbeat = heartbeats.get(&(token, confirmed.beat));
        let Some((sent, _)) = heartbeat.filter(|(_, author)| *author == holder) else {
            findings
                .wrong
                .push(format!("no such heartbeat of {holder}: {seen:?}"));
            continue;
        };
        if confirmed.lasts != lasts {
            let text = format!("lasts {:?}, not {lasts:?}: {seen:?}", confirmed.lasts);
            findings.wrong.push(text);
        }
        if seen.at < silent_until {
            findings.early.push(format!("before {silent_until:?}: {seen:?}"));
        }
        if let Some(vote) = vote.filter(|vote| !vote.permits(seen.at, token, holder)) {
            findings.second.push(text(seen, &vote));
        }
        // The member counts from the moment at which it read the heartbeat, which was not before the heartbeat was sent.
        let mut until = *sent + confirmed.lasts;
        if let Some(vote) = vote.filter(|vote| vote.holder == holder) {
            until = until.max(vote.until);
        }
        vote = Some(Vote {
            token,
            holder,
            until,
        });
    }
    findings
}

fn ends_tenure(token: Token, vote: &Vote) -> bool {
    token.chain() == vote.token.chain() && token.beats(&vote.token)
}

fn text(seen: &Seen, vote: &Vote) -> String {
    let Vote {
        token,
        holder,
        until,
    } = vote;
    format!("until {until:?} it confirms {token:?} of {holder}, but {seen:?}")
}
