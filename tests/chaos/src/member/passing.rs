//! Tenure of an owner, from the first heartbeat to the handover.

use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;

use ring_segment::{MacAddr, Message, Token};

use super::{Member, MemberState, Outgoing, TAKE_ATTEMPTS};

/// Number of heartbeats for which a giver skips a member that did not take the token.
const SKIP_HEARTBEATS: u32 = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passing {
    to: MacAddr,
    offered_token: Token,
    attempts: u32,
    /// Time of the next offer. After the last offer: the time at which the handover counts as failed.
    due: Duration,
}

impl Passing {
    pub(super) fn due(&self) -> Duration {
        self.due
    }

    pub(super) fn offered_token(&self) -> Token {
        self.offered_token
    }
}

impl Member {
    /// Sends the owner's heartbeat if it is due, and begins or repeats a handover if it is due.
    pub(super) fn act_as_owner(&mut self, now: Duration, out: &mut Vec<Outgoing>) {
        let MemberState::Owner(tenure) = &mut self.role else {
            return;
        };
        if now >= tenure.heartbeat {
            (tenure.told, tenure.heartbeat) = (now, now + self.timing.heartbeat);
            self.heartbeat_heard = now;
            let token = tenure.token;
            out.push((MacAddr::broadcast(), self.here(token)));
        }
        let MemberState::Owner(tenure) = &mut self.role else {
            return;
        };
        match &mut tenure.passing {
            Some(passing) if now >= passing.due && passing.attempts < TAKE_ATTEMPTS => {
                passing.attempts += 1;
                passing.due = now + self.timing.take_timeout;
                let (to, offered_token) = (passing.to, passing.offered_token);
                out.push((to, self.offer(offered_token)));
            }
            Some(passing) if now >= passing.due => {
                let failed = passing.to;
                self.give_up(now, failed, out);
            }
            None if now >= tenure.done => self.pass_on(now, self.mac, out),
            _ => {}
        }
    }

    /// Handles the claim of another member that it holds `token`. Returns whether this claim completes the current
    /// handover.
    pub(super) fn completes_handover(&mut self, now: Duration, token: Token) -> bool {
        let MemberState::Owner(tenure) = &self.role else {
            return false;
        };
        let offered_token = tenure.passing.as_ref().map(Passing::offered_token);
        let complete = offered_token
            .is_some_and(|offered_token| token == offered_token || token.beats(&offered_token));
        if complete {
            self.heard = self.heard.max(now);
            self.role = MemberState::Waiter;
        }
        complete
    }

    /// Whether `token` belongs to a different chain and beats the token of this member. Returns `false` if this member
    /// holds no token, or is handing its token over.
    pub(super) fn is_beaten_by(&self, token: Token) -> bool {
        let MemberState::Owner(tenure) = &self.role else {
            return false;
        };
        let other = token.chain() != tenure.token.chain();
        tenure.passing.is_none() && other && token.beats(&tenure.token)
    }

    /// Creates a token that beats the token of a dead holder.
    pub(super) fn replace_token(&mut self, now: Duration, gone: Token, out: &mut Vec<Outgoing>) {
        self.begin_chain(now, gone.progress + 2);
        if let MemberState::Owner(tenure) = &mut self.role {
            (tenure.told, tenure.heartbeat) = (now, now + self.timing.heartbeat);
            self.heartbeat_heard = now;
            let token = tenure.token;
            out.push((MacAddr::broadcast(), self.here(token)));
        }
    }

    /// Begins a new chain, which replaces the chain of the held token.
    fn begin_chain(&mut self, now: Duration, progress: u64) {
        self.number += 1;
        let token = Token {
            progress,
            author: self.mac,
            number: self.number,
        };
        if let MemberState::Owner(tenure) = &mut self.role {
            (tenure.token, tenure.passing) = (token, None);
            (self.known, self.confirmed) = (Some((token, self.mac)), now);
        }
    }

    /// Replaces the chain after a failed handover, because the silent member may hold the old chain.
    fn give_up(&mut self, now: Duration, failed: MacAddr, out: &mut Vec<Outgoing>) {
        let until = now + self.timing.heartbeat * SKIP_HEARTBEATS;
        self.skipped_until.insert(failed, until);
        self.wanting.remove(&failed);
        let MemberState::Owner(tenure) = &self.role else {
            return;
        };
        let progress = tenure.token.progress + 2;
        self.begin_chain(now, progress);
        self.pass_on(now, failed, out);
    }

    /// Offers the token to the member after `after`. If there is no such member, the owner keeps the token for a while.
    fn pass_on(&mut self, now: Duration, after: MacAddr, out: &mut Vec<Outgoing>) {
        let next = self.next_after(now, after);
        let MemberState::Owner(tenure) = &mut self.role else {
            return;
        };
        let Some(to) = next else {
            tenure.done = now + self.timing.idle_hold.max(self.timing.take_timeout);
            if after != self.mac {
                let token = tenure.token;
                out.push((MacAddr::broadcast(), self.here(token)));
            }
            return;
        };
        let offered_token = Token {
            progress: tenure.token.progress + 1,
            ..tenure.token
        };
        tenure.passing = Some(Passing {
            to,
            offered_token,
            attempts: 1,
            due: now + self.timing.take_timeout,
        });
        self.note_token(now, offered_token, to, None);
        out.push((to, self.offer(offered_token)));
    }

    /// Returns the next member in ring order that wants the token. If no member wants the token, returns the next
    /// member that is not skipped.
    fn next_after(&self, now: Duration, after: MacAddr) -> Option<MacAddr> {
        let members = self.table.members();
        let own = self.mac;
        // The search goes once around the ring and ends at this node.
        let ahead = members.range((Excluded(after), Unbounded));
        let round = ahead.chain(members.range(..after));
        let hearing = round.filter(|(mac, _)| !self.deaf.contains(mac));
        let way: Vec<MacAddr> = hearing.map(|(mac, _)| *mac).collect();
        let way = way.split(|mac| *mac == own).next().unwrap_or_default();
        let is_skipped = |mac: &MacAddr| {
            self.skipped_until
                .get(mac)
                .is_some_and(|until| now < *until)
        };
        let wanting = way.iter().find(|mac| self.wanting.contains(mac));
        wanting
            .or_else(|| way.iter().find(|mac| !is_skipped(mac)))
            .copied()
    }

    fn offer(&self, token: Token) -> Message {
        Message::TakeToken {
            token,
            digest: self.table.digest(),
            data: self.data.clone(),
        }
    }
}
