//! The updates of one token, from which the checks find an acknowledged update that was lost.
//!
//! A grant shows the data of an update. Consider a second update that began after the shown update was confirmed. If
//! this second update certainly took effect before the client requested the token, the shown data are stale. The
//! reason: in every possible order of events, the second update comes between the shown update and the grant.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy)]
struct UpdateRecord {
    /// The time at which the client of the update requested the token.
    asked: u64,
    begun: u64,
    /// The time at which the client of the update got the confirmation.
    confirmed: Option<u64>,
    /// The first time at which the update had certainly taken effect: a client got its confirmation, or a grant showed
    /// its data.
    certain: Option<u64>,
}

/// The updates of one token, by their numbers. Number 0 stands for empty data.
#[derive(Debug)]
pub(super) struct UpdateLog {
    writes: BTreeMap<u64, UpdateRecord>,
}

/// An error in the data that a grant shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataError {
    /// No client wrote the data.
    Unknown,
    /// A later update is missing. The later update was begun at `begun`, under a token that was requested at `asked`.
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
    /// Records an update that a client sends. The client requested the token at `asked`.
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

    /// Records that a grant shows an update. The grant was requested at `requested`. Returns the error of these data,
    /// if the data are wrong.
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

/// Returns the number of the update that wrote these data. Empty data have the number 0.
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
        // It is not certain that update 2 has taken effect.
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
