//! One token: its data, who holds it, who waits for it.

use std::collections::BTreeMap;

use ring_codec::ftn::Access;

use super::parties::{Parties, Party};
use crate::backoff::Backoff;
use crate::time::Instant;

/// A token. There may be a million of them, so that it is small, and what few have is in boxes.
#[derive(Debug, Clone, Hash)]
pub(crate) struct Token {
    /// The name, and the data behind it.
    text: Box<[u8]>,
    /// How long the name is.
    name_len: u16,
    /// Sessions that hold it, wait for it, or have returned it, by id.
    parties: Parties,
    /// There if somebody waits.
    pub(super) queue: Option<Box<Queue>>,
    /// How many sessions hold it.
    holders: u32,
    /// Whether the one that does holds it alone.
    exclusive: bool,
    /// It waits for the end of a survey, or goes to another server.
    is_aside: bool,
    /// Since when it is neither held nor awaited; [`IN_USE`]: it is. An `Option` would take 8 bytes more.
    idle: Instant,
}

/// A time that never comes.
const IN_USE: Instant = Instant::from_nanos(u64::MAX);

/// Who waits for a token, in order, and the REVOKE for the first.
#[derive(Debug, Clone, Hash, Default)]
pub(super) struct Queue {
    waiting: BTreeMap<i32, Wait>,
    order: BTreeMap<u32, i32>,
    next_place: u32,
    /// The place of who is first, and when to repeat REVOKE for it.
    pub(super) revoke: Option<(u32, Backoff)>,
}

