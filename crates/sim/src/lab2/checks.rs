//! The checks after every event.

use std::collections::BTreeMap;
use std::convert::Infallible;

use ring_codec::lab2::{Frame, Message, Token};
use ring_proto::lab2::StoredState;

use super::exemptions::{Chain, Exemptions, chain};
use super::outcome::{Rule, Violation};
use crate::kernel::checks::Findings;

/// The maximum number of frames that answer a received frame.
const REPLIES_MAX: u32 = 2;

/// The smallest progress that comes from a clock, in nanoseconds since 1970: the year 2001.
const CLOCK_PROGRESS_MIN: u64 = 1_000_000_000_000_000_000;
/// The largest progress that a clock gives a token: the year 2116.
const CLOCK_PROGRESS_MAX: u64 = 1 << 62;
/// The maximum that a clock adds to a token's progress, in nanoseconds: 30 days.
const CLOCK_STEP_MAX: u64 = 30 * 24 * 60 * 60 * 1_000_000_000;
/// The maximum that unsuccessful elections add to the progress: one second.
const ELECTION_STEP_MAX: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy)]
pub(super) struct StampedRun {
    /// The simulated time of the run's stamp.
    pub(super) at: u64,
    pub(super) node: usize,
    pub(super) job: u8,
    pub(super) quorum: bool,
}

/// The checks, and the observations that they need.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub(super) exemptions: Exemptions,
    pub(super) findings: Findings<Rule, Infallible>,
    pub(super) exempted: u64,
    /// The number of violations that the recorder already received.
    reported: usize,
    chains: BTreeMap<Chain, u64>,
    /// The chain of the last check. The last chain is cached, because the next check usually concerns the same chain.
    latest: Option<(Chain, u64)>,
    /// The largest progress of any tenure so far, or of any election whose winner could not send.
    strongest: u64,
    /// The runs of jobs, in order of time.
    pub(super) runs: Vec<StampedRun>,
    /// The last token that the fenced resource accepted, and its node.
    accepted: Option<(Token, usize)>,
}

impl Checks {
    pub(super) fn report(&mut self, at: u64, node: Option<usize>, rule: Rule, what: String) {
        self.findings.report(at, node, rule, what);
    }

    /// Returns the violations since the last call.
    pub(super) fn take_unreported(&mut self) -> &[Violation] {
        let violations = &self.findings.violations;
        let reported = std::mem::replace(&mut self.reported, violations.len());
        &violations[reported..]
    }

    /// Returns the largest progress of all tenures and elections.
    pub(super) const fn strongest(&self) -> u64 {
        self.strongest
    }

    /// Checks a tenure that begins at a node; `before` is the node's earlier tenure. At each time, a chain exists in
    /// only one place, so its progress only grows. Therefore no identity occurs twice (invariant 6), and no two nodes
    /// hold equal tokens (invariant 1). `elsewhere` returns another node that holds the token. If a chain's number is
    /// used again, the chain's progress may be lower. But two nodes must still not hold the token at the same time.
    pub(super) fn check_tenure(
        &mut self,
        at: u64,
        node: usize,
        token: &Token,
        before: Option<&Token>,
        elsewhere: impl FnOnce() -> Option<usize>,
    ) {
        self.strongest = self.strongest.max(token.progress);
        if let Some(before) = before.filter(|before| !token.is_stronger_than(before)) {
            let what = format!("{token} after {before}");
            self.report(at, Some(node), Rule::Growth, what);
        }
        let name = chain(token);
        let reached = match self.latest {
            Some((latest, reached)) if latest == name => Some(reached),
            latest => {
                if let Some((latest, reached)) = latest {
                    self.chains.insert(latest, reached);
                }
                self.chains.get(&name).copied()
            }
        };
        let most = reached.map_or(token.progress, |reached| reached.max(token.progress));
        // Most tenures belong to the chain of the tenure before, so most checks need no search in the map.
        self.latest = Some((name, most));
        if reached.is_none_or(|reached| token.progress > reached) {
            return;
        }
        let elsewhere = elsewhere();
        let again = elsewhere.is_some() || reached == Some(token.progress);
        if self.exemptions.may_repeat_identity(token)
            || !again && self.exemptions.may_reuse_number(token)
        {
            self.exempted += 1;
        } else if let Some(other) = elsewhere {
            let what = format!("{token}, which n{other} holds too");
            self.report(at, Some(node), Rule::EqualTokens, what);
        } else {
            let what = format!("{token}, but its chain had come to {most}");
            self.report(at, Some(node), Rule::Identity, what);
        }
    }

