//! The stamps of jobs that run once per period, in a file next to the state file.
//!
//! Each of the 32 places has a record of 128 bytes. Each record is stored twice ([`TwoSlots`]):
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
//! All integers are big-endian. After the places there is one more record with a zero body: the mark. The mark
//! distinguishes a new file, which has no stamps yet, from a file that lost its contents.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::time::Duration;

use ring_host::{Contents, TwoSlots, array_at, u64_at};
use ring_proto::lab2::{JobName, STAMPS_MAX, Stamp, StoredStamp};
use ring_proto::time::nanos;

use crate::system::placed_file::PlacedFile;
use ring_codec::MacAddr;
use ring_codec::lab2::RunOutcome;

const LEN: usize = 128;
const MAGIC: [u8; 8] = *b"RINGJB01";

/// The place of the mark. The mark shows that ringd created the file.
const MARK_PLACE: u8 = 32;
const _: () = assert!(MARK_PLACE as usize == STAMPS_MAX);

/// The contents of the file when it was opened.
#[derive(Debug)]
pub(super) enum FoundStamps {
    /// All records have a format that this version knows, or the file contains no records.
    Known {
        file: StampFile,
        /// The stamps that an earlier run stored.
        stored: Vec<StoredStamp>,
        /// The part of the stored stamps that was lost.
        damage: Damage,
    },
    /// The file contains bytes that no version of ringd wrote.
    Foreign,
    /// The file contains records of a newer format. Contains the format.
    Newer(u8),
}

/// The part of an earlier run's stamps that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Damage {
    /// No stamp is lost.
    None,
    /// Records are lost. The value is the number of lost records.
    Records(usize),
    /// The file existed, but was empty or all zeros.
    Emptied,
}

#[derive(Debug)]
pub(super) struct StampFile {
    file: PlacedFile,
    /// The places in order. The last place is the mark.
    places: Vec<StampPlace>,
}

#[derive(Debug)]
struct StampPlace {
    slots: TwoSlots<LEN>,
    /// The encoding of the last written record.
    newest: Option<[u8; LEN]>,
}

impl StampFile {
    /// Reads the stamps that an earlier run stored in the file at `path`. If the file is missing, creates it. Damaged
    /// records count as missing. If `was_marked` is true, an existing file must have its mark. If `was_marked` is
    /// false, an existing file may be empty.
    pub(super) fn open(path: PathBuf, was_marked: bool) -> io::Result<FoundStamps> {
        let (file, is_new) = PlacedFile::open(path)?;
        let (mut stored, mut damaged) = (Vec::new(), 0);
        let (mut foreign, mut is_marked) = (false, false);
        let mut places = Vec::with_capacity(STAMPS_MAX + 1);
        for place in 0..=MARK_PLACE {
            let decoded = |bytes: &[u8; LEN]| read(bytes, place).map(|stamp| (*bytes, stamp));
            let (slots, found) = TwoSlots::open(file.file(), MAGIC, slots_of(place), decoded)?;
            let newest = match found {
                Contents::Newer(format) => return Ok(FoundStamps::Newer(format)),
                Contents::Foreign => {
                    foreign = true;
                    damaged += 1;
                    None
                }
                Contents::Known {
                    newest,
                    damaged: more,
                } => {
                    damaged += more;
                    newest
                }
            };
            is_marked |= place == MARK_PLACE && newest.is_some();
            stored.extend(newest.and_then(|(_, stamp)| stamp));
            let newest = newest.map(|(bytes, _)| bytes);
            places.push(StampPlace { slots, newest });
        }
        let is_known = places.iter().any(|place| place.newest.is_some());
        let length = file.file().metadata()?.len();
        if !is_known && (foreign || damaged == 0 && length > offset(MARK_PLACE + 1, 0)) {
            return Ok(FoundStamps::Foreign);
        }
        let may_be_empty = length == 0 && (is_new || !was_marked);
        let damage = match damaged {
            0 if is_known || may_be_empty => Damage::None,
            0 => Damage::Emptied,
            _ => Damage::Records(damaged),
        };
        let mut opened = Self { file, places };
        if !is_marked {
            opened.write(MARK_PLACE, [0; LEN])?;
        }
        Ok(FoundStamps::Known {
            file: opened,
            stored,
            damage,
        })
    }

    /// Stores a stamp in its place.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or is not in its place.
    pub(super) fn store(&mut self, stored: &StoredStamp) -> io::Result<()> {
        if stored.place == MARK_PLACE {
            return Err(ErrorKind::InvalidInput.into());
        }
        self.write(stored.place, encode(stored))
    }

    fn write(&mut self, place: u8, bytes: [u8; LEN]) -> io::Result<()> {
        let place = self.places.get_mut(usize::from(place));
        let StampPlace { slots, newest } = place.ok_or(ErrorKind::InvalidInput)?;
        slots.write(self.file.writable()?, bytes)?;
        *newest = Some(bytes);
        Ok(())
    }

