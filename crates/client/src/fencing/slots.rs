//! The bytes of a record: two slots. Each write changes only one of the two slots.
//!
//! Each slot is one line of [`SLOT_LEN`] bytes: a token (or `none`), a checksum, and spaces. A new token replaces the
//! older of the two tokens. So if a write fails, the slot with the newer token stays unchanged. A damaged slot may have
//! contained the newest token. There are two possible reasons for a damaged slot. Either a crash interrupted the write
//! of a token, and no program has acted under this token. Or the slot was damaged later. The record does not show the
//! reason for the damage, so this library refuses a record with a damaged slot.
//!
//! The state files of nodes also have two slots (`crates/host/src/two_slots.rs`), but the two formats share no code. If
//! one slot of a state file is damaged, the node uses the other slot. A record must not do this: the other slot may
//! contain the older token, and then the record would admit a stale holder.

use xxhash_rust::xxh3::xxh3_64;

use super::Fence;

/// The length of a slot in bytes, including its newline.
pub(super) const SLOT_LEN: usize = 96;

const NONE: &str = "none";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slots<T> {
    /// The newest token; `None` if the record contains no token.
    pub newest: Option<T>,
    /// The offset of the next write, in bytes.
    pub next: usize,
}

/// Returns the bytes of a record whose newest token is `newest`.
pub(super) fn record_bytes<T: Fence>(newest: Option<T>) -> Vec<u8> {
    [slot_bytes(newest), slot_bytes(newest)].concat()
}

pub(super) fn slot_bytes<T: Fence>(token: Option<T>) -> Vec<u8> {
    match token {
        Some(token) => line(&token.to_string()),
        None => line(NONE),
    }
}

pub(super) fn blank_record() -> Vec<u8> {
    line(NONE).repeat(2)
}

fn line(token: &str) -> Vec<u8> {
    let line = format!("{token} {:016x}", xxh3_64(token.as_bytes()));
    let mut bytes = format!("{line:<width$}", width = SLOT_LEN - 1).into_bytes();
    bytes.push(b'\n');
    bytes
}

/// The readable part of a damaged record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damage<T> {
    /// The newest readable token; `None` if no token is readable.
    pub readable: Option<T>,
}

pub(super) fn read<T: Fence>(bytes: &[u8]) -> Result<Slots<T>, Damage<T>> {
    let mut slots = bytes.chunks(SLOT_LEN).map(read_slot);
    let (first, second) = (slots.next().flatten(), slots.next().flatten());
    match (first, second) {
        (Some(first), Some(second)) if bytes.len() == 2 * SLOT_LEN => Ok(Slots {
            newest: first.max(second).0,
            next: if second > first { 0 } else { SLOT_LEN },
        }),
        _ => Err(Damage {
            readable: first.max(second).and_then(|slot| slot.0),
        }),
    }
}

/// The contents of a valid slot. A slot without a token is less than every slot with a token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SlotContents<T>(Option<T>);

fn read_slot<T: Fence>(bytes: &[u8]) -> Option<SlotContents<T>> {
    let line = str::from_utf8(bytes).ok()?;
    let token = match line.split_once(' ')?.0 {
        NONE => None,
        token => Some(token.parse().ok()?),
    };
    (bytes == slot_bytes(token)).then_some(SlotContents(token))
}

#[cfg(test)]
mod tests {
    use super::{Damage, SLOT_LEN, Slots, blank_record, read, record_bytes, slot_bytes};
    use crate::fencing::{FencingToken, tests::token};

    fn two_slots(first: Option<u64>, second: Option<u64>) -> Vec<u8> {
        [slot_bytes(first.map(token)), slot_bytes(second.map(token))].concat()
    }

    #[test]
    fn the_longest_token_fits() {
        let longest = "18446744073709551615-fe:ff:ff:ff:ff:ff-4294967295";
        let longest: FencingToken = longest.parse().expect("a token");
        assert_eq!(slot_bytes(Some(longest)).len(), SLOT_LEN);
    }

    #[test]
    fn the_newer_token_counts_and_the_older_slot_is_written_next() {
        let cases = [
            (blank_record(), None, SLOT_LEN),
            (record_bytes(Some(token(5))), Some(5), SLOT_LEN),
            (two_slots(None, Some(5)), Some(5), 0),
            (two_slots(Some(6), Some(5)), Some(6), SLOT_LEN),
            (two_slots(Some(6), Some(7)), Some(7), 0),
        ];
        for (bytes, newest, next) in cases {
            let newest = newest.map(token);
            assert_eq!(read(&bytes), Ok(Slots { newest, next }));
        }
    }

    #[test]
    fn a_record_with_any_wrong_byte_is_damaged() {
        let whole = two_slots(Some(6), Some(7));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            let readable = if at < SLOT_LEN { 7 } else { 6 };
            let readable = Some(token(readable));
            assert_eq!(read(&damaged), Err(Damage { readable }), "{at}");
        }
        for len in 0..whole.len() {
            let readable = (len >= SLOT_LEN).then(|| token(6));
            assert_eq!(read(&whole[..len]), Err(Damage { readable }), "{len}");
        }
        let longer = [&whole[..], b"\n"].concat();
        let readable = Some(token(7));
        assert_eq!(read(&longer), Err(Damage { readable }));
    }

    #[test]
    fn another_file_has_no_readable_token() {
        for bytes in [&b""[..], b"6-02:00:00:00:00:01-7\n", &blank_record()[..50]] {
            assert_eq!(read::<FencingToken>(bytes), Err(Damage { readable: None }));
        }
    }
}
