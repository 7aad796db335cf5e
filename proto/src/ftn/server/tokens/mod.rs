//! All tokens of a server, with indexes over them. This module contains no rule about possible holders of a token.
//!
//! Start reading at [`Token`], then at [`Tokens::change`]. This function keeps the indexes correct.

mod name_order;
mod parties;
mod token;

use std::collections::BTreeSet;

use ring_codec::ftn::Access;
use xxhash_rust::xxh3::xxh3_64;

use crate::backoff::Backoff;
use crate::ftn::server::options::{PARTY_BYTES, QUEUE_BYTES, TOKEN_BYTES, WAITING_REQUEST_BYTES};
use name_order::NameOrder;
use token::Queue;

use crate::time::Instant;

pub(crate) use token::Token;

/// Number of a token, valid until the removal of the token.
pub(crate) type Id = u32;

#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct Tokens {
    slots: Vec<Option<Box<Token>>>,
    // Numbers are used again, so that `slots` does not grow with all tokens ever seen.
    vacant: Vec<Id>,
    // The index contains hashes instead of names, so that names are not stored twice.
    by_hash: BTreeSet<(u32, Id)>,
    order: NameOrder,
    /// For each session: the tokens that have the session as a party.
    // When a session ends, a walk over all tokens would take too long.
    by_session: BTreeSet<(i32, Id)>,
    /// Idle tokens (neither held nor awaited), ordered by the time at which they became idle. The first set contains
    /// tokens without data, and the second set contains tokens with data.
    // There are two sets, because only tokens without data are forgotten after some time.
    idle: [BTreeSet<(Instant, Id)>; 2],
    /// Times at which REVOKEs must be repeated.
    revokes: BTreeSet<(Instant, Id)>,
    bytes: usize,
    held: usize,
    waiting: usize,
}

/// Returns a name's key in the index. Several names may share one key.
fn name_hash(name: &[u8]) -> u32 {
    // The lower half of the hash is as good as the whole hash.
    #[expect(clippy::cast_possible_truncation)]
    let hash = xxh3_64(name) as u32;
    hash
}

/// Returns the memory of a token, in bytes.
fn token_bytes(token: &Token) -> usize {
    let name = token.name().len();
    let parties = token.parties().len().saturating_sub(1) * (PARTY_BYTES + name);
    let queue = usize::from(token.is_awaited()) * QUEUE_BYTES
        + token.waiting_count() * WAITING_REQUEST_BYTES;
    name + token.data().len() + TOKEN_BYTES + parties + queue
}

