//! The sessions of the group, as they appear in the leader's list. This module never ends a session by itself.

mod id_generator;

pub(crate) use id_generator::IdGenerator;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::ftn::INTRODUCTION_BYTES_MAX;
use crate::time::Instant;

/// A session of a client.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Session {
    pub(crate) address: SocketAddr,
    /// FLOOR: a message of this session about a token is late if its msgnum is below FLOOR.
    pub(crate) floor: i64,
    /// Arrival time of the session's last message. Only the leader uses this time.
    pub(crate) heard: Instant,
    /// Seq of the leader's first STATE that lists the session; 0 if there is no such STATE.
    pub(crate) listed: i128,
    /// Time at which the leader checks whether the session is silent. The leader's index of check times contains the
    /// same value.
    pub(crate) due: Instant,
}

#[derive(Debug, Clone, Hash, Default)]
pub(crate) struct Sessions {
    by_id: BTreeMap<i32, Session>,
    // A client that logs in again from its address gets the same id.
    by_address: BTreeMap<SocketAddr, i32>,
    /// Introductions of programs. The rules of the protocol do not depend on these texts.
    // Texts are not in `Session`, because a `Session` is copied.
    introductions: BTreeMap<i32, Box<str>>,
}

impl Sessions {
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(crate) fn get(&self, id: i32) -> Option<&Session> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: i32) -> Option<&mut Session> {
        self.by_id.get_mut(&id)
    }

    /// Whether a message of the session about a token is late.
    pub(crate) fn is_below_floor(&self, id: i32, msgnum: i64) -> bool {
        msgnum < self.get(id).map_or(0, |session| session.floor)
    }

    /// Returns the session `id` if its client's address is `address`.
    pub(crate) fn get_at(&mut self, id: i32, address: SocketAddr) -> Option<&mut Session> {
        let session = self.by_id.get_mut(&id)?;
        // An id does not suffice: another process may have learned or guessed it.
        (session.address == address).then_some(session)
    }

    pub(crate) fn id_at(&self, address: SocketAddr) -> Option<i32> {
        self.by_address.get(&address).copied()
    }

    pub(crate) fn insert(&mut self, id: i32, address: SocketAddr, heard: Instant) {
        let session = Session {
            address,
            floor: 0,
            heard,
            listed: 0,
            due: heard,
        };
        self.by_id.insert(id, session);
        self.by_address.insert(address, id);
    }

    pub(crate) fn remove(&mut self, id: i32) -> Option<Session> {
        let session = self.by_id.remove(&id)?;
        self.introductions.remove(&id);
        // Another session may have the address by now.
        if self.id_at(session.address) == Some(id) {
            self.by_address.remove(&session.address);
        }
        Some(session)
    }

    /// Stores a session's introduction. Returns the introduction if it is new. Ignores a text that is too long or
    /// contains control characters.
    pub(crate) fn introduce(&mut self, id: i32, text: &[u8]) -> Option<&str> {
        let text = str::from_utf8(text).ok();
        let text =
            // People read the text on a terminal, so control characters could harm.
            text.filter(|it| it.len() <= INTRODUCTION_BYTES_MAX && !it.contains(char::is_control));
        let text =
            text.filter(|it| self.by_id.contains_key(&id) && self.introduction(id) != Some(it))?;
        self.introductions.insert(id, text.into());
        self.introduction(id)
    }

    /// Returns a session's introduction, if this server has it.
    pub(crate) fn introduction(&self, id: i32) -> Option<&str> {
        self.introductions.get(&id).map(|text| &**text)
    }

    pub(crate) fn not_in(&self, list: &BTreeMap<i32, SocketAddr>) -> Vec<i32> {
        let ids = self.by_id.keys();
        ids.filter(|id| !list.contains_key(id)).copied().collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (i32, SocketAddr)> {
        self.by_id
            .iter()
            .map(|(&id, session)| (id, session.address))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (i32, &mut Session)> {
        self.by_id.iter_mut().map(|(&id, session)| (id, session))
    }

    /// Whether each introduction belongs to a session.
    pub(crate) fn is_consistent(&self) -> bool {
        let mut introduced = self.introductions.keys();
        introduced.all(|id| self.by_id.contains_key(id))
    }

    pub(crate) fn clear(&mut self) {
        self.by_id.clear();
        self.by_address.clear();
        self.introductions.clear();
    }
}

#[cfg(test)]
mod tests {
    impl super::Sessions {
        pub(crate) fn spoil(&mut self) {
            self.introductions.insert(5, "five".into());
        }
    }
}
