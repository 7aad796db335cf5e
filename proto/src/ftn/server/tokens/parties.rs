//! The sessions that are parties of one token.

use ring_codec::ftn::Access;

/// A msgnum that is below all other msgnums.
const NO_MSGNUM: i64 = i64::MIN;

/// A session's involvement with a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
// A session stays a party after it has returned the token, so that its late messages are recognized.
pub(crate) struct Party {
    pub(crate) session: i32,
    pub(crate) held: Option<Access>,
    /// Msgnum of the session's last grant.
    pub(crate) granted: i64,
    /// Highest msgnum of a RETURN that took effect.
    pub(crate) returned: i64,
    /// Lower 64 bits of the fencing number of the session's last grant.
    fence: u64,
    /// Upper 24 bits of the same fencing number. A single `u128` instead of the two fields would make each party 16
    /// bytes larger.
    fence_above: [u8; 3],
}

impl Party {
    const fn new(session: i32) -> Self {
        Self {
            session,
            held: None,
            granted: NO_MSGNUM,
            returned: NO_MSGNUM,
            fence: 0,
            fence_above: [0; 3],
        }
    }

    /// Returns the fencing number of the session's last grant.
    pub(crate) fn fence(&self) -> u128 {
        let [a, b, c] = self.fence_above;
        u128::from(u32::from_be_bytes([0, a, b, c])) << 64 | u128::from(self.fence)
    }

    /// Sets the fencing number of the session's last grant. The number has at most 88 bits.
    pub(crate) fn set_fence(&mut self, fence: u128) {
        let bytes = fence.to_be_bytes();
        let (above, below) = bytes.split_at(8);
        self.fence_above.copy_from_slice(&above[5..]);
        self.fence = below
            .iter()
            .fold(0, |all, &byte| all << 8 | u64::from(byte));
    }
}

/// Parties of a token, by session. Most tokens have only one party. One party needs no allocation.
#[derive(Debug, Clone, Hash, Default)]
pub(crate) enum Parties {
    #[default]
    None,
    One(Party),
    Many(Vec<Party>),
}

impl Parties {
    pub(crate) fn as_slice(&self) -> &[Party] {
        match self {
            Self::None => &[],
            Self::One(party) => std::slice::from_ref(party),
            Self::Many(parties) => parties,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Party] {
        match self {
            Self::None => &mut [],
            Self::One(party) => std::slice::from_mut(party),
            Self::Many(parties) => parties,
        }
    }

    fn find(&self, session: i32) -> Result<usize, usize> {
        let parties = self.as_slice();
        // Parties are sorted, because a token may have thousands of them.
        parties.binary_search_by_key(&session, |party| party.session)
    }

    pub(crate) fn get(&self, session: i32) -> Option<Party> {
        self.find(session).ok().map(|at| self.as_slice()[at])
    }

    pub(crate) fn entry(&mut self, session: i32) -> (&mut Party, bool) {
        let found = self.find(session);
        let (Ok(at) | Err(at)) = found;
        if found.is_err() {
            self.insert(at, Party::new(session));
        }
        (&mut self.as_mut_slice()[at], found.is_err())
    }

    fn insert(&mut self, at: usize, party: Party) {
        match self {
            Self::None => *self = Self::One(party),
            // Most tokens never have two parties, so only the second party needs a vector.
            Self::One(other) => {
                let mut parties = vec![*other];
                parties.insert(at, party);
                *self = Self::Many(parties);
            }
            Self::Many(parties) => parties.insert(at, party),
        }
    }

    pub(crate) fn remove(&mut self, session: i32) {
        let Ok(at) = self.find(session) else {
            return;
        };
        match self {
            Self::Many(parties) if parties.len() > 1 => {
                parties.remove(at);
            }
            _ => *self = Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parties_come_and_go_in_order() {
        let mut parties = Parties::default();
        let ids = |parties: &Parties| -> Vec<i32> {
            parties
                .as_slice()
                .iter()
                .map(|party| party.session)
                .collect()
        };
        for (session, expected) in [
            (5, vec![5]),
            (3, vec![3, 5]),
            (5, vec![3, 5]),
            (9, vec![3, 5, 9]),
        ] {
            let is_new = ids(&parties).binary_search(&session).is_err();
            let (party, new) = parties.entry(session);
            party.granted = session.into();
            assert_eq!((party.session, new), (session, is_new));
            assert_eq!(ids(&parties), expected);
        }
        assert_eq!(parties.get(5).map(|party| party.granted), Some(5));
        for (session, expected) in [(5, vec![3, 9]), (5, vec![3, 9]), (9, vec![3]), (3, vec![])] {
            parties.remove(session);
            assert_eq!(ids(&parties), expected);
        }
    }

    #[test]
    fn a_token_of_one_party_is_small() {
        assert_eq!(size_of::<Parties>(), 32);
        assert!(size_of::<crate::ftn::server::tokens::Token>() <= 72);
    }
}
