//! The stamps of jobs that run once in a period, in a file beside the state file.
//!
//! Each of the 32 places has a record of 128 bytes, kept twice ([`TwoSlots`]):
//!
//! ```text
//! 16  began              u64   nanoseconds since 1970
//! 24  progress           u64
//! 32  run                u32
//! 36  runner             6 bytes
//! 42  outcome            u8
//! 43  zero               5 bytes
//! 48  period             u64   nanoseconds
//! 56  name               32 bytes
//! 88  before             u64   as began; 0: none; then zeros
//! ```
//! All integers are big-endian.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::time::Duration;

use ring_proto::lab2::{JobName, MAX_STAMPS, Stamp, StoredStamp};
use ring_proto::time::nanos;

use crate::host::{Contents, TwoSlots, array_at, u64_at};
use ring_codec::MacAddr;
use ring_codec::lab2::RunOutcome;

const LEN: usize = 128;
const MAGIC: [u8; 8] = *b"RINGJB01";

/// What is found in the stamps' file.
#[derive(Debug)]
pub enum FoundStamps {
    /// Records that this version knows.
    Known {
        /// The file.
        file: StampFile,
        /// What an earlier run has stored.
        stored: Vec<StoredStamp>,
        /// How many records are damaged.
        damaged: usize,
    },
    /// Records of this format, which only newer versions know.
    Newer(u8),
}

/// The stamps' file.
#[derive(Debug)]
pub struct StampFile {
    file: File,
    /// In order.
    places: Vec<TwoSlots<LEN>>,
}

impl StampFile {
    /// Reads what an earlier run has stored. Damaged records count as not there.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(file: File) -> io::Result<FoundStamps> {
        let (mut stored, mut damaged) = (Vec::new(), 0);
        let mut places = Vec::with_capacity(MAX_STAMPS);
        for place in (0..).take(MAX_STAMPS) {
            let at = [0, 1].map(|slot| offset(place, slot));
            let (slots, found) = TwoSlots::open(&file, MAGIC, at, |bytes| decode(bytes, place))?;
            match found {
                Contents::Newer(format) => return Ok(FoundStamps::Newer(format)),
                Contents::Known {
                    newest,
                    damaged: more,
                } => {
                    stored.extend(newest);
                    damaged += more;
                }
            }
            places.push(slots);
        }
        Ok(FoundStamps::Known {
            file: Self { file, places },
            stored,
            damaged,
        })
    }

    /// Stores a stamp in its place.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn store(&mut self, stored: &StoredStamp) -> io::Result<()> {
        let place = self.places.get_mut(usize::from(stored.place));
        let slots = place.ok_or(ErrorKind::InvalidInput)?;
        slots.write(&self.file, encode(stored))
    }

    /// Makes sure that the disk has it all.
    ///
    /// # Errors
    /// The disk does not have it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

fn offset(place: u8, slot: u64) -> u64 {
    (u64::from(place) * 2 + slot) * LEN as u64
}

fn encode(stored: &StoredStamp) -> [u8; LEN] {
    let stamp = &stored.stamp;
    let mut bytes = [0; LEN];
    bytes[16..24].copy_from_slice(&stored.began.to_be_bytes());
    bytes[24..32].copy_from_slice(&stamp.progress.to_be_bytes());
    bytes[32..36].copy_from_slice(&stamp.run.to_be_bytes());
    bytes[36..42].copy_from_slice(&stamp.runner.0);
    bytes[42] = stamp.outcome as u8;
    bytes[48..56].copy_from_slice(&nanos(stamp.period).to_be_bytes());
    bytes[56..88].copy_from_slice(stamp.name.bytes());
    let before = stored.before.unwrap_or(0);
    bytes[88..96].copy_from_slice(&before.to_be_bytes());
    bytes
}

fn decode(bytes: &[u8; LEN], place: u8) -> Option<StoredStamp> {
    let stamp = Stamp {
        name: JobName::from_bytes(array_at(bytes, 56))?,
        progress: u64_at(bytes, 24),
        run: u32::from_be_bytes(array_at(bytes, 32)),
        runner: MacAddr(array_at(bytes, 36)),
        outcome: RunOutcome::from_wire(bytes[42])?,
        period: Duration::from_nanos(u64_at(bytes, 48)),
    };
    let began = u64_at(bytes, 16);
    Some(StoredStamp {
        place,
        stamp,
        began,
        before: Some(u64_at(bytes, 88)).filter(|&before| before > 0),
    })
}

#[cfg(test)]
mod tests {
    use ring_proto::lab2::{JobName, Stamp, StoredStamp};

    use super::{FoundStamps, LEN, StampFile, offset};
    use crate::control::hex;
    use ring_codec::MacAddr;
    use ring_codec::lab2::RunOutcome;
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::time::Duration;

    fn stamp(place: u8, name: &str, progress: u64) -> StoredStamp {
        StoredStamp {
            place,
            stamp: Stamp {
                name: JobName::new(name).unwrap(),
                progress,
                run: 3,
                runner: MacAddr([2, 0, 0, 0, 0, 1]),
                outcome: RunOutcome::Failed,
                period: Duration::from_secs(72_000),
            },
            began: 1_700_000_000_000_000_000 + progress,
            before: (progress > 1).then_some(1_600_000_000_000_000_000),
        }
    }

