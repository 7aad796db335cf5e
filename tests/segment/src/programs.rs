//! Programs under test in cargo's target folder.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::Binaries;

/// Returns the paths of `ringd` and `ringctl`, as [`program`] finds them.
pub fn binaries() -> Binaries {
    Binaries {
        ringd: program("ringd"),
        ringctl: program("ringctl"),
    }
}

/// Returns the path of a program of this workspace. For an example, `name` is `examples/NAME`. The program is in the
/// folder in which cargo built the running test or benchmark.
///
/// # Panics
/// Panics if the program is missing or older than one of its sources. `cargo test` builds the programs of a package
/// only with the tests of that package.
pub fn program(name: &str) -> &'static str {
    static FOUND: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = found.get(name) {
        return path;
    }
    let path = folder().join(name);
    assert!(
        path.exists(),
        "{} is missing: run {}",
        path.display(),
        build_command()
    );
    if let Some(source) = newer_source(&path) {
        panic!(
            "{} is older than {}: run {}",
            path.display(),
            source.display(),
            build_command()
        );
    }
    let path: &'static str = Box::leak(path.display().to_string().into_boxed_str());
    found.insert(name.to_owned(), path);
    path
}

fn build_command() -> &'static str {
    if folder().ends_with("release") {
        "cargo build --release --workspace --bins --examples"
    } else {
        "cargo build --workspace --bins --examples"
    }
}

/// Returns the folder of the programs under test. The running test is in its subfolder `deps`.
fn folder() -> PathBuf {
    let own = env::current_exe().expect("a process can find its program");
    let folder = own.parent().expect("a program lies in a folder");
    match folder.parent() {
        Some(above) if folder.ends_with("deps") => above.to_owned(),
        _ => folder.to_owned(),
    }
}

/// Returns a source that was changed after the program was built. Cargo lists the sources in a file next to the
/// program.
fn newer_source(program: &Path) -> Option<PathBuf> {
    let built = fs::metadata(program).and_then(|it| it.modified()).ok()?;
    let listed = fs::read_to_string(program.with_extension("d")).ok()?;
    let (_, sources) = listed.split_once(": ")?;
    sources
        .split_whitespace()
        .map(PathBuf::from)
        .find(|source| {
            let changed = fs::metadata(source).and_then(|it| it.modified());
            changed.is_ok_and(|changed| changed > built)
        })
}
