//! The updates of one token, to find an acknowledged update that is lost.
//!
//! A grant reads the data. It is stale if another update was begun after the shown one was confirmed, and was
//! itself confirmed or shown before the token was asked for. Such an update came between in every possible order.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy)]
struct UpdateRecord {
    /// The time at which its client asked for the token.
    asked: u64,
    begun: u64,
    /// The time at which its client got the confirmation.
    confirmed: Option<u64>,
    /// The first time at which it was certain: it was confirmed, or a grant has shown it.
    certain: Option<u64>,
}

/// The updates of one token, by their numbers. Number 0 is the empty data.
#[derive(Debug)]
pub(super) struct UpdateLog {
    writes: BTreeMap<u64, UpdateRecord>,
}

/// An error of the data that a grant shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataError {
    /// No client wrote the data.
    Unknown,
    /// A later update is missing, which was begun at `begun` under a token asked for at `asked`.
    Lost { update: u64, begun: u64, asked: u64 },
}

impl Default for UpdateLog {
    fn default() -> Self {
        let empty = UpdateRecord {
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

impl UpdateLog {
    /// Records an update that a client sends under a token that it asked for at `asked`.
    pub(super) fn on_begun(&mut self, update: u64, asked: u64, now: u64) {
        let write = UpdateRecord {
            asked,
            begun: now,
            confirmed: None,
            certain: None,
        };
        self.writes.insert(update, write);
    }

    /// Records the confirmation of an update.
    pub(super) fn on_confirmed(&mut self, update: u64, now: u64) {
        if let Some(write) = self.writes.get_mut(&update) {
            write.confirmed = Some(now);
            write.certain.get_or_insert(now);
        }
    }

    /// Records that a grant, asked for at `requested`, shows an update. Returns the error of these data, if there is
    /// one.
    pub(super) fn on_shown(&mut self, update: u64, requested: u64, now: u64) -> Option<DataError> {
        let Some(shown) = self.writes.get_mut(&update) else {
            return Some(DataError::Unknown);
        };
        shown.certain.get_or_insert(now);
        let confirmed = shown.confirmed?;
        let came_between = |write: &UpdateRecord| {
            write.begun > confirmed && write.certain.is_some_and(|certain| certain < requested)
        };
        let mut others = self.writes.iter();
        let missing = others.rfind(|(_, write)| came_between(write));
        missing.map(|(&update, write)| DataError::Lost {
            update,
            begun: write.begun,
            asked: write.asked,
        })
    }
}

/// Returns the data of an update: its number, padded to a length.
pub(super) fn data(update: u64, len: usize) -> Box<[u8]> {
    let mut data = format!("u{update}").into_bytes();
    data.resize(len.max(data.len()), b'.');
    data.into()
}

/// Returns the update of some data; empty data are number 0.
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
        let mut update_log = UpdateLog::default();
        assert_eq!(update_log.on_shown(0, 1, 2), None);
        update_log.on_begun(1, 5, 10);
        update_log.on_confirmed(1, 20);
        update_log.on_begun(2, 25, 30);
        // Update 2 may or may not be done.
        assert_eq!(update_log.on_shown(1, 35, 36), None);
        assert_eq!(update_log.on_shown(2, 35, 36), None);
        // Update 2 has been shown.
        let lost = DataError::Lost {
            update: 2,
            begun: 30,
            asked: 25,
        };
        assert_eq!(update_log.on_shown(1, 37, 38), Some(lost));
        assert_eq!(update_log.on_shown(0, 37, 38), Some(lost));
        assert_eq!(update_log.on_shown(9, 37, 38), Some(DataError::Unknown));
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
