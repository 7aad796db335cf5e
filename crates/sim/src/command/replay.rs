//! `ring-sim replay`: repeats a recording.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::Error;
use super::escape::{escape, escape_lines};
use super::files::make;
use super::options::ReplayOptions;
use crate::lab2::Inspect;
use crate::recording::{Repetition, read, repeat};

/// Repeats a recording with the state machine `M`, and prints the result. Returns whether all outputs equal the
/// recorded outputs.
pub(super) fn run<M>(options: &ReplayOptions, out: &mut impl Write) -> Result<bool, Error>
where
    M: Inspect + Clone + DeserializeOwned,
{
    let path = &options.file;
    let bytes = fs::read(path).map_err(|source| Error::Read {
        path: path.clone(),
        source,
    })?;
    let recording = read::<M>(&bytes).map_err(|reason| Error::Recording {
        path: path.clone(),
        reason,
    })?;
    let about = &recording.about;
    let heading = format!(
        "{} of ringd {}: {}",
        about.ring, about.version, about.reason
    );
    writeln!(out, "{}", escape(&heading))?;
    if recording.missing.is_any() {
        writeln!(out, "{}", recording.missing)?;
    }
    let repetition = repeat(&recording);
    writeln!(out, "{}", escape_lines(&repetition.to_string()))?;
    if let Some(directory) = &options.write_test {
        write_test(path, &bytes, directory, out)?;
    }
    Ok(matches!(repetition, Repetition::Same { .. }))
}

fn write_test(
    path: &Path,
    bytes: &[u8],
    directory: &Path,
    out: &mut impl Write,
) -> Result<(), Error> {
    make(directory)?;
    let copy = directory.join(path.file_name().unwrap_or_default());
    fs::write(&copy, bytes).map_err(|source| Error::Write {
        path: copy.clone(),
        source,
    })?;
    writeln!(out, "written: {}", copy.display())?;
    Ok(())
}
