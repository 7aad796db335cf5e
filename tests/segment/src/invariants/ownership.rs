//! Checks that exactly one owner remains when the network loses no more frames.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use pnet::util::MacAddr;

use crate::wire::{Message, Seen, Token};

/// Longest time for a frame to reach a busy node, and for the node to handle it.
const HANDLING_TIME: Duration = Duration::from_millis(50);

/// A frame in which a node claims to hold a token.
#[derive(Debug, Clone, Copy)]
struct Claim<'a> {
    token: Token,
    /// Node to which this frame offers the token.
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

/// A claim to a different token than the claims before it.
#[derive(Debug, Clone)]
pub struct Rival {
    pub at: Duration,
    pub claimant: MacAddr,
    pub text: String,
}

/// Checks that there are claims since `from`, and that all these claims belong to one moving token. The token's
/// progress must grow. The token consists of one chain, or of several chains if a holder replaced its chain.
pub fn check_one_owner(frames: &[Seen], from: Duration) -> Result<()> {
    if let Some(rival) = first_rival(frames, from, HANDLING_TIME) {
        bail!(rival.text);
    }
    ensure!(
        frames
            .iter()
            .any(|seen| seen.at >= from && Claim::of(seen).is_some()),
        "no node has claimed the token since {from:?}"
    );
    Ok(())
}

/// Returns the first claim since `from` that belongs to a different token than the claims before it, see
/// [`check_one_owner`]. `on_the_way` is the longest time from the sending of a frame until a node has handled it.
pub fn first_rival(frames: &[Seen], from: Duration, on_the_way: Duration) -> Option<Rival> {
    let mut chains = HashSet::new();
    let mut newest: Option<Claim<'_>> = None;
    for (index, seen) in frames.iter().enumerate() {
        let Some(claim) = Claim::of(seen) else {
            continue;
        };
        let is_new = chains.insert(claim.token.chain());
        if seen.at < from {
            continue;
        }
        let Some(last) = newest.replace(claim) else {
            continue;
        };
        let verdict = if claim.token.chain() != last.token.chain() {
            check_mint(&last, &claim, is_new)
        } else if claim.token.progress < last.token.progress {
            newest = Some(last);
            check_late(&frames[..index], &last, &claim, on_the_way)
        } else {
            Ok(())
        };
        if let Err(error) = verdict {
            return Some(Rival {
                at: seen.at,
                claimant: seen.author,
                text: error.to_string(),
            });
        }
        if claim.token == last.token {
            // A heartbeat during a handover does not end the offer.
            let offered_to = claim.offered_to.or(last.offered_to);
            newest = Some(Claim {
                offered_to,
                ..claim
            });
        }
    }
    None
}

/// Checks that the holder of the last chain created the new chain.
fn check_mint(last: &Claim<'_>, next: &Claim<'_>, is_new: bool) -> Result<()> {
    let minter = next.seen.author;
    let may_mint = minter == last.seen.author || last.offered_to == Some(minter);
    ensure!(
        is_new && may_mint && next.token.progress > last.token.progress,
        "two owners:\n  {:?}\n  {:?}",
        last.seen,
        next.seen
    );
    Ok(())
}

/// Checks that a former holder sends no more heartbeats after it hears that the token has arrived.
fn check_late(
    before: &[Seen],
    last: &Claim<'_>,
    late: &Claim<'_>,
    on_the_way: Duration,
) -> Result<()> {
    let holder = late.seen.author;
    let offered = before.iter().rposition(|seen| {
        let offer = Claim::of(seen).filter(|claim| claim.offered_to.is_some());
        seen.author == holder && offer.is_some_and(|claim| claim.token == late.token)
    });
    let arrival = offered.and_then(|offer| {
        before[offer..].iter().find(|seen| {
            let newer = seen.message.token().is_some_and(|token| {
                token.chain() == late.token.chain() && token.progress > late.token.progress
            });
            newer && seen.author != holder && (seen.dst == holder || seen.is_broadcast())
        })
    });
    ensure!(
        offered.is_some() && arrival.is_none_or(|arrival| late.seen.at <= arrival.at + on_the_way),
        "a former holder still claims the token:\n  {:?}\n  {:?}",
        last.seen,
        late.seen
    );
    Ok(())
}

/// Returns the owners since `from`, once per tenure, with the time of the tenure's first claim.
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
