//! Records the recipes that tests requested in this run, to check the claims of [`super::pages`].
//!
//! Tests run in separate processes, so each requested recipe leaves a file in the build folder.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use libtest_mimic::Arguments;

use super::pages::{RECIPES, TestedBy};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("recipes")
}

fn file(page: &str, beginning: &str, module: &str) -> PathBuf {
    let name = format!("{module} {page} {beginning}");
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    folder().join(name.chars().map(plain).collect::<String>())
}

/// Returns the module of a source file: `recipes::leader` for `tests/network/recipes/leader.rs`.
fn module(source: &str) -> String {
    let path = source
        .split_once("tests/network/")
        .map_or(source, |(_, path)| path);
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.replace('/', "::")
}

/// Records that a test in this source file requested a recipe.
pub(crate) fn note(page: &str, beginning: &str, source: &str) -> Result<()> {
    fs::create_dir_all(folder())?;
    let file = file(page, beginning, &module(source));
    fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))
}

/// Prints the recipes that no test of their module has requested since `began`. Skips a module if some of its tests did
/// not run. Returns the number of printed recipes.
pub(crate) fn report_untried(began: SystemTime) -> usize {
    let arguments = Arguments::from_args();
    let leaves_out = arguments.list || arguments.exact || !arguments.skip.is_empty();
    if leaves_out || env::var_os("RING_SEGMENT_STALLS").is_some() {
        return 0;
    }
    let is_complete = |module: &str| match &arguments.filter {
        None => true,
        Some(filter) => format!("{module}::").contains(filter),
    };
    let mut count = 0;
    for (page, beginning, by) in RECIPES {
        let TestedBy::Test(module) = by else { continue };
        let written = fs::metadata(file(page, beginning, module)).and_then(|it| it.modified());
        let is_tried = written.is_ok_and(|written| written >= began);
        if is_complete(module) && !is_tried {
            eprintln!("{page}: no test of {module} requested the recipe {beginning:?}");
            count += 1;
        }
    }
    count
}
