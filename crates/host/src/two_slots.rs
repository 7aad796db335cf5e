//! Stores a record in two slots of a file. Each write goes to the slot with the older record, with one `pwrite`. If the
//! process dies during a write, the other slot still contains the previous record.
//!
//! Each record has a checksum:
//!
//! ```text
//! 0      magic and format   six bytes, and two digits; a greater number is a newer version's
//!  8      sequence           u64, big-endian; the larger of two valid records is the newer
//! 16      the body
//! LEN - 8 XXH3-64 of all before it, big-endian
//! ```
//!
//! The record of fencing tokens (`crates/client/src/fencing/slots.rs`) also has two slots with checksums. But it has
//! different requirements, so it shares no code with this module:
//!
//! - Here a sequence number orders the slots. If one slot is damaged, the record in the other slot is used. A node that
//!   has lost its newest record can start from the record before.
//! - In a record of fencing tokens, the tokens order the slots, and a slot is a line of text for people and other
//!   programs. If one slot is damaged, the whole record is invalid, because the lost token may be the one that stops a
//!   stale holder.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::xxh3_64;

pub(crate) const BODY_OFFSET: usize = 16;
/// The length of the checksum in bytes.
const CHECKSUM_LEN: usize = 8;

/// The two slots of a record of `LEN` bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoSlots<const LEN: usize> {
    /// First bytes of a record. The last two of these bytes are digits: the number of the record's format.
    magic: [u8; 8],
    /// Offsets of the slots.
    slots: [u64; 2],
    /// Sequence number of the record that this process last read or wrote.
    sequence: u64,
}

/// The contents of both slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents<T> {
    /// The file contains records of a known format, or no records.
    Known {
        /// Newest record, decoded.
        newest: Option<T>,
        /// Number of slots with damaged records.
        damaged: usize,
    },
    /// The slots contain bytes that are not a record of any version. The file most likely belongs to a different
    /// program.
    Foreign,
    /// The file contains a record of a newer format, which this program does not know. The value is the number of this
    /// format.
    Newer(u8),
}

enum Slot<T> {
    Blank,
    Foreign,
    Damaged,
    Newer(u8),
    Valid(u64, T),
}

impl<const LEN: usize> TwoSlots<LEN> {
    /// Reads both slots. `read` decodes a record in the format of `magic` or in an older format. It returns `None` if
    /// the record contains impossible values.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn open<T>(
        file: &File,
        magic: [u8; 8],
        slots: [u64; 2],
        read: impl Fn(&[u8; LEN]) -> Option<T>,
    ) -> io::Result<(Self, Contents<T>)> {
        let mut both = Self {
            magic,
            slots,
            sequence: 0,
        };
        let (mut newest, mut damaged, mut foreign) = (None, 0, 0);
        for at in slots {
            match both.read_slot(file, at, &read)? {
                Slot::Blank => {}
                Slot::Foreign => foreign += 1,
                Slot::Damaged => damaged += 1,
                Slot::Newer(format_of) => return Ok((both, Contents::Newer(format_of))),
                Slot::Valid(sequence, record) => {
                    if newest.is_none() || both.sequence <= sequence {
                        both.sequence = sequence;
                        newest = Some(record);
                    }
                }
            }
        }
        let contents = if newest.is_none() && damaged == 0 && foreign > 0 {
            Contents::Foreign
        } else {
            let damaged = damaged + foreign;
            Contents::Known { newest, damaged }
        };
        Ok((both, contents))
    }

    fn read_slot<T>(
        &self,
        file: &File,
        at: u64,
        read: impl Fn(&[u8; LEN]) -> Option<T>,
    ) -> io::Result<Slot<T>> {
        // Bytes after the end of the file count as zeros, like bytes in a gap of the file.
        let mut bytes = [0; LEN];
        match file.read_exact_at(&mut bytes, at) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(error),
        }
        let known = format_of(&self.magic, self.magic);
        Ok(match (format_of(&bytes, self.magic), known) {
            (Some(found), Some(known)) if found <= known && has_valid_checksum(&bytes) => {
                match read(&bytes) {
                    Some(record) => Slot::Valid(u64_at(&bytes, 8), record),
                    None => Slot::Damaged,
                }
            }
            // Do not verify the checksum, because a newer format may have a different checksum.
            (Some(found), Some(known)) if found > known => Slot::Newer(found),
            _ if bytes == [0; LEN] => Slot::Blank,
            (None, _) => Slot::Foreign,
            _ => Slot::Damaged,
        })
    }

    /// Writes a record with this body over the older of the two records.
    ///
    /// # Errors
    /// Fails if the file cannot be written. After a failure, the previous record is still the newest record.
    pub fn write(&mut self, file: &File, bytes: [u8; LEN]) -> io::Result<()> {
        self.write_by(bytes, |bytes, at| file.write_all_at(bytes, at))
    }

    /// Writes a record as [`write`](Self::write) does. The given function gets the bytes and their offset, and must
    /// write them.
    ///
    /// # Errors
    /// Fails if the given function fails. After a failure, the previous record is still the newest record.
    pub fn write_by(
        &mut self,
        mut bytes: [u8; LEN],
        write: impl FnOnce(&[u8], u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let next = self.sequence.wrapping_add(1);
        let at = self.complete(&mut bytes, next);
        write(&bytes, at)?;
        self.sequence = next;
        Ok(())
    }

    /// Writes the newest record again, in place.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn rewrite(&self, file: &File, mut bytes: [u8; LEN]) -> io::Result<()> {
        let at = self.complete(&mut bytes, self.sequence);
        file.write_all_at(&bytes, at)
    }

    /// Adds magic, sequence number and checksum to a record. Returns the offset of its slot.
    fn complete(&self, bytes: &mut [u8; LEN], sequence: u64) -> u64 {
        bytes[..8].copy_from_slice(&self.magic);
        bytes[8..BODY_OFFSET].copy_from_slice(&sequence.to_be_bytes());
        let sum = xxh3_64(&bytes[..LEN - CHECKSUM_LEN]);
        bytes[LEN - CHECKSUM_LEN..].copy_from_slice(&sum.to_be_bytes());
        self.slots[usize::from(sequence % 2 == 1)]
    }
}

