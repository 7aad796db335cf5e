//! Two nodes never hold equal tokens, and each chain has one successor.

use std::collections::{HashMap, HashSet};

use anyhow::{Result, ensure};
use pnet::util::MacAddr;

use crate::wire::{Message, Seen, Token};

type Chain = (MacAddr, u32);

/// Holders and offers in the frames up to now. The check handles one frame at a time, so it can continue after a
/// violation.
#[derive(Debug, Default)]
pub struct TokenIdentities {
    /// Authors that have lost their numbers.
    forgetful: HashSet<MacAddr>,
    /// The only node that may hold each token: its holder, or the node to which the token was offered.
    holders: HashMap<Token, MacAddr>,
    /// Newest offer of each chain: the progress, and the node to which the token is offered.
    offers: HashMap<Chain, (u64, MacAddr)>,
    /// Largest progress of each chain.
    reached: HashMap<Chain, u64>,
    /// Largest number that each author has used.
    numbers: HashMap<MacAddr, u32>,
}

/// Checks the identities of all tokens that were held or offered:
/// - only the node to which a token was offered holds the token;
/// - only the holder of a chain hands it over, and only to one successor;
/// - the author of a chain begins the chain, with a number that is larger than the author's last number;
/// - the progress of a chain grows.
pub fn check_identities(frames: &[Seen]) -> Result<()> {
    let mut identities = TokenIdentities::default();
    frames
        .iter()
        .try_for_each(|seen| identities.check_frame(seen))
}

impl TokenIdentities {
    /// Expects that these authors lose their state files and reuse numbers. For these authors' chains, the check covers
    /// only one rule: two nodes never hold equal tokens. The clock ensures this rule: the progress of a created token
    /// is not below the clock.
    pub fn with_forgetful(authors: impl IntoIterator<Item = MacAddr>) -> Self {
        Self {
            forgetful: authors.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Checks the next frame. If two nodes hold equal tokens, the check treats the first node as the right holder.
    pub fn check_frame(&mut self, seen: &Seen) -> Result<()> {
        match seen.message {
            Message::TokenIsHere { token, .. } => self.check_holder(token, seen.author, seen),
            Message::TakeToken { token, .. } => self.check_offer(token, seen),
            _ => Ok(()),
        }
    }

    fn check_holder(&mut self, token: Token, holder: MacAddr, seen: &Seen) -> Result<()> {
        let known = self.holders.contains_key(&token);
        let only = *self.holders.entry(token).or_insert(holder);
        ensure!(
            only == holder,
            "equal tokens: {holder} claims {token:?}, which belongs to {only}: {seen:?}"
        );
        if known || self.forgetful.contains(&token.author) {
            Ok(())
        } else {
            self.check_new_token(token, holder, seen)
        }
    }

    /// Checks a token that no earlier frame named.
    fn check_new_token(&mut self, token: Token, holder: MacAddr, seen: &Seen) -> Result<()> {
        let chain = token.chain();
        let Some(reached) = self.reached.insert(chain, token.progress) else {
            ensure!(
                holder == token.author,
                "the chain {chain:?} begins with {holder}, which is not its author: {seen:?}"
            );
            let last = self.numbers.insert(token.author, token.number);
            ensure!(
                last.is_none_or(|last| last < token.number),
                "the author uses number {} after {last:?}: {seen:?}",
                token.number
            );
            return Ok(());
        };
        ensure!(
            reached < token.progress,
            "the chain {chain:?} goes back from {reached} to {}: {seen:?}",
            token.progress
        );
        Ok(())
    }

    fn check_offer(&mut self, token: Token, seen: &Seen) -> Result<()> {
        let (giver, taker) = (seen.author, seen.dst);
        let held = Token {
            progress: token.progress.saturating_sub(1),
            ..token
        };
        self.check_holder(held, giver, seen)?;
        if self.forgetful.contains(&token.author) {
            return self.check_holder(token, taker, seen);
        }
        let newest = self.offers.get(&token.chain()).copied();
        if let Some((progress, successor)) = newest.filter(|(last, _)| *last < token.progress) {
            ensure!(
                successor == giver,
                "{giver} hands on a chain that was offered to {successor} at {progress}: {seen:?}"
            );
        }
        if newest.is_none_or(|(last, _)| last < token.progress) {
            self.offers.insert(token.chain(), (token.progress, taker));
        }
        self.check_holder(token, taker, seen)
    }
}

#[cfg(test)]
#[path = "identity_tests.rs"]
mod tests;