    /// Checks that the file is in its place. If the file is missing and its directory exists, creates the file again
    /// with all stamps.
    pub(super) fn check_place(&mut self) {
        let Self { file, places } = self;
        let restored = file.check_place(|file| {
            let restore = |(at, place)| restore(file, at, place);
            (0..)
                .zip(&*places)
                .map(restore)
                .collect::<io::Result<Vec<_>>>()
        });
        // Uses the new slots only if all places were written. Otherwise the old file may come back, and its sequences
        // must continue.
        for (place, slots) in places.iter_mut().zip(restored.into_iter().flatten()) {
            place.slots = slots;
        }
    }

    /// Returns a description of the problem if the file is not in its place.
    pub(super) fn problem(&self) -> Option<&str> {
        self.file.problem()
    }

    /// Syncs the file to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.file().sync_all()
    }
}

/// Writes the newest record of the place `at` to a file that was created again. Returns the slots of this place in the
/// new file.
fn restore(file: &File, at: u8, place: &StampPlace) -> io::Result<TwoSlots<LEN>> {
    // Records that are already in the file are not newer.
    let decoded = |bytes: &[u8; LEN]| read(bytes, at);
    let opened = TwoSlots::open(file, MAGIC, slots_of(at), decoded)?;
    let (mut slots, Contents::Known { .. }) = opened else {
        return Err(io::Error::other(
            "the file there is not the file of this node",
        ));
    };
    if let Some(newest) = place.newest {
        slots.write(file, newest)?;
    }
    Ok(slots)
}

fn slots_of(place: u8) -> [u64; 2] {
    [0, 1].map(|slot| offset(place, slot))
}

