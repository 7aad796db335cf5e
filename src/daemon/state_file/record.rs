//! One record of the state file: 64 bytes that prove themselves.
//!
//! ```text
//!  0  magic and format   "RINGST01"; a greater number is a newer ringd's
//!  8  sequence           u64   the larger of two valid records is the newer
//! 16  my_token_number    u32
//! 20  known present      u32   0 or 1
//! 24  known.progress     u64
//! 32  known.author       6 bytes
//! 38  zero               2 bytes
//! 40  known.number       u32
//! 44  zero               12 bytes
//! 56  XXH3-64 of bytes 0 to 55
//! ```
//! All integers are big-endian.

use ring_codec::MacAddr;
use ring_codec::lab2::{MAX_PROGRESS, Token};
use ring_proto::lab2::Durable;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a record.
pub const LEN: usize = 64;

/// What a record begins with; its last two digits are its format.
const MAGIC: [u8; 8] = *b"RINGST01";
const FORMAT: u8 = 1;
const SUMMED: usize = LEN - 8;

/// What one record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Grows by one with every record written.
    pub sequence: u64,
    /// What is to survive.
    pub durable: Durable,
}

/// What one place for a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// A record.
    Valid(Record),
    /// A record of a format that only newer versions know.
    Newer(u8),
    /// Neither: nothing was written there yet, or it is damaged.
    Invalid,
}

impl Slot {
    /// Reads the bytes of one.
    pub fn read(bytes: &[u8; LEN]) -> Self {
        match format(bytes, MAGIC) {
            Some(FORMAT) => Record::decode(bytes).map_or(Self::Invalid, Self::Valid),
            // How it is summed is not known.
            Some(format) if format > FORMAT => Self::Newer(format),
            _ => Self::Invalid,
        }
    }
}

/// The format of a record that begins as `magic` does but for its last two digits.
pub fn format(bytes: &[u8], magic: [u8; 8]) -> Option<u8> {
    let digits = bytes.strip_prefix(&magic[..6])?.get(..2)?;
    let [tens, ones] = [digits[0], digits[1]].map(|digit| char::from(digit).to_digit(10));
    u8::try_from(tens? * 10 + ones?).ok()
}

impl Record {
    /// The record's bytes.
    pub fn encode(&self) -> [u8; LEN] {
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.durable.my_token_number.to_be_bytes());
        if let Some(token) = self.durable.known {
            bytes[23] = 1;
            bytes[24..32].copy_from_slice(&token.progress.to_be_bytes());
            bytes[32..38].copy_from_slice(&token.author.0);
            bytes[40..44].copy_from_slice(&token.number.to_be_bytes());
        }
        let sum = xxh3_64(&bytes[..SUMMED]);
        bytes[SUMMED..].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    /// Reads a record; `None` if the bytes are none, or none that this version writes.
    fn decode(bytes: &[u8; LEN]) -> Option<Self> {
        if u64_at(bytes, SUMMED) != xxh3_64(&bytes[..SUMMED]) {
            return None;
        }
        let known = match u32_at(bytes, 20) {
            0 => None,
            1 => Some(token(bytes)?),
            _ => return None,
        };
        Some(Self {
            sequence: u64_at(bytes, 8),
            durable: Durable {
                my_token_number: u32_at(bytes, 16),
                known,
                stamp: None,
            },
        })
    }
}

fn token(bytes: &[u8; LEN]) -> Option<Token> {
    let token = Token {
        progress: u64_at(bytes, 24),
        author: MacAddr(array_at(bytes, 32)),
        number: u32_at(bytes, 40),
    };
    // Its author may be any address, as in the frame that it came with: a record that was refused
    // would take the numbers back.
    (token.progress <= MAX_PROGRESS).then_some(token)
}

fn u64_at(bytes: &[u8; LEN], at: usize) -> u64 {
    u64::from_be_bytes(array_at(bytes, at))
}

fn u32_at(bytes: &[u8; LEN], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

fn array_at<const N: usize>(bytes: &[u8; LEN], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::Durable;

    use super::{LEN, Record, Slot};
    use ring_codec::MacAddr;
    use ring_codec::lab2::{MAX_PROGRESS, Token};

    fn record() -> Record {
        let known = Some(Token {
            progress: 0x0102_0304_0506_0708,
            author: MacAddr([2, 0, 0, 0, 0, 1]),
            number: 3,
        });
        let my_token_number = u32::MAX;
        Record {
            sequence: 9,
            durable: Durable {
                my_token_number,
                known,
                stamp: None,
            },
        }
    }

    #[test]
    fn a_record_is_read_back() {
        assert_eq!(Slot::read(&record().encode()), Slot::Valid(record()));
        let without = Record {
            durable: Durable {
                known: None,
                ..record().durable
            },
            ..record()
        };
        assert_eq!(Slot::read(&without.encode()), Slot::Valid(without));
    }

    #[test]
    fn any_changed_byte_is_found() {
        for at in 0..LEN {
            let mut bytes = record().encode();
            bytes[at] ^= 0x10;
            assert_eq!(Slot::read(&bytes), Slot::Invalid, "byte {at}");
        }
        assert_eq!(Slot::read(&[0; LEN]), Slot::Invalid);
    }

    #[test]
    fn a_newer_format_is_known_as_such_though_not_understood() {
        for (digits, format) in [(*b"02", 2), (*b"10", 10), (*b"99", 99)] {
            let mut bytes = [0xff; LEN];
            bytes[..8].copy_from_slice(&[&b"RINGST"[..], &digits].concat());
            assert_eq!(Slot::read(&bytes), Slot::Newer(format));
        }
    }

    #[test]
    fn a_well_summed_token_that_cannot_exist_is_refused() {
        let mut impossible = record();
        let known = impossible.durable.known.as_mut().unwrap();
        known.progress = MAX_PROGRESS + 1;
        assert_eq!(Slot::read(&impossible.encode()), Slot::Invalid);
    }

    #[test]
    fn a_token_by_whatever_author_a_frame_can_name_is_read_back() {
        for author in [MacAddr::default(), MacAddr::BROADCAST] {
            let mut forged = record();
            forged.durable.known.as_mut().unwrap().author = author;
            assert_eq!(Slot::read(&forged.encode()), Slot::Valid(forged));
        }
    }
}
