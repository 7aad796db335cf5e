//! Tenures: the times in which nodes held the token.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use pnet::util::MacAddr;

use crate::wire::{Message, Seen, Token};

/// Time during which one node holds the token without a break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tenure {
    pub token: Token,
    pub holder: MacAddr,
    pub since: Duration,
}

/// Returns the tenures in order, according to the claims of the holders. An offer that no node accepted is no tenure.
pub fn tenures(frames: &[Seen]) -> Vec<Tenure> {
    let mut known_tokens = HashSet::new();
    let mut tenures = Vec::new();
    for seen in frames {
        let token = match seen.message {
            Message::TokenIsHere { token, .. } => token,
            Message::TakeToken { token, .. } => Token {
                progress: token.progress.saturating_sub(1),
                ..token
            },
            _ => continue,
        };
        if known_tokens.insert(token) {
            tenures.push(Tenure {
                token,
                holder: seen.author,
                since: seen.at,
            });
        }
    }
    tenures
}

/// Checks that each of these members had at least `least` tenures, and that the numbers of tenures differ by at most
/// `slack`. The members must be alive and have no work.
pub fn check_fair_rotation(
    tenures: &[Tenure],
    members: &[MacAddr],
    least: usize,
    slack: usize,
) -> Result<()> {
    let mut counts: HashMap<MacAddr, usize> = members.iter().map(|mac| (*mac, 0)).collect();
    for tenure in tenures {
        *counts.entry(tenure.holder).or_default() += 1;
    }
    let fewest = counts
        .values()
        .min()
        .copied()
        .context("there are no members")?;
    let most = counts.values().max().copied().unwrap_or(fewest);
    ensure!(
        fewest >= least,
        "a member had the token fewer than {least} times: {counts:?}"
    );
    ensure!(
        most - fewest <= slack,
        "the token's rotation is not fair: {counts:?}"
    );
    Ok(())
}

#[cfg(test)]
#[path = "tenures_tests.rs"]
mod tests;