/// Decodes a record. Returns `None` if the record is invalid, and `Some(None)` if the record is the mark.
#[expect(clippy::option_option, reason = "a valid record may contain no stamp")]
fn read(bytes: &[u8; LEN], place: u8) -> Option<Option<StoredStamp>> {
    if place == MARK_PLACE {
        return Some(None);
    }
    decode(bytes, place).map(Some)
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

    use super::{Damage, FoundStamps, LEN, MARK_PLACE, StampFile, offset};
    use ring_codec::MacAddr;
    use ring_codec::lab2::RunOutcome;
    use ring_text::hex;
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;
    use std::path::Path;
    use std::time::Duration;

    use tempfile::NamedTempFile;

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

    /// Creates a file that looks like the file of an earlier run without stamps.
    fn made() -> NamedTempFile {
        let file = NamedTempFile::new().unwrap();
        fs::remove_file(file.path()).unwrap();
        open(&file);
        file
    }

    fn opened(file: &NamedTempFile) -> File {
        File::options()
            .read(true)
            .write(true)
            .open(file.path())
            .unwrap()
    }

    fn open(file: &NamedTempFile) -> (StampFile, Vec<StoredStamp>) {
        let (file, stored, damage) = open_damaged(file.path());
        assert_eq!(damage, Damage::None);
        (file, stored)
    }

    fn open_damaged(path: &Path) -> (StampFile, Vec<StoredStamp>, Damage) {
        let found = StampFile::open(path.to_owned(), true).unwrap();
        let FoundStamps::Known {
            file,
            stored,
            damage,
        } = found
        else {
            panic!("{found:?}");
        };
        (file, stored, damage)
    }

    /// Both slots of the first place. They were written by ringd 0.1.0.
    #[test]
    fn a_file_of_the_first_version_is_read_and_continued_byte_by_byte() {
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
        let file = made();
        opened(&file).write_all_at(&first, LEN as u64).unwrap();
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
        opened(&file).read_exact_at(&mut written, 0).unwrap();
        assert_eq!(written[..], second);
    }

    #[test]
    fn the_last_stamp_of_each_place_is_found_again() {
        let file = made();
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
    fn a_torn_record_leaves_the_previous_one() {
        for stored in 2..=3 {
            let file = made();
            let (mut stamps, _) = open(&file);
            for progress in 1..=stored {
                stamps.store(&stamp(4, "nightly", progress)).unwrap();
            }
            let torn = offset(4, stored % 2);
            for at in 0..LEN as u64 {
                let mut byte = [0];
                opened(&file).read_exact_at(&mut byte, torn + at).unwrap();
                opened(&file)
                    .write_all_at(&[byte[0] ^ 0x10], torn + at)
                    .unwrap();
                let (_, found, damage) = open_damaged(file.path());
                assert_eq!(found, [stamp(4, "nightly", stored - 1)], "byte {at}");
                assert_eq!(damage, Damage::Records(1), "byte {at}");
                opened(&file).write_all_at(&byte, torn + at).unwrap();
            }
        }
    }

    #[test]
    fn a_truncated_record_is_damaged() {
        let file = made();
        let (mut stamps, _) = open(&file);
        stamps.store(&stamp(4, "nightly", 1)).unwrap();
        opened(&file)
            .set_len(offset(4, 1) + LEN as u64 / 2)
            .unwrap();
        let (_, found, damage) = open_damaged(file.path());
        assert_eq!((found, damage), (Vec::new(), Damage::Records(1)));
    }

    #[test]
    fn a_record_of_a_newer_version_is_recognized_in_any_place() {
        for (place, slot) in [(0, 0), (4, 1), (31, 1)] {
            let file = made();
            open(&file).0.store(&stamp(4, "nightly", 1)).unwrap();
            opened(&file)
                .write_all_at(b"RINGJB02", offset(place, slot))
                .unwrap();
            let found = StampFile::open(file.path().to_owned(), true).unwrap();
            assert!(matches!(found, FoundStamps::Newer(2)), "{found:?}");
        }
    }

    #[test]
    fn an_emptied_file_differs_from_one_without_stamps() {
        let file = made();
        assert_eq!(open_damaged(file.path()).2, Damage::None);
        let length = opened(&file).metadata().unwrap().len();
        for length in [0, length] {
            open(&file).0.store(&stamp(4, "nightly", 1)).unwrap();
            opened(&file).set_len(0).unwrap();
            opened(&file).set_len(length).unwrap();
            let (_, found, damage) = open_damaged(file.path());
            assert_eq!((found, damage), (Vec::new(), Damage::Emptied));
            assert_eq!(open_damaged(file.path()).2, Damage::None, "once");
        }
        // A version that wrote no mark has created this file.
        open(&file).0.store(&stamp(4, "nightly", 1)).unwrap();
        opened(&file).set_len(offset(MARK_PLACE, 0)).unwrap();
        assert_eq!(open(&file).1, [stamp(4, "nightly", 1)]);
    }

    #[test]
    fn a_file_of_another_program_is_foreign_and_is_kept() {
        for contents in [&b"another program's"[..], &vec![0; 100_000][..]] {
            let file = NamedTempFile::new().unwrap();
            fs::write(file.path(), contents).unwrap();
            let found = StampFile::open(file.path().to_owned(), true).unwrap();
            assert!(matches!(found, FoundStamps::Foreign), "{found:?}");
            assert_eq!(fs::read(file.path()).unwrap(), contents);
        }
    }

    #[test]
    fn a_file_that_was_removed_is_made_again_with_all_its_stamps() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("place");
        fs::create_dir(&place).unwrap();
        let path = place.join("eth0.jobs");
        let (mut stamps, ..) = open_damaged(&path);
        stamps.store(&stamp(4, "nightly", 1)).unwrap();
        fs::remove_dir_all(&place).unwrap();
        stamps.check_place();
        assert!(stamps.problem().is_some());
        assert!(stamps.store(&stamp(4, "nightly", 2)).is_err());
        fs::create_dir(&place).unwrap();
        stamps.check_place();
        assert!(stamps.problem().is_none());
        stamps.store(&stamp(5, "report", 3)).unwrap();
        let (_, found, damage) = open_damaged(&path);
        assert_eq!(found, [stamp(4, "nightly", 1), stamp(5, "report", 3)]);
        assert_eq!(damage, Damage::None);
    }

    #[test]
    fn a_file_that_could_not_be_made_again_leaves_the_old_one_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let [place, away] = ["place", "away"].map(|name| directory.path().join(name));
        fs::create_dir(&place).unwrap();
        let path = place.join("eth0.jobs");
        let (mut stamps, ..) = open_damaged(&path);
        for progress in 1..=10 {
            stamps.store(&stamp(4, "nightly", progress)).unwrap();
        }
        fs::rename(&place, &away).unwrap();
        fs::create_dir(&place).unwrap();
        // All places before the last one can be written.
        let foreign = File::create(&path).unwrap();
        foreign.write_all_at(b"theirs", offset(31, 0)).unwrap();
        stamps.check_place();
        assert!(stamps.problem().is_some());
        fs::remove_dir_all(&place).unwrap();
        fs::rename(&away, &place).unwrap();
        stamps.check_place();
        assert!(stamps.problem().is_none());
        stamps.store(&stamp(4, "nightly", 11)).unwrap();
        assert_eq!(open_damaged(&path).1, [stamp(4, "nightly", 11)]);
    }

    #[test]
    fn an_invalid_place_is_refused() {
        let file = made();
        for place in [MARK_PLACE, MARK_PLACE + 1] {
            assert!(open(&file).0.store(&stamp(place, "nightly", 1)).is_err());
        }
    }
}
