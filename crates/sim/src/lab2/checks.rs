//! What must hold after every event, whoever and whenever.

use std::collections::BTreeMap;
use std::convert::Infallible;

use ring_codec::lab2::{Frame, Message, Token};
use ring_proto::lab2::Durable;

use super::exempt::{Chain, Exemptions, chain};
use super::outcome::{Rule, Violation};
use crate::kernel::checks::Found;

/// The most frames that one received frame is answered with.
const MAX_REPLIES: u32 = 2;

/// A token of less progress owes nothing to a clock, in nanoseconds since 1970: the year 2001.
const CLOCKED: u64 = 1_000_000_000_000_000_000;
/// No clock takes a token further: the year 2116.
const LATEST: u64 = 1 << 62;
/// The most that a clock adds to a token, in nanoseconds: 30 days.
const CLOCK_STEP: u64 = 30 * 24 * 60 * 60 * 1_000_000_000;
/// The most that elections add which have come to nothing, and so are no tenures: a second.
const ELECTIONS: u64 = 1_000_000_000;

/// A run that has begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// When it was stamped, by the world's time.
    pub(super) at: u64,
    pub(super) node: usize,
    pub(super) job: u8,
    pub(super) quorum: bool,
}

/// Everything that has been seen so far.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub(super) exempt: Exemptions,
    pub(super) found: Found<Rule, Infallible>,
    pub(super) exempted: u64,
    /// How many of the violations somebody was told of.
    told: usize,
    /// How far each chain has come.
    chains: BTreeMap<Chain, u64>,
    /// The chain that was seen last, which is mostly the next one too.
    latest: Option<(Chain, u64)>,
    /// The largest progress of any tenure, or of a token that was elected and that nobody was told of.
    strongest: u64,
    /// The runs of jobs, in order of time.
    pub(super) runs: Vec<Run>,
    /// What the resource has accepted last, and from whom.
    accepted: Option<(Token, usize)>,
}

impl Checks {
    /// Notes a violation.
    pub(super) fn broken(&mut self, at: u64, node: Option<usize>, rule: Rule, what: String) {
        self.found.broken(at, node, rule, what);
    }

    /// The violations since this was last asked.
    pub(super) fn untold(&mut self) -> &[Violation] {
        let violations = &self.found.violations;
        let told = std::mem::replace(&mut self.told, violations.len());
        &violations[told..]
    }

    /// The largest progress of any tenure, or election, so far.
    pub(super) const fn strongest(&self) -> u64 {
        self.strongest
    }

    /// A tenure begins at a node, whose last one was `before`. Along one chain progress only
    /// grows, because a chain is only ever in one place: so no identity comes twice (invariant 6),
    /// and no two nodes hold equal tokens (invariant 1). `elsewhere`: another node holds it now.
    /// A chain whose number was used before comes to lower progress, but must not meet itself.
    pub(super) fn tenure(
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
            self.broken(at, Some(node), Rule::Growth, what);
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
        self.latest = Some((name, most));
        if reached.is_none_or(|reached| token.progress > reached) {
            return;
        }
        let elsewhere = elsewhere();
        let again = elsewhere.is_some() || reached == Some(token.progress);
        if self.exempt.identity(token) || !again && self.exempt.number(token) {
            self.exempted += 1;
        } else if let Some(other) = elsewhere {
            let what = format!("{token}, which n{other} holds too");
            self.broken(at, Some(node), Rule::EqualTokens, what);
        } else {
            let what = format!("{token}, but its chain had come to {most}");
            self.broken(at, Some(node), Rule::Identity, what);
        }
    }

    /// A node was elected, and has stored its token. Its clock had a say in the token's progress: not more than
    /// 30 days beyond what is known, if the node knows of anything that a clock had a say in: it `knew` this progress.
    pub(super) fn elected(&mut self, at: u64, node: usize, knew: u64, durable: &Durable) {
        let Some(token) = durable.known.filter(|_| !self.exempt.progress()) else {
            return;
        };
        let most = if knew < CLOCKED {
            LATEST
        } else {
            self.strongest.saturating_add(CLOCK_STEP)
        };
        self.strongest = self.strongest.max(token.progress);
        // An election adds something whatever the clocks show.
        if token.progress > most.saturating_add(ELECTIONS) {
            let what = format!(
                "{token}, though nothing was stronger than {}",
                most.saturating_sub(CLOCK_STEP)
            );
            self.broken(at, Some(node), Rule::Clock, what);
        }
    }

    /// A node uses the token on a resource that refuses weaker tokens than it has seen. Whether
    /// the resource takes it.
    pub(super) fn work(&mut self, at: u64, node: usize, token: &Token) -> bool {
        match self.accepted {
            Some((accepted, _)) if accepted.is_stronger_than(token) => return false,
            Some((accepted, other)) if accepted == *token && other != node => {
                if self.exempt.identity(token) {
                    self.exempted += 1;
                } else {
                    let what = format!("{token} from n{other}, then from n{node}");
                    self.broken(at, Some(node), Rule::Fencing, what);
                }
            }
            _ => {}
        }
        self.accepted = Some((*token, node));
        true
    }

    /// A frame is about to be sent by a node that has stored `durable`.
    pub(super) fn told(&mut self, at: u64, node: usize, frame: &Frame<'_>, durable: &Durable) {
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
            || self.exempt.number(&token);
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
            self.broken(at, Some(node), Rule::Stored, what);
        }
    }

    /// A frame was answered with so many.
    pub(super) fn replies(&mut self, at: u64, node: usize, replies: u32) {
        if replies > MAX_REPLIES {
            let what = format!("{replies} frames");
            self.broken(at, Some(node), Rule::Replies, what);
        }
    }

    /// A table has as many members as this, or is out of order.
    pub(super) fn table(&mut self, at: u64, node: usize, members: Option<usize>, max: usize) {
        let what = match members {
            None => "it is out of order".to_owned(),
            // The node itself always finds room.
            Some(members) if members > max + 1 => format!("{members} members, of {max} allowed"),
            Some(_) => return,
        };
        self.broken(at, Some(node), Rule::Table, what);
    }
}

#[cfg(test)]
mod tests;
