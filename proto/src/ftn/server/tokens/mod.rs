//! All tokens of a server, and what is found without going through all of them.

mod order;
mod parties;
mod token;

use std::collections::BTreeSet;

use ring_codec::ftn::Access;
use xxhash_rust::xxh3::xxh3_64;

use crate::backoff::Backoff;
use crate::ftn::server::options::{PARTY_BYTES, QUEUE_BYTES, TOKEN_BYTES, WAIT_BYTES};
use order::Order;
use token::Queue;

use crate::time::Instant;

pub(crate) use token::Token;

/// A token's number, good as long as it is there.
pub(crate) type Id = u32;

#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct Tokens {
    slots: Vec<Option<Box<Token>>>,
    vacant: Vec<Id>,
    by_hash: BTreeSet<(u32, Id)>,
    order: Order,
    /// Which tokens a session has to do with.
    by_session: BTreeSet<(i32, Id)>,
    /// Neither held nor awaited, with data and without, by the time since when.
    idle: [BTreeSet<(Instant, Id)>; 2],
    /// When REVOKE is to be repeated.
    revokes: BTreeSet<(Instant, Id)>,
    bytes: usize,
    held: usize,
    waiting: usize,
}

/// A name's place in the index. Some names share one.
fn hash(name: &[u8]) -> u32 {
    // The lower half of it is as good.
    #[expect(clippy::cast_possible_truncation)]
    let hash = xxh3_64(name) as u32;
    hash
}

/// What a token takes of the memory, in bytes.
fn size(token: &Token) -> usize {
    let name = token.name().len();
    let parties = token.parties().len().saturating_sub(1) * (PARTY_BYTES + name);
    let queue = usize::from(token.is_awaited()) * QUEUE_BYTES + token.waiting() * WAIT_BYTES;
    name + token.data().len() + TOKEN_BYTES + parties + queue
}

