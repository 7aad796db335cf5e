//! The fuzz targets' seeds, one a worked example, and the inputs that fuzzing has ever tripped over:
//! all go through the checks on every run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::checks::{FORMATS, Format};

/// Where a format's seeds are.
pub(crate) fn dir(format: &Format) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    corpus.join(format.name)
}

/// A format's seeds by name, in order.
pub(crate) fn seeds(format: &Format) -> Vec<(String, Vec<u8>)> {
    let dir = dir(format);
    let mut seeds: Vec<_> = fs::read_dir(&dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    seeds.sort();
    seeds
}

/// The seed of this name, which is a worked example.
pub(crate) fn seed(format: &str, name: &str) -> Vec<u8> {
    let format = FORMATS.iter().find(|f| f.name == format).unwrap();
    fs::read(dir(format).join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// All seeds with their formats.
pub(crate) fn all() -> Vec<(Format, Vec<u8>)> {
    let of = |format: Format| {
        seeds(&format)
            .into_iter()
            .map(move |(_, bytes)| (format, bytes))
    };
    FORMATS.into_iter().flat_map(of).collect()
}

#[test]
fn every_seed_passes_the_checks_of_every_format() {
    for (_, bytes) in all() {
        for format in FORMATS {
            (format.bytes)(&bytes);
            (format.value)(&bytes);
        }
    }
}

#[test]
fn every_seed_with_any_one_byte_changed_passes_the_checks() {
    for (format, mut bytes) in all() {
        for at in 0..bytes.len() {
            let before = bytes[at];
            for byte in 0..=u8::MAX {
                bytes[at] = byte;
                (format.bytes)(&bytes);
            }
            bytes[at] = before;
        }
    }
}

#[test]
fn every_seed_cut_anywhere_passes_the_checks() {
    for (format, bytes) in all() {
        for len in 0..bytes.len() {
            (format.bytes)(&bytes[..len]);
        }
    }
}
