//! On a segment where frames are not lost any more, one owner remains.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Result, ensure};
use pnet::util::MacAddr;

use crate::wire::{Message, Seen, Token};

/// A node's claim to hold a token.
#[derive(Debug, Clone, Copy)]
struct Claim<'a> {
    /// The token held.
    token: Token,
    /// Whom it is being offered to.
    offered_to: Option<MacAddr>,
    seen: &'a Seen,
}

impl<'a> Claim<'a> {
    fn of(seen: &'a Seen) -> Option<Self> {
        match seen.message {
            Message::TokenIsHere { token, .. } => Some(Self {
                token,
                offered_to: None,
                seen,
            }),
            Message::TakeToken { token, .. } => {
                let token = Token {
                    progress: token.progress.saturating_sub(1),
                    ..token
                };
                Some(Self {
                    token,
                    offered_to: Some(seen.dst),
                    seen,
                })
            }
            _ => None,
        }
    }
}

/// Checks that since `from` all claims belong to one token as it goes round: one chain, or chains
/// that its holders minted in its place, with growing progress. And that there is one.
///
/// # Errors
/// Shows the first claim that belongs to another token.
pub fn check_one_owner(frames: &[Seen], from: Duration) -> Result<()> {
    let mut chains = HashSet::new();
    let mut newest: Option<Claim<'_>> = None;
    for claim in frames.iter().filter_map(Claim::of) {
        let is_new = chains.insert(claim.token.chain());
        if claim.seen.at < from {
            continue;
        }
        if let Some(last) = newest {
            check_succession(&last, &claim, is_new)?;
            if claim.token.progress < last.token.progress {
                continue;
            }
            // A heartbeat during a hand-over must not make the offer forgotten.
            let offered_to = claim
                .offered_to
                .or(last.offered_to.filter(|_| claim.token == last.token));
            newest = Some(Claim {
                offered_to,
                ..claim
            });
        } else {
            newest = Some(claim);
        }
    }
    ensure!(
        newest.is_some(),
        "nobody has claimed the token since {from:?}"
    );
    Ok(())
}

fn check_succession(last: &Claim<'_>, next: &Claim<'_>, is_new: bool) -> Result<()> {
    let (holder, claimant) = (last.seen.author, next.seen.author);
    let may_hold = claimant == holder || last.offered_to == Some(claimant);
    if next.token.chain() == last.token.chain() {
        // The giver's heartbeats may cross the taker's first frames.
        let oldest = last.token.progress.saturating_sub(1);
        ensure!(
            next.token.progress >= oldest,
            "a former holder still claims the token:\n  {:?}\n  {:?}",
            last.seen,
            next.seen
        );
        return Ok(());
    }
    ensure!(
        is_new && may_hold && next.token.progress > last.token.progress,
        "two owners:\n  {:?}\n  {:?}",
        last.seen,
        next.seen
    );
    Ok(())
}

/// The nodes that claimed the token since `from`, each as often as it became the owner, with the
/// time of its first claim.
#[must_use]
pub fn owner_changes(frames: &[Seen], from: Duration) -> Vec<(Duration, MacAddr)> {
    let mut changes: Vec<(Duration, MacAddr)> = Vec::new();
    for claim in frames
        .iter()
        .filter_map(Claim::of)
        .filter(|claim| claim.seen.at >= from)
    {
        if changes
            .last()
            .is_none_or(|(_, owner)| *owner != claim.seen.author)
        {
            changes.push((claim.seen.at, claim.seen.author));
        }
    }
    changes
}

#[cfg(test)]
#[path = "ownership_tests.rs"]
mod tests;