impl Tokens {
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.vacant.len()
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) const fn held(&self) -> usize {
        self.held
    }

    pub(crate) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Numbers of tokens are below this.
    pub(crate) fn end(&self) -> Id {
        // Memory for more does not exist.
        Id::try_from(self.slots.len()).unwrap_or(Id::MAX)
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<Id> {
        let hash = hash(name);
        let same = self.by_hash.range((hash, 0)..=(hash, Id::MAX));
        let mut ids = same.map(|(_, id)| *id);
        ids.find(|&id| self.get(id).is_some_and(|token| token.name() == name))
    }

    pub(crate) fn get(&self, id: Id) -> Option<&Token> {
        self.slots.get(id as usize)?.as_deref()
    }

    /// A change of a token; what is kept beside it is brought up to date.
    pub(crate) fn change<T>(
        &mut self,
        now: Instant,
        id: Id,
        change: impl FnOnce(&mut Token) -> T,
    ) -> Option<T> {
        let token = self.slots.get_mut(id as usize)?.as_deref_mut()?;
        let before = (size(token), token.is_held(), token.waiting());
        let was_full = !token.data().is_empty();
        let result = change(token);
        if token.queue.as_ref().is_some_and(|queue| queue.len() == 0) {
            let queue = token.queue.take();
            if let Some((_, backoff)) = queue.and_then(|queue| queue.revoke) {
                self.revokes.remove(&(backoff.due(), id));
            }
        }
        self.bytes = self.bytes + size(token) - before.0;
        self.held = self.held + usize::from(token.is_held()) - usize::from(before.1);
        self.waiting = self.waiting + token.waiting() - before.2;
        let is_full = !token.data().is_empty();
        let (was, is) = (token.idle(), token.is_idle());
        if let Some(since) = was.filter(|_| !is || was_full != is_full) {
            self.idle[usize::from(was_full)].remove(&(since, id));
            token.set_idle(None);
        }
        if is && token.idle().is_none() {
            token.set_idle(Some(now));
            self.idle[usize::from(is_full)].insert((now, id));
        }
        Some(result)
    }

    /// Makes a token that is not there; it is to be changed before anything else.
    pub(crate) fn add(&mut self, name: &[u8]) -> Id {
        let token = Token::new(name);
        self.bytes += size(&token);
        let token = Some(Box::new(token));
        let id = if let Some(id) = self.vacant.pop() {
            self.slots[id as usize] = token;
            id
        } else {
            self.slots.push(token);
            self.end() - 1
        };
        self.by_hash.insert((hash(name), id));
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
        self.order.remove(&name, |id| name_of(slots, id));
        self.by_hash.remove(&(hash(&name), id));
        let Some(token) = self.slots[id as usize].take() else {
            return;
        };
        self.vacant.push(id);
        self.bytes -= size(&token);
        self.held -= usize::from(token.is_held());
        self.waiting -= token.waiting();
        if let Some(since) = token.idle() {
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

    /// Whether sums and indexes are those of the tokens.
    #[cfg(debug_assertions)]
    pub(crate) fn is_sound(&self) -> bool {
        let tokens = || {
            self.slots
                .iter()
                .zip(0..)
                .filter_map(|(slot, id)| Some((slot.as_deref()?, id)))
        };
        let sum = |of: fn(&Token) -> usize| tokens().map(|(token, _)| of(token)).sum::<usize>();
        let is_found = |(token, id): (&Token, Id)| {
            let idle = &self.idle[usize::from(!token.data().is_empty())];
            self.by_hash.contains(&(hash(token.name()), id))
                && token.idle().is_none_or(|since| idle.contains(&(since, id)))
        };
        let idle = sum(|token| usize::from(token.idle().is_some()));
        tokens().all(is_found)
            && self.by_hash.len() == self.len()
            && self.idle.iter().map(BTreeSet::len).sum::<usize>() == idle
            && self.bytes == sum(size)
            && self.held == sum(|token| usize::from(token.is_held()))
            && self.waiting == sum(Token::waiting)
            && self
                .revokes
                .iter()
                .all(|(_, id)| self.get(*id).is_some_and(|token| token.waiting() > 0))
    }

    /// The tokens behind a name, in order.
    pub(crate) fn after(&self, name: &[u8]) -> impl Iterator<Item = (Id, &Token)> {
        let ids = self.order.after(name, |id| name_of(&self.slots, id));
        ids.filter_map(|id| Some((id, self.get(id)?)))
    }

    /// A session has to do with a token.
    pub(crate) fn relate(&mut self, session: i32, id: Id) {
        self.by_session.insert((session, id));
    }

    /// The tokens that a session has to do with.
    pub(crate) fn of_session(&self, session: i32) -> Vec<Id> {
        let range = (session, 0)..=(session, Id::MAX);
        self.by_session.range(range).map(|(_, id)| *id).collect()
    }

    /// A session has nothing to do with a token any longer.
    pub(crate) fn part(&mut self, now: Instant, session: i32, id: Id) {
        self.by_session.remove(&(session, id));
        self.change(now, id, |token| {
            token.remove_party(session);
            token.dequeue(session);
        });
    }

    /// A session holds a token from now on, or no longer.
    pub(crate) fn hold(&mut self, now: Instant, session: i32, id: Id, held: Option<Access>) {
        self.relate(session, id);
        self.change(now, id, |token| token.set_held(session, held));
    }

    /// Nobody has to do with a token any longer.
    pub(crate) fn part_all(&mut self, now: Instant, id: Id) {
        let parties = self.get(id).map_or(&[][..], Token::parties);
        let sessions: Vec<i32> = parties.iter().map(|party| party.session).collect();
        for session in sessions {
            self.part(now, session, id);
        }
    }

    /// Nobody waits for a token any longer.
    pub(crate) fn drop_queue(&mut self, now: Instant, id: Id) {
        self.change(now, id, |token| {
            let sessions: Vec<i32> = token.sessions_waiting().collect();
            for session in sessions {
                token.dequeue(session);
            }
        });
    }

    /// The idle token that is longest unused, other than `kept`.
    pub(crate) fn longest_idle(&self, kept: Option<Id>) -> Option<Id> {
        let first = |idle: &BTreeSet<(Instant, Id)>| {
            let mut others = idle.iter().filter(|(_, id)| Some(*id) != kept);
            others.next().copied()
        };
        let firsts = self.idle.iter().filter_map(first);
        firsts.min().map(|(_, id)| id)
    }

    /// Since when the longest unused token without data is idle.
    pub(crate) fn longest_empty(&self) -> Option<(Instant, Id)> {
        self.idle[0].first().copied()
    }

    /// Sets when REVOKE is to be repeated for who is first in a token's queue, at this place.
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

    /// The REVOKE that is to be repeated next.
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
