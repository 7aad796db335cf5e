//! The bytes of a record: two slots, of which one at a time is written.
//!
//! Each is one line: a token (or `none`), a checksum, and spaces up to [`SLOT`] bytes. The newer token is
//! written over the older one of the two, so whatever becomes of a write, the other slot stays as it was.
//! A slot that is not whole may have held the newest token: it is never known which of both was torn
//! by a crash, before anybody acted under its token, and which was damaged later. So a record that is not
//! whole says nothing.
//!
//! The state files of nodes (`crates/host/src/two_slots.rs`) have two slots as well, and why the two share no code is said
//! there: those go by a sequence and fall back on the slot before, which here would let a stale holder pass.

use xxhash_rust::xxh3::xxh3_64;

use super::Fence;

/// The length of a slot in bytes, its newline included.
pub(super) const SLOT: usize = 96;

/// How a slot without a token is written.
const NONE: &str = "none";

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slots<T> {
    /// The newest token.
    pub newest: Option<T>,
    /// Where the next one goes, in bytes from the start.
    pub next: usize,
}

/// The bytes of a record that has seen this token as its newest, or none.
pub(super) fn record<T: Fence>(newest: Option<T>) -> Vec<u8> {
    [slot(newest), slot(newest)].concat()
}

/// The bytes of one slot.
pub(super) fn slot<T: Fence>(token: Option<T>) -> Vec<u8> {
    match token {
        Some(token) => line(&token.to_string()),
        None => line(NONE),
    }
}

/// The bytes of a record that has seen no token.
pub(super) fn empty() -> Vec<u8> {
    line(NONE).repeat(2)
}

fn line(token: &str) -> Vec<u8> {
    let line = format!("{token} {:016x}", xxh3_64(token.as_bytes()));
    let mut bytes = format!("{line:<width$}", width = SLOT - 1).into_bytes();
    bytes.push(b'\n');
    bytes
}

/// What is left of a record that is not whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Damage<T> {
    /// The newest token that can still be read.
    pub left: Option<T>,
}

/// Reads a record.
pub(super) fn read<T: Fence>(bytes: &[u8]) -> Result<Slots<T>, Damage<T>> {
    let mut slots = bytes.chunks(SLOT).map(read_slot);
    let (first, second) = (slots.next().flatten(), slots.next().flatten());
    match (first, second) {
        (Some(first), Some(second)) if bytes.len() == 2 * SLOT => Ok(Slots {
            newest: first.max(second).0,
            next: if second > first { 0 } else { SLOT },
        }),
        _ => Err(Damage {
            left: first.max(second).and_then(|slot| slot.0),
        }),
    }
}

/// What a whole slot says. No token is less than every token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Whole<T>(Option<T>);

fn read_slot<T: Fence>(bytes: &[u8]) -> Option<Whole<T>> {
    let line = str::from_utf8(bytes).ok()?;
    let token = match line.split_once(' ')?.0 {
        NONE => None,
        token => Some(token.parse().ok()?),
    };
    (bytes == slot(token)).then_some(Whole(token))
}

#[cfg(test)]
mod tests {
    use super::{Damage, SLOT, Slots, empty, read, record, slot};
    use crate::fencing::FencingToken;

    fn token(progress: u64) -> FencingToken {
        format!("{progress}-02:00:00:00:00:01-7")
            .parse()
            .expect("a token")
    }

    fn of(first: Option<u64>, second: Option<u64>) -> Vec<u8> {
        [slot(first.map(token)), slot(second.map(token))].concat()
    }

    #[test]
    fn the_longest_token_fits() {
        let longest = "18446744073709551615-fe:ff:ff:ff:ff:ff-4294967295";
        let longest: FencingToken = longest.parse().expect("a token");
        assert_eq!(slot(Some(longest)).len(), SLOT);
    }

    #[test]
    fn the_newer_of_both_counts_and_the_older_is_written_over() {
        let cases = [
            (empty(), None, SLOT),
            (record(Some(token(5))), Some(5), SLOT),
            (of(None, Some(5)), Some(5), 0),
            (of(Some(6), Some(5)), Some(6), SLOT),
            (of(Some(6), Some(7)), Some(7), 0),
        ];
        for (bytes, newest, next) in cases {
            let newest = newest.map(token);
            assert_eq!(read(&bytes), Ok(Slots { newest, next }));
        }
    }

    #[test]
    fn a_record_that_is_not_whole_says_nothing_whichever_of_its_bytes_is_wrong() {
        let whole = of(Some(6), Some(7));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            let left = if at < SLOT { 7 } else { 6 };
            let left = Some(token(left));
            assert_eq!(read(&damaged), Err(Damage { left }), "{at}");
        }
        for len in 0..whole.len() {
            let left = (len >= SLOT).then(|| token(6));
            assert_eq!(read(&whole[..len]), Err(Damage { left }), "{len}");
        }
        let longer = [&whole[..], b"\n"].concat();
        let left = Some(token(7));
        assert_eq!(read(&longer), Err(Damage { left }));
    }

    #[test]
    fn what_is_no_record_leaves_nothing() {
        for bytes in [&b""[..], b"6-02:00:00:00:00:01-7\n", &empty()[..50]] {
            assert_eq!(read::<FencingToken>(bytes), Err(Damage { left: None }));
        }
    }
}
