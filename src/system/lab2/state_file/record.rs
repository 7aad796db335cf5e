//! The record in the state file: 64 bytes, stored twice ([`TwoSlots`](ring_host::TwoSlots)).
//!
//! ```text
//! 16  my_token_number    u32
//! 20  known present      u32   0 or 1
//! 24  known.progress     u64
//! 32  known.author       6 bytes
//! 38  zero               2 bytes
//! 40  known.number       u32
//! 44  jobs marked        u32   0 or 1
//! 48  zero               8 bytes
//! ```
//! All integers are big-endian.

use ring_codec::MacAddr;
use ring_codec::lab2::{PROGRESS_MAX, Token};
use ring_host::{array_at, u64_at};
use ring_proto::lab2::StoredState;

use crate::system::record_file::Format;

pub(super) const LEN: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// The node's state.
    pub durable: StoredState,
    /// Whether the file of jobs has its mark. A file with a mark is never empty, but earlier versions created an empty
    /// file.
    pub has_marked_jobs: bool,
}

pub(super) const FORMAT: Format<Record, LEN> = Format {
    magic: *b"RINGST01",
    encode,
    decode,
};

/// Encodes the part of a record that `TwoSlots` does not add.
pub(super) fn encode(record: &Record) -> [u8; LEN] {
    let durable = &record.durable;
    let mut bytes = [0; LEN];
    bytes[16..20].copy_from_slice(&durable.my_token_number.to_be_bytes());
    if let Some(token) = durable.known {
        bytes[23] = 1;
        bytes[24..32].copy_from_slice(&token.progress.to_be_bytes());
        bytes[32..38].copy_from_slice(&token.author.0);
        bytes[40..44].copy_from_slice(&token.number.to_be_bytes());
    }
    bytes[47] = record.has_marked_jobs.into();
    bytes
}

/// Decodes a record; `None` if this version never writes such a record.
pub(super) fn decode(bytes: &[u8; LEN]) -> Option<Record> {
    let known = match u32_at(bytes, 20) {
        0 => None,
        1 => Some(token(bytes)?),
        _ => return None,
    };
    let durable = StoredState {
        my_token_number: u32_at(bytes, 16),
        known,
        stamp: None,
    };
    Some(Record {
        durable,
        has_marked_jobs: u32_at(bytes, 44) != 0,
    })
}

fn token(bytes: &[u8; LEN]) -> Option<Token> {
    let token = Token {
        progress: u64_at(bytes, 24),
        author: MacAddr(array_at(bytes, 32)),
        number: u32_at(bytes, 40),
    };
    // Accepts any address as the token's author, because the token may come from any frame. Refusing such a record
    // would set the numbers back.
    (token.progress <= PROGRESS_MAX).then_some(token)
}

fn u32_at(bytes: &[u8; LEN], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::StoredState;

    use super::{Record, decode, encode};
    use ring_codec::MacAddr;
    use ring_codec::lab2::{PROGRESS_MAX, Token};

    fn durable() -> StoredState {
        let known = Some(Token {
            progress: 0x0102_0304_0506_0708,
            author: MacAddr([2, 0, 0, 0, 0, 1]),
            number: 3,
        });
        StoredState {
            my_token_number: u32::MAX,
            known,
            stamp: None,
        }
    }

    fn with_mark(durable: StoredState) -> Record {
        Record {
            durable,
            has_marked_jobs: true,
        }
    }

    #[test]
    fn a_record_is_read_back() {
        let without = StoredState {
            known: None,
            ..durable()
        };
        for (durable, has_marked_jobs) in [(durable(), false), (without, true)] {
            let record = Record {
                durable,
                has_marked_jobs,
            };
            assert_eq!(decode(&encode(&record)), Some(record));
        }
    }

    #[test]
    fn a_token_that_cannot_exist_is_refused() {
        let mut impossible = durable();
        let known = impossible.known.as_mut().unwrap();
        known.progress = PROGRESS_MAX + 1;
        assert_eq!(decode(&encode(&with_mark(impossible))), None);
    }

    #[test]
    fn a_token_by_whatever_author_a_frame_can_name_is_read_back() {
        for author in [MacAddr::default(), MacAddr::BROADCAST] {
            let mut forged = durable();
            forged.known.as_mut().unwrap().author = author;
            let forged = with_mark(forged);
            assert_eq!(decode(&encode(&forged)), Some(forged));
        }
    }
}
