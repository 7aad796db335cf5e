//! The bytes of a record: two slots, of which one is always whole.
//!
//! Each is one line: a token (or `none`), a checksum, and spaces up to [`SLOT`] bytes. The newer
//! token is written over the older one of the two, so a write that a crash has torn leaves the
//! other slot as it was. The token of a torn slot was never acted under: the caller was not told
//! yet that it is on disk.

use xxhash_rust::xxh3::xxh3_64;

use super::FencingToken;

/// The length of a slot in bytes, its newline included.
pub(super) const SLOT: usize = 96;

/// How a slot without a token is written.
const NONE: &str = "none";

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slots {
    /// The newest token.
    pub newest: Option<FencingToken>,
    /// Where the next one goes, in bytes from the start.
    pub next: usize,
}

/// The bytes of a record that has seen no token.
pub(super) fn blank() -> Vec<u8> {
    [slot(None), slot(None)].concat()
}

/// The bytes of one slot.
pub(super) fn slot(token: Option<FencingToken>) -> Vec<u8> {
    let token = token.map_or_else(|| NONE.to_owned(), |token| token.to_string());
    let line = format!("{token} {:016x}", xxh3_64(token.as_bytes()));
    let mut bytes = format!("{line:<width$}", width = SLOT - 1).into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Reads a record; `None`: no slot is whole, so nothing can be said.
pub(super) fn read(bytes: &[u8]) -> Option<Slots> {
    let mut slots = bytes.chunks(SLOT);
    let first = slots.next().and_then(read_slot);
    let second = slots.next().and_then(read_slot);
    // A slot that is torn is less than every whole one.
    let second_is_newer = second > first;
    Some(Slots {
        newest: first.max(second)?.0,
        next: if second_is_newer { 0 } else { SLOT },
    })
}

/// What a whole slot says. No token is less than every token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Whole(Option<FencingToken>);

fn read_slot(bytes: &[u8]) -> Option<Whole> {
    let line = str::from_utf8(bytes).ok()?;
    let token = match line.split_once(' ')?.0 {
        NONE => None,
        token => Some(token.parse().ok()?),
    };
    (bytes == slot(token)).then_some(Whole(token))
}

#[cfg(test)]
mod tests {
    use super::{SLOT, Slots, blank, read, slot};
    use crate::fencing::FencingToken;

    fn token(progress: u64) -> FencingToken {
        format!("{progress}-02:00:00:00:00:01-7")
            .parse()
            .expect("a token")
    }

    fn record(first: Option<u64>, second: Option<u64>) -> Vec<u8> {
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
            (blank(), None, SLOT),
            (record(None, Some(5)), Some(5), 0),
            (record(Some(6), Some(5)), Some(6), SLOT),
            (record(Some(6), Some(7)), Some(7), 0),
        ];
        for (bytes, newest, next) in cases {
            let newest = newest.map(token);
            assert_eq!(read(&bytes), Some(Slots { newest, next }));
        }
    }

    #[test]
    fn a_slot_that_is_torn_at_any_byte_leaves_the_other() {
        let (before, after) = (record(Some(6), Some(5)), record(Some(6), Some(7)));
        for torn_at in SLOT..2 * SLOT {
            let torn = [&after[..torn_at], &before[torn_at..]].concat();
            let found = read(&torn).expect("a whole slot");
            assert!(
                [Some(token(6)), Some(token(7))].contains(&found.newest),
                "{torn_at}: {found:?}"
            );
            let cut = read(&after[..torn_at]).expect("a whole slot");
            assert_eq!(
                cut,
                Slots {
                    newest: Some(token(6)),
                    next: SLOT
                }
            );
        }
    }

    #[test]
    fn a_record_without_a_whole_slot_says_nothing() {
        let mut flipped = record(Some(6), Some(5));
        flipped[0] = b'9';
        flipped[SLOT] = b'9';
        for bytes in [
            &b""[..],
            b"6-02:00:00:00:00:01-7\n",
            &blank()[..50],
            &flipped,
        ] {
            assert_eq!(read(bytes), None);
        }
    }
}
