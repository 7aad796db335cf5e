//! One token: its data, its holders and its queue.

use std::collections::BTreeMap;

use ring_codec::ftn::Access;

use super::parties::{Parties, Party};
use crate::backoff::Backoff;
use crate::time::Instant;

// A server may have a million tokens, so the struct is small and rare fields are boxed.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Token {
    /// The name, followed by the data.
    // Both are in one allocation, because there may be a million tokens.
    text: Box<[u8]>,
    name_len: u16,
    /// Sessions that hold the token, wait for it, or returned it, by id.
    parties: Parties,
    /// The queue; `None` if no session waits.
    pub(super) queue: Option<Box<Queue>>,
    /// Number of sessions that hold the token.
    holders: u32,
    /// Whether the holder has exclusive access.
    is_exclusive: bool,
    /// Whether the token waits for the end of a survey, or goes to another server.
    is_withheld: bool,
    /// Time at which the token became idle; [`IN_USE`] if the token is not idle. An `Option` would use 8 bytes more.
    idle: Instant,
}

/// A time that never arrives.
const IN_USE: Instant = Instant::from_nanos(u64::MAX);

/// REQUESTs that wait for a token, in order, and the REVOKE for the first of these REQUESTs.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Queue {
    waiting: BTreeMap<i32, Wait>,
    // There are two maps, because a session's REQUEST and the head are both looked up often.
    order: BTreeMap<u32, i32>,
    next_place: u32,
    /// Place of the first REQUEST, and the times at which the server repeats REVOKE for this REQUEST.
    pub(super) revoke: Option<(u32, Backoff)>,
}

/// A REQUEST that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Wait {
    pub(crate) msgnum: i64,
    pub(crate) access: Access,
    /// Whether GRANT carries the fencing number.
    pub(crate) fenced: bool,
    place: u32,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns the place, session and REQUEST of the head.
    pub(crate) fn head(&self) -> Option<(u32, i32, Wait)> {
        let (&place, &session) = self.order.first_key_value()?;
        Some((place, session, *self.waiting.get(&session)?))
    }

    pub(crate) fn get(&self, session: i32) -> Option<Wait> {
        self.waiting.get(&session).copied()
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = i32> {
        self.order.values().copied()
    }

    /// Queues a REQUEST. A queued REQUEST keeps its place, unless its access changes.
    pub(crate) fn put(&mut self, session: i32, msgnum: i64, access: Access, fenced: bool) {
        let place = match self.waiting.get(&session) {
            Some(wait) if wait.access == access => wait.place,
            // A REQUEST with a different access is a new REQUEST, which must not overtake other sessions.
            Some(wait) => {
                self.order.remove(&wait.place);
                self.take_place()
            }
            None => self.take_place(),
        };
        self.order.insert(place, session);
        let wait = Wait {
            msgnum,
            access,
            fenced,
            place,
        };
        self.waiting.insert(session, wait);
    }

    pub(crate) fn remove(&mut self, session: i32) -> bool {
        let wait = self.waiting.remove(&session);
        wait.is_some_and(|wait| self.order.remove(&wait.place).is_some())
    }

    fn take_place(&mut self) -> u32 {
        self.next_place = self.next_place.wrapping_add(1);
        self.next_place
    }
}

impl Token {
    pub(crate) fn new(name: &[u8]) -> Self {
        Self {
            text: name.into(),
            // Cannot fail: a name has at most 1 KiB.
            name_len: u16::try_from(name.len()).unwrap_or(u16::MAX),
            parties: Parties::default(),
            queue: None,
            holders: 0,
            is_exclusive: false,
            is_withheld: false,
            idle: IN_USE,
        }
    }

    pub(crate) fn name(&self) -> &[u8] {
        self.text.get(..self.name_len.into()).unwrap_or_default()
    }

    pub(crate) fn data(&self) -> &[u8] {
        self.text.get(self.name_len.into()..).unwrap_or_default()
    }