    /// Checks the token that a node stored after it won an election. A clock may move the token at most 30 days beyond
    /// the strongest token. This limit applies only if the progress `knew`, which the node knew before, came from a
    /// clock.
    pub(super) fn check_election(
        &mut self,
        at: u64,
        node: usize,
        knew: u64,
        durable: &StoredState,
    ) {
        let Some(token) = durable
            .known
            .filter(|_| !self.exemptions.may_exceed_clock())
        else {
            return;
        };
        let most = if knew < CLOCK_PROGRESS_MIN {
            CLOCK_PROGRESS_MAX
        } else {
            self.strongest.saturating_add(CLOCK_STEP_MAX)
        };
        self.strongest = self.strongest.max(token.progress);
        // An election adds a little to the progress, independently of all clocks.
        if token.progress > most.saturating_add(ELECTION_STEP_MAX) {
            let what = format!(
                "{token}, though nothing was stronger than {}",
                most.saturating_sub(CLOCK_STEP_MAX)
            );
            self.report(at, Some(node), Rule::Clock, what);
        }
    }

    /// Uses the token on a resource. The resource refuses a token that is weaker than the last accepted token. Returns
    /// whether the resource accepts the token.
    pub(super) fn use_resource(&mut self, at: u64, node: usize, token: &Token) -> bool {
        match self.accepted {
            Some((accepted, _)) if accepted.is_stronger_than(token) => return false,
            Some((accepted, other)) if accepted == *token && other != node => {
                if self.exemptions.may_repeat_identity(token) {
                    self.exempted += 1;
                } else {
                    let what = format!("{token} from n{other}, then from n{node}");
                    self.report(at, Some(node), Rule::Fencing, what);
                }
            }
            _ => {}
        }
        self.accepted = Some((*token, node));
        true
    }

    /// Checks a frame that a node is about to send, against its stored state `durable`.
    pub(super) fn check_frame(
        &mut self,
        at: u64,
        node: usize,
        frame: &Frame<'_>,
        durable: &StoredState,
    ) {
        let (Message::TakeToken { token, .. }
        | Message::TokenIsHere { token, .. }
        | Message::TokenWasHereRecently { token, .. }) = frame.message
        else {
            return;
        };
        let stored = durable
            .known
            .is_some_and(|known| !token.is_stronger_than(&known));
        let numbered = token.author != frame.author
            || token.number <= durable.my_token_number
            || self.exemptions.may_reuse_number(&token);
        if !stored || !numbered {
            let what = format!(
                "{} {token}, but stored is {} and number {}",
                frame.message.kind(),
                durable
                    .known
                    .as_ref()
                    .map_or("nothing".into(), ToString::to_string),
                durable.my_token_number
            );
            self.report(at, Some(node), Rule::Stored, what);
        }
    }

    /// Checks that a node has not answered a frame with too many frames.
    pub(super) fn check_replies(&mut self, at: u64, node: usize, replies: u32) {
        if replies > REPLIES_MAX {
            let what = format!("{replies} frames");
            self.report(at, Some(node), Rule::Replies, what);
        }
    }

    /// Checks the number of members of a table. The number is `None` if the table is not sorted.
    pub(super) fn check_table(&mut self, at: u64, node: usize, members: Option<usize>, max: usize) {
        let what = match members {
            None => "it is out of order".to_owned(),
            // The node itself is always in its table, even if the table is full.
            Some(members) if members > max + 1 => format!("{members} members, of {max} allowed"),
            Some(_) => return,
        };
        self.report(at, Some(node), Rule::Table, what);
    }
}

#[cfg(test)]
mod tests;