    fn open(file: &File) -> (StampFile, Vec<StoredStamp>) {
        let (file, stored, damaged) = open_damaged(file);
        assert_eq!(damaged, 0);
        (file, stored)
    }

    fn open_damaged(file: &File) -> (StampFile, Vec<StoredStamp>, usize) {
        let found = StampFile::open(file.try_clone().unwrap()).unwrap();
        let FoundStamps::Known {
            file,
            stored,
            damaged,
        } = found
        else {
            panic!("{found:?}");
        };
        (file, stored, damaged)
    }

    /// Both slots of the first place, as ringd 0.1.0 has written them.
    #[test]
    fn a_file_of_the_first_version_is_known_and_written_on_byte_by_byte() {
        const FIRST: [&str; 4] = [
            "52494e474a423031000000000000000118ead1211105775f18ead120633a55f1",
            "000000000200000000010000000000000000417bce6c80006e696768746c7900",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "000000000000000000000000000000000000000000000000204cab45cbb430c6",
        ];
        const SECOND: [&str; 4] = [
            "52494e474a423031000000000000000218ead121110578dc18ead120633a55f1",
            "000000000200000000010100000000000000417bce6c80006e696768746c7900",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "000000000000000000000000000000000000000000000000d891bd1eb873b760",
        ];
        let [first, second] = [FIRST, SECOND].map(|it| hex::decode(&it.concat()).unwrap());
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&first, LEN as u64).unwrap();
        let (mut stamps, stored) = open(&file);
        let begun = StoredStamp {
            place: 0,
            stamp: Stamp {
                name: JobName::new("nightly").unwrap(),
                progress: 0x18ea_d120_633a_55f1,
                run: 0,
                runner: MacAddr([2, 0, 0, 0, 0, 1]),
                outcome: RunOutcome::from_wire(0).unwrap(),
                period: Duration::from_secs(20 * 3600),
            },
            began: 0x18ea_d121_1105_775f,
            before: None,
        };
        assert_eq!(stored, [begun]);
        let done = StoredStamp {
            stamp: Stamp {
                outcome: RunOutcome::from_wire(1).unwrap(),
                ..begun.stamp
            },
            began: 0x18ea_d121_1105_78dc,
            ..begun
        };
        stamps.store(&done).unwrap();
        let mut written = [0; LEN];
        file.read_exact_at(&mut written, 0).unwrap();
        assert_eq!(written[..], second);
    }

    #[test]
    fn what_was_stored_last_is_found_again_in_its_place() {
        let file = tempfile::tempfile().unwrap();
        let (mut stamps, found) = open(&file);
        assert_eq!(found, []);
        for progress in 1..=5 {
            stamps.store(&stamp(0, "nightly", progress)).unwrap();
        }
        stamps.store(&stamp(31, "report", 7)).unwrap();
        let found = open(&file).1;
        assert_eq!(found, [stamp(0, "nightly", 5), stamp(31, "report", 7)]);
    }

    #[test]
    fn a_torn_record_leaves_the_one_before() {
        for stored in 2..=3 {
            let file = tempfile::tempfile().unwrap();
            let (mut stamps, _) = open(&file);
            for progress in 1..=stored {
                stamps.store(&stamp(4, "nightly", progress)).unwrap();
            }
            let torn = offset(4, stored % 2);
            for at in 0..LEN as u64 {
                let mut byte = [0];
                file.read_exact_at(&mut byte, torn + at).unwrap();
                file.write_all_at(&[byte[0] ^ 0x10], torn + at).unwrap();
                let (_, found, damaged) = open_damaged(&file);
                assert_eq!(found, [stamp(4, "nightly", stored - 1)], "byte {at}");
                assert_eq!(damaged, 1, "byte {at}");
                file.write_all_at(&byte, torn + at).unwrap();
            }
        }
    }

    #[test]
    fn a_record_that_is_cut_off_is_damaged() {
        let file = tempfile::tempfile().unwrap();
        let (mut stamps, _) = open(&file);
        stamps.store(&stamp(4, "nightly", 1)).unwrap();
        file.set_len(offset(4, 1) + LEN as u64 / 2).unwrap();
        let (_, found, damaged) = open_damaged(&file);
        assert_eq!((found, damaged), (Vec::new(), 1));
    }

    #[test]
    fn a_record_of_a_newer_version_is_recognised_wherever_it_is() {
        for (place, slot) in [(0, 0), (4, 1), (31, 1)] {
            let file = tempfile::tempfile().unwrap();
            open(&file).0.store(&stamp(4, "nightly", 1)).unwrap();
            file.write_all_at(b"RINGJB02", offset(place, slot)).unwrap();
            let found = StampFile::open(file).unwrap();
            assert!(matches!(found, FoundStamps::Newer(2)), "{found:?}");
        }
    }

    #[test]
    fn a_place_that_is_none_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(open(&file).0.store(&stamp(32, "nightly", 1)).is_err());
    }
}