impl Tokens {
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) const fn held_count(&self) -> usize {
        self.held
    }

    pub(crate) const fn waiting_count(&self) -> usize {
        self.waiting
    }

    /// Returns a number above the numbers of all tokens.
    pub(crate) fn id_limit(&self) -> Id {
        // Cannot fail: there is no memory for more tokens.
        Id::try_from(self.slots.len()).unwrap_or(Id::MAX)
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<Id> {
        let hash = name_hash(name);
        let same = self.by_hash.range((hash, 0)..=(hash, Id::MAX));
        let mut ids = same.map(|(_, id)| *id);
        // Two names can have the same hash.
        ids.find(|&id| self.get(id).is_some_and(|token| token.name() == name))
    }

    pub(crate) fn get(&self, id: Id) -> Option<&Token> {
        self.slots.get(id as usize)?.as_deref()
    }

    /// Changes a token, and keeps all indexes correct.
    pub(crate) fn change<T>(
        &mut self,
        now: Instant,
        id: Id,
        change: impl FnOnce(&mut Token) -> T,
    ) -> Option<T> {
        let token = self.slots.get_mut(id as usize)?.as_deref_mut()?;
        let before = (token_bytes(token), token.is_held(), token.waiting_count());
        let was_full = !token.data().is_empty();
        let result = change(token);
        // Few tokens have a queue, so an empty queue is freed.
        if token.queue.as_ref().is_some_and(|queue| queue.len() == 0) {
            let queue = token.queue.take();
            if let Some((_, backoff)) = queue.and_then(|queue| queue.revoke) {
                self.revokes.remove(&(backoff.due(), id));
            }
        }
        // The new value is added before the old value is subtracted, because the sums are unsigned.
        self.bytes = self.bytes + token_bytes(token) - before.0;
        self.held = self.held + usize::from(token.is_held()) - usize::from(before.1);
        self.waiting = self.waiting + token.waiting_count() - before.2;
        let is_full = !token.data().is_empty();
        let (was, is) = (token.idle_since(), token.is_idle());
        if let Some(since) = was.filter(|_| !is || was_full != is_full) {
            self.idle[usize::from(was_full)].remove(&(since, id));
            token.set_idle_since(None);
        }
        if is && token.idle_since().is_none() {
            token.set_idle_since(Some(now));
            self.idle[usize::from(is_full)].insert((now, id));
        }
        Some(result)
    }

    // The caller changes the token next, which puts it into the index of idle tokens.
    pub(crate) fn add(&mut self, name: &[u8]) -> Id {
        let token = Token::new(name);
        self.bytes += token_bytes(&token);
        let token = Some(Box::new(token));
        let id = if let Some(id) = self.vacant.pop() {
            self.slots[id as usize] = token;
            id
        } else {
            self.slots.push(token);
            self.id_limit() - 1
        };
        self.by_hash.insert((name_hash(name), id));
        let slots = &self.slots;
        self.order.insert(id, name, |id| name_of(slots, id));
        id
    }

    pub(crate) fn remove(&mut self, id: Id) {
        let Some(token) = self.get(id) else {
            return;
        };
        let name: Box<[u8]> = token.name().into();
        let slots = &self.slots;
        // The index compares names inside tokens, so the token must still be in its slot.
        self.order.remove(&name, |id| name_of(slots, id));
        self.by_hash.remove(&(name_hash(&name), id));
        let Some(token) = self.slots[id as usize].take() else {
            return;
        };
        self.vacant.push(id);
        self.bytes -= token_bytes(&token);
        self.held -= usize::from(token.is_held());
        self.waiting -= token.waiting_count();
        if let Some(since) = token.idle_since() {
            self.idle[usize::from(!token.data().is_empty())].remove(&(since, id));
        }
        for party in token.parties() {
            self.by_session.remove(&(party.session, id));
        }
        if let Some((_, backoff)) = token.revoke() {
            self.revokes.remove(&(backoff.due(), id));
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether sums and indexes agree with the tokens.
    pub(crate) fn is_consistent(&self) -> bool {
        let tokens = || {
            self.slots
                .iter()
                .zip(0..)
                .filter_map(|(slot, id)| Some((slot.as_deref()?, id)))
        };
        let sum = |of: fn(&Token) -> usize| tokens().map(|(token, _)| of(token)).sum::<usize>();
        let is_found = |(token, id): (&Token, Id)| {
            let idle = &self.idle[usize::from(!token.data().is_empty())];
            self.by_hash.contains(&(name_hash(token.name()), id))
                && token
                    .idle_since()
                    .is_none_or(|since| idle.contains(&(since, id)))
        };
        let idle = sum(|token| usize::from(token.idle_since().is_some()));
        tokens().all(is_found)
            && self.by_hash.len() == self.len()
            && self.idle.iter().map(BTreeSet::len).sum::<usize>() == idle
            && self.bytes == sum(token_bytes)
            && self.held == sum(|token| usize::from(token.is_held()))
            && self.waiting == sum(Token::waiting_count)
            && self
                .revokes
                .iter()
                .all(|(_, id)| self.get(*id).is_some_and(|token| token.waiting_count() > 0))
    }

    /// Returns the tokens after a name, in the order of names.
    pub(crate) fn iter_after(&self, name: &[u8]) -> impl Iterator<Item = (Id, &Token)> {
        let ids = self.order.iter_after(name, |id| name_of(&self.slots, id));
        ids.filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Records that a session is involved with a token.
    pub(crate) fn link_session(&mut self, session: i32, id: Id) {
        self.by_session.insert((session, id));
    }

    /// Returns the tokens that have this session as a party.
    pub(crate) fn ids_of_session(&self, session: i32) -> Vec<Id> {
        let range = (session, 0)..=(session, Id::MAX);
        self.by_session.range(range).map(|(_, id)| *id).collect()
    }

    /// Removes a session from a token: from the holders, from the queue, and from the history.
    pub(crate) fn release(&mut self, now: Instant, session: i32, id: Id) {
        self.by_session.remove(&(session, id));
        self.change(now, id, |token| {
            token.remove_party(session);
            token.dequeue(session);
        });
    }

    /// Records a session's access to a token; `None` if the session no longer holds the token.
    pub(crate) fn hold(&mut self, now: Instant, session: i32, id: Id, held: Option<Access>) {
        self.link_session(session, id);
        self.change(now, id, |token| token.set_held(session, held));
    }

    /// Removes all sessions from a token.
    pub(crate) fn release_all(&mut self, now: Instant, id: Id) {
        let parties = self.get(id).map_or(&[][..], Token::parties);
        let sessions: Vec<i32> = parties.iter().map(|party| party.session).collect();
        for session in sessions {
            self.release(now, session, id);
        }
    }

    /// Removes all REQUESTs from a token's queue.
    pub(crate) fn drop_queue(&mut self, now: Instant, id: Id) {
        self.change(now, id, |token| {
            let sessions: Vec<i32> = token.waiting_sessions().collect();
            for session in sessions {
                token.dequeue(session);
            }
        });
    }

    /// Returns the token that has been idle longest, except `kept`.
    pub(crate) fn longest_idle(&self, kept: Option<Id>) -> Option<Id> {
        let first = |idle: &BTreeSet<(Instant, Id)>| {
            let mut others = idle.iter().filter(|(_, id)| Some(*id) != kept);
            others.next().copied()
        };
        // Only the age decides. Tokens with data are not kept longer than others.
        let firsts = self.idle.iter().filter_map(first);
        firsts.min().map(|(_, id)| id)
    }

    /// Returns the token without data that has been idle longest, and the time at which it became idle.
    pub(crate) fn longest_empty(&self) -> Option<(Instant, Id)> {
        self.idle[0].first().copied()
    }

    /// Sets the time of the next repetition of REVOKE. `place` is the place of the first REQUEST in the queue. The
    /// server sends the REVOKE for this REQUEST.
    pub(crate) fn set_revoke(&mut self, id: Id, place: u32, backoff: Backoff) {
        let token = self
            .slots
            .get_mut(id as usize)
            .and_then(Option::as_deref_mut);
        let queue: Option<&mut Queue> = token.and_then(|token| token.queue.as_deref_mut());
        if let Some(queue) = queue {
            if let Some((_, old)) = queue.revoke.replace((place, backoff)) {
                self.revokes.remove(&(old.due(), id));
            }
            self.revokes.insert((backoff.due(), id));
        }
    }

    /// Returns the REVOKE that is repeated next.
    pub(crate) fn next_revoke(&self) -> Option<(Instant, Id)> {
        self.revokes.first().copied()
    }
}

fn name_of(slots: &[Option<Box<Token>>], id: Id) -> &[u8] {
    let token = slots.get(id as usize).and_then(Option::as_deref);
    token.map_or(&[], Token::name)
}

#[cfg(test)]
mod tests {
    impl super::Tokens {
        pub(crate) fn spoil(&mut self) {
            self.held += 1;
        }
    }
}
