//! The data of one token as those see it who wrote and read: an update that was acknowledged must not be lost.
//!
//! A read is a grant. It is stale if another update was begun after the one that it shows was confirmed, and was
//! itself confirmed, or shown, before the token was asked for: then it came between, in whatever order the rest did.

use std::collections::BTreeMap;

/// What is known of one update.
#[derive(Debug, Clone, Copy)]
struct Write {
    /// When its client had asked for the token that it holds.
    asked: u64,
    begun: u64,
    /// When its client was told that it is done.
    confirmed: Option<u64>,
    /// When it was first certain that it is: its client was told, or a grant has shown it.
    certain: Option<u64>,
}

/// The updates of one token, by their numbers. Number 0 is the empty token.
#[derive(Debug)]
pub struct Register {
    writes: BTreeMap<u64, Write>,
}

/// What is wrong with what a grant shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Nobody wrote it.
    Unknown,
    /// A later update is missing: that one, begun then, under a token that was asked for then.
    Lost { update: u64, begun: u64, asked: u64 },
}

impl Default for Register {
    fn default() -> Self {
        let empty = Write {
            asked: 0,
            begun: 0,
            confirmed: Some(0),
            certain: Some(0),
        };
        Self {
            writes: BTreeMap::from([(0, empty)]),
        }
    }
}

impl Register {
    /// A client sends an update, under a token that it had asked for at `asked`.
    pub fn begin(&mut self, update: u64, asked: u64, now: u64) {
        let write = Write {
            asked,
            begun: now,
            confirmed: None,
            certain: None,
        };
        self.writes.insert(update, write);
    }

    /// Its client is told that it is done.
    pub fn confirm(&mut self, update: u64, now: u64) {
        if let Some(write) = self.writes.get_mut(&update) {
            write.confirmed = Some(now);
            write.certain.get_or_insert(now);
        }
    }

    /// A grant that was asked for at `requested` shows the data of an update. What is wrong with that, if anything is.
    pub fn show(&mut self, update: u64, requested: u64, now: u64) -> Option<Flaw> {
        let Some(shown) = self.writes.get_mut(&update) else {
            return Some(Flaw::Unknown);
        };
        shown.certain.get_or_insert(now);
        let confirmed = shown.confirmed?;
        let came_between = |write: &Write| {
            write.begun > confirmed && write.certain.is_some_and(|certain| certain < requested)
        };
        let mut others = self.writes.iter();
        let missing = others.rfind(|(_, write)| came_between(write));
        missing.map(|(&update, write)| Flaw::Lost {
            update,
            begun: write.begun,
            asked: write.asked,
        })
    }
}

/// The data of an update: its number, and so many bytes in all.
pub(super) fn data(update: u64, len: usize) -> Box<[u8]> {
    let mut data = format!("u{update}").into_bytes();
    data.resize(len.max(data.len()), b'.');
    data.into()
}

/// The update whose data these are; empty ones are of none, number 0.
pub(super) fn update_of(data: &[u8]) -> Option<u64> {
    if data.is_empty() {
        return Some(0);
    }
    let digits = data.strip_prefix(b"u")?;
    let digits = digits.split(|&byte| byte == b'.').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_shows_the_last_update_or_one_under_way() {
        let mut register = Register::default();
        assert_eq!(register.show(0, 1, 2), None);
        register.begin(1, 5, 10);
        register.confirm(1, 20);
        register.begin(2, 25, 30);
        // It may have been done already, or not.
        assert_eq!(register.show(1, 35, 36), None);
        assert_eq!(register.show(2, 35, 36), None);
        // Now it was seen.
        let lost = Flaw::Lost {
            update: 2,
            begun: 30,
            asked: 25,
        };
        assert_eq!(register.show(1, 37, 38), Some(lost));
        assert_eq!(register.show(0, 37, 38), Some(lost));
        assert_eq!(register.show(9, 37, 38), Some(Flaw::Unknown));
    }

    #[test]
    fn data_are_known_by_the_number_of_their_update() {
        for update in [1, 27] {
            assert_eq!(update_of(&data(update, 0)), Some(update));
            assert_eq!(update_of(&data(update, 3_000)), Some(update));
        }
        assert_eq!((update_of(b""), update_of(b"x")), (Some(0), None));
    }
}
