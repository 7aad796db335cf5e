//! The seeds of the fuzz targets: the worked examples, and inputs that once made a fuzz target fail. Each test run
//! checks all these inputs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::checks::{FORMATS, Format};

/// Returns the directory of a format's seeds.
pub(crate) fn dir(format: &Format) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    corpus.join(format.name)
}

/// Returns a format's seeds, sorted by name.
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

/// Returns the seed of a worked example.
pub(crate) fn seed(format: &str, name: &str) -> Vec<u8> {
    let format = FORMATS.iter().find(|f| f.name == format).unwrap();
    fs::read(dir(format).join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn all() -> Vec<(Format, Vec<u8>)> {
    let with_format = |format: Format| {
        seeds(&format)
            .into_iter()
            .map(move |(_, bytes)| (format, bytes))
    };
    FORMATS.into_iter().flat_map(with_format).collect()
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