    /// Returns the bytes of name and data.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn set_data(&mut self, data: &[u8]) {
        self.text = [self.name(), data].concat().into();
    }

    /// Returns the time at which the token became idle, if this time was recorded.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        (self.idle != IN_USE).then_some(self.idle)
    }

    pub(crate) fn set_idle_since(&mut self, since: Option<Instant>) {
        self.idle = since.unwrap_or(IN_USE);
    }

    pub(crate) fn party(&self, session: i32) -> Option<Party> {
        self.parties.get(session)
    }

    pub(crate) fn party_mut(&mut self, session: i32) -> (&mut Party, bool) {
        self.parties.entry(session)
    }

    pub(crate) fn parties(&self) -> &[Party] {
        self.parties.as_slice()
    }

    /// Returns the access with which a session holds the token; `None` if the session does not hold the token.
    pub(crate) fn held_by(&self, session: i32) -> Option<Access> {
        self.party(session).and_then(|party| party.held)
    }

    pub(crate) const fn holder_count(&self) -> u32 {
        self.holders
    }

    /// Returns the access as a number for listings: 0 means free, 1 means shared, and -1 means exclusive.
    pub(crate) const fn access(&self) -> i32 {
        match (self.holders, self.is_exclusive) {
            (0, _) => 0,
            (_, false) => 1,
            (_, true) => -1,
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.holders > 0
    }

    /// Returns the sessions that hold the token.
    pub(crate) fn holders(&self) -> impl Iterator<Item = i32> {
        let holding = self.parties().iter().filter(|party| party.held.is_some());
        holding.map(|party| party.session)
    }

    /// Whether the token can be granted to a session now. The token can be granted if no other session holds it, or if
    /// all sessions share it.
    pub(crate) fn is_free_for(&self, session: i32, access: Access) -> bool {
        // The session itself may hold the token and ask for an upgrade.
        let others = self.holders - u32::from(self.held_by(session).is_some());
        others == 0 || access == Access::Shared && !self.is_exclusive
    }

    // The caller has checked that no other holder is in the way.
    pub(crate) fn set_held(&mut self, session: i32, held: Option<Access>) {
        let (party, _) = self.party_mut(session);
        let before = std::mem::replace(&mut party.held, held);
        self.holders += u32::from(held.is_some());
        self.holders -= u32::from(before.is_some());
        self.is_exclusive = if self.holders == 0 {
            false
        } else if held.is_some() {
            held == Some(Access::Exclusive)
        } else {
            self.is_exclusive
        };
    }

    pub(crate) fn remove_party(&mut self, session: i32) {
        if self.held_by(session).is_some() {
            self.set_held(session, None);
        }
        self.parties.remove(session);
    }

    /// Returns the place, session and REQUEST of the queue's head.
    pub(crate) fn head(&self) -> Option<(u32, i32, Wait)> {
        self.queue.as_ref()?.head()
    }

    /// Returns the waiting sessions, in order.
    pub(crate) fn waiting_sessions(&self) -> impl Iterator<Item = i32> {
        self.queue.iter().flat_map(|queue| queue.sessions())
    }

    /// Returns the waiting REQUEST of a session.
    pub(crate) fn wait_of(&self, session: i32) -> Option<Wait> {
        self.queue.as_ref()?.get(session)
    }

    /// If the server sends REVOKE for a REQUEST, returns the REQUEST's place and the times of the repetitions.
    pub(crate) fn revoke(&self) -> Option<(u32, Backoff)> {
        self.queue.as_ref()?.revoke
    }

    /// Queues a REQUEST of a session. Returns whether the same REQUEST was already queued.
    pub(crate) fn enqueue(
        &mut self,
        session: i32,
        msgnum: i64,
        access: Access,
        fenced: bool,
    ) -> bool {
        self.party_mut(session);
        let queue = self.queue.get_or_insert_default();
        // This is read before `put` replaces the REQUEST.
        let is_repeated = queue.get(session).is_some_and(|it| it.msgnum == msgnum);
        queue.put(session, msgnum, access, fenced);
        is_repeated
    }

    /// Removes a session's REQUEST from the queue. Returns whether the queue contained such a REQUEST.
    pub(crate) fn dequeue(&mut self, session: i32) -> bool {
        let queue = self.queue.as_mut();
        queue.is_some_and(|queue| queue.remove(session))
    }

    pub(crate) const fn set_withheld(&mut self, is_withheld: bool) {
        self.is_withheld = is_withheld;
    }

    pub(crate) const fn is_withheld(&self) -> bool {
        self.is_withheld
    }

    pub(crate) fn is_awaited(&self) -> bool {
        self.queue.is_some()
    }

    pub(crate) fn waiting_count(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.len())
    }

    /// Whether the token can be removed. If the token is removed, only its data are lost.
    pub(crate) fn is_idle(&self) -> bool {
        // A survey or a handover still needs the data of a withheld token.
        !self.is_held() && !self.is_awaited() && !self.is_withheld
    }
}