/// A REQUEST that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Wait {
    pub(crate) msgnum: i64,
    pub(crate) access: Access,
    /// GRANT is to name the fencing number.
    pub(crate) fenced: bool,
    place: u32,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// The first, and its place.
    pub(crate) fn head(&self) -> Option<(u32, i32, Wait)> {
        let (&place, &session) = self.order.first_key_value()?;
        Some((place, session, *self.waiting.get(&session)?))
    }

    pub(crate) fn get(&self, session: i32) -> Option<Wait> {
        self.waiting.get(&session).copied()
    }

    /// The sessions, in order.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = i32> {
        self.order.values().copied()
    }

    /// Queues a REQUEST. One that is queued keeps its place, unless it asks for another access now.
    pub(crate) fn put(&mut self, session: i32, msgnum: i64, access: Access, fenced: bool) {
        let place = match self.waiting.get(&session) {
            Some(wait) if wait.access == access => wait.place,
            Some(wait) => {
                self.order.remove(&wait.place);
                self.place()
            }
            None => self.place(),
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

    fn place(&mut self) -> u32 {
        self.next_place = self.next_place.wrapping_add(1);
        self.next_place
    }
}

impl Token {
    pub(crate) fn new(name: &[u8]) -> Self {
        Self {
            text: name.into(),
            // A name is not longer than 1 KiB.
            name_len: u16::try_from(name.len()).unwrap_or(u16::MAX),
            parties: Parties::default(),
            queue: None,
            holders: 0,
            exclusive: false,
            is_aside: false,
            idle: IN_USE,
        }
    }

    pub(crate) fn name(&self) -> &[u8] {
        self.text.get(..self.name_len.into()).unwrap_or_default()
    }

    pub(crate) fn data(&self) -> &[u8] {
        self.text.get(self.name_len.into()..).unwrap_or_default()
    }

    /// The bytes of name and data.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn set_data(&mut self, data: &[u8]) {
        self.text = [self.name(), data].concat().into();
    }

    /// Since when it is neither held nor awaited, if that is noted.
    pub(crate) fn idle(&self) -> Option<Instant> {
        (self.idle != IN_USE).then_some(self.idle)
    }

    /// Notes it, or that it is in use.
    pub(crate) fn set_idle(&mut self, since: Option<Instant>) {
        self.idle = since.unwrap_or(IN_USE);
    }

    pub(crate) fn party(&self, session: i32) -> Option<Party> {
        self.parties.get(session)
    }

    /// The party of a session; `true`: it is new.
    pub(crate) fn party_mut(&mut self, session: i32) -> (&mut Party, bool) {
        self.parties.entry(session)
    }

    pub(crate) fn parties(&self) -> &[Party] {
        self.parties.as_slice()
    }

    /// How a session holds it.
    pub(crate) fn held_by(&self, session: i32) -> Option<Access> {
        self.party(session).and_then(|party| party.held)
    }

    pub(crate) const fn holders(&self) -> u32 {
        self.holders
    }

    /// 0, 1 or -1, as listings say it.
    pub(crate) const fn access(&self) -> i32 {
        match (self.holders, self.exclusive) {
            (0, _) => 0,
            (_, false) => 1,
            (_, true) => -1,
        }
    }

    pub(crate) fn is_held(&self) -> bool {
        self.holders > 0
    }

    /// Those that hold it.
    pub(crate) fn holding(&self) -> impl Iterator<Item = i32> {
        let holding = self.parties().iter().filter(|party| party.held.is_some());
        holding.map(|party| party.session)
    }

    /// Whether a session could be given it in this way now: nobody else holds it, or all share.
    pub(crate) fn is_free_for(&self, session: i32, access: Access) -> bool {
        let others = self.holders - u32::from(self.held_by(session).is_some());
        others == 0 || access == Access::Shared && !self.exclusive
    }

    /// A session holds it, or no longer; that others do not stand against it was seen to.
    pub(crate) fn set_held(&mut self, session: i32, held: Option<Access>) {
        let (party, _) = self.party_mut(session);
        let before = std::mem::replace(&mut party.held, held);
        self.holders += u32::from(held.is_some());
        self.holders -= u32::from(before.is_some());
        self.exclusive = if self.holders == 0 {
            false
        } else if held.is_some() {
            held == Some(Access::Exclusive)
        } else {
            self.exclusive
        };
    }

    pub(crate) fn remove_party(&mut self, session: i32) {
        if self.held_by(session).is_some() {
            self.set_held(session, None);
        }
        self.parties.remove(session);
    }

    /// The first that waits, and its place.
    pub(crate) fn head(&self) -> Option<(u32, i32, Wait)> {
        self.queue.as_ref()?.head()
    }

    /// The sessions that wait, in order.
    pub(crate) fn sessions_waiting(&self) -> impl Iterator<Item = i32> {
        self.queue.iter().flat_map(|queue| queue.sessions())
    }

    /// The REQUEST by which a session waits.
    pub(crate) fn wait_of(&self, session: i32) -> Option<Wait> {
        self.queue.as_ref()?.get(session)
    }

    /// The place for which REVOKE is sent, and when it is to be repeated.
    pub(crate) fn revoke(&self) -> Option<(u32, Backoff)> {
        self.queue.as_ref()?.revoke
    }

    /// A session waits from now on, by this REQUEST. Returns whether it did by the same one.
    pub(crate) fn enqueue(
        &mut self,
        session: i32,
        msgnum: i64,
        access: Access,
        fenced: bool,
    ) -> bool {
        self.party_mut(session);
        let queue = self.queue.get_or_insert_default();
        let is_repeated = queue.get(session).is_some_and(|it| it.msgnum == msgnum);
        queue.put(session, msgnum, access, fenced);
        is_repeated
    }

    /// A session does not wait any longer. Returns whether it did.
    pub(crate) fn dequeue(&mut self, session: i32) -> bool {
        let queue = self.queue.as_mut();
        queue.is_some_and(|queue| queue.remove(session))
    }

    /// It is served by nobody here for now, or it is again.
    pub(crate) const fn set_aside(&mut self, is_aside: bool) {
        self.is_aside = is_aside;
    }

    #[cfg(debug_assertions)]
    pub(crate) const fn is_aside(&self) -> bool {
        self.is_aside
    }

    pub(crate) fn is_awaited(&self) -> bool {
        self.queue.is_some()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.len())
    }

    /// Whether nothing is lost with it but its data.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_held() && !self.is_awaited() && !self.is_aside
    }
}