/// Returns the format of a record, if the record begins with the first six bytes of `magic`.
fn format_of(bytes: &[u8], magic: [u8; 8]) -> Option<u8> {
    let digits = bytes.strip_prefix(&magic[..6])?.get(..2)?;
    let [tens, ones] = [digits[0], digits[1]].map(|digit| char::from(digit).to_digit(10));
    u8::try_from(tens? * 10 + ones?).ok()
}

fn has_valid_checksum<const LEN: usize>(bytes: &[u8; LEN]) -> bool {
    u64_at(bytes, LEN - CHECKSUM_LEN) == xxh3_64(&bytes[..LEN - CHECKSUM_LEN])
}

/// Returns the big-endian number at an offset.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array_at(bytes, at))
}

/// Returns the bytes at an offset.
pub fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::{BODY_OFFSET, Contents, TwoSlots, array_at};

    const LEN: usize = 32;
    const MAGIC: [u8; 8] = *b"RINGXX03";
    const SLOTS: [u64; 2] = [0, 512];

    fn body(bytes: &[u8; LEN]) -> Option<u8> {
        (bytes[BODY_OFFSET] < 100).then_some(bytes[BODY_OFFSET])
    }

    fn record(of: u8) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[BODY_OFFSET] = of;
        bytes
    }

    fn open(file: &std::fs::File) -> (TwoSlots<LEN>, Contents<u8>) {
        TwoSlots::open(file, MAGIC, SLOTS, body).expect("the file can be read")
    }

    const fn contents(newest: Option<u8>, damaged: usize) -> Contents<u8> {
        Contents::Known { newest, damaged }
    }

    #[test]
    fn the_newest_record_is_found_and_if_it_is_damaged_the_previous_one() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(open(&file).1, contents(None, 0));
        for last in 1..=4 {
            let (mut pair, _) = open(&file);
            pair.write(&file, record(last)).unwrap();
            let before = (last > 1).then_some(last - 1);
            let at = SLOTS[usize::from(last) % 2];
            for byte in 0..LEN as u64 {
                let mut old = [0];
                file.read_exact_at(&mut old, at + byte).unwrap();
                file.write_all_at(&[old[0] ^ 0x10], at + byte).unwrap();
                // These bytes identify a record. If the file has only one record, and these bytes are damaged, the file
                // looks like a foreign file.
                let expected = match before {
                    None if byte < MAGIC.len() as u64 => Contents::Foreign,
                    _ => contents(before, 1),
                };
                assert_eq!(open(&file).1, expected, "byte {byte}");
                file.write_all_at(&old, at + byte).unwrap();
            }
            assert_eq!(open(&file).1, contents(Some(last), 0));
        }
    }

    #[test]
    fn an_impossible_record_is_damaged_even_with_a_valid_checksum() {
        let file = tempfile::tempfile().unwrap();
        open(&file).0.write(&file, record(100)).unwrap();
        assert_eq!(open(&file).1, contents(None, 1));
    }

    #[test]
    fn a_newer_format_is_recognized_in_either_slot_and_an_older_one_is_damage() {
        for slot in SLOTS {
            for (digits, format_of) in [(*b"04", 4), (*b"10", 10), (*b"99", 99)] {
                let file = tempfile::tempfile().unwrap();
                open(&file).0.write(&file, record(1)).unwrap();
                let newer: [u8; 8] = array_at(&[&b"RINGXX"[..], &digits].concat(), 0);
                file.write_all_at(&newer, slot).unwrap();
                assert_eq!(open(&file).1, Contents::Newer(format_of));
            }
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(b"RINGXX02", slot).unwrap();
            assert_eq!(open(&file).1, contents(None, 1));
        }
    }

    #[test]
    fn other_bytes_are_foreign_unless_the_other_slot_has_a_record() {
        for slot in SLOTS {
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(b"another program's", slot).unwrap();
            assert_eq!(open(&file).1, Contents::Foreign);
            let other = SLOTS[usize::from(slot == SLOTS[0])];
            file.write_all_at(&MAGIC, other).unwrap();
            assert_eq!(open(&file).1, contents(None, 2));
        }
    }

    #[test]
    fn one_slot_is_written_at_a_time() {
        let file = tempfile::tempfile().unwrap();
        let (mut pair, _) = open(&file);
        pair.write(&file, record(1)).unwrap();
        assert_eq!(file.metadata().unwrap().len(), SLOTS[1] + LEN as u64);
        let mut other = [0; LEN];
        file.read_exact_at(&mut other, SLOTS[0]).unwrap();
        assert_eq!(other, [0; LEN]);
        pair.rewrite(&file, record(2)).unwrap();
        file.read_exact_at(&mut other, SLOTS[0]).unwrap();
        assert_eq!((other, open(&file).1), ([0; LEN], contents(Some(2), 0)));
    }
}
