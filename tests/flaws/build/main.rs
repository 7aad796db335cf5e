//! Makes a copy of the Lab2 machine's sources in which the functions that patches change have the
//! patches' bodies besides their own.
//!
//! The copy lies in the build's own directory, so the sources that ship know nothing of it. A
//! patch that no longer fits the sources ends the build.

mod bodies;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use diffy::Patch;

/// Where the machine's sources are, as patches name it.
const MACHINE: &str = "proto/src/lab2/";

/// Modules whose types the driver, the world and the checker know: a copy has the same ones.
const SHARED: [(&str, &str); 4] = [
    ("command.rs", "Command"),
    ("constants.rs", "ConstantError, Constants, FOREVER"),
    (
        "event.rs",
        "DataLimit, Difference, DropReason, Durable, Event, Grade, Reason, State, Terms, Trouble",
    ),
    (
        "job.rs",
        "JobName, MAX_STAMPS, OnceRequest, OnceStanding, RunEnd, RunView, Stamp, StoredStamp",
    ),
];

/// The machine's sources without its tests, by their paths below [`MACHINE`].
type Sources = BTreeMap<String, String>;

fn main() -> Result<(), String> {
    let root = Path::new("../..");
    let machine = root.join(MACHINE);
    println!("cargo::rerun-if-changed={}", machine.display());
    println!("cargo::rerun-if-changed=patches");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from);
    let out = out.ok_or("there is no OUT_DIR: this is to be run by cargo")?;
    let sources = read_sources(&machine)?;
    let mut table = String::new();
    let mut spoilt: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    let patches = patches()?;
    for (at, patch) in patches.iter().enumerate() {
        let name = stem(patch)?;
        let text = read(patch)?;
        let (rule, diff) = split(&text)
            .ok_or_else(|| format!("{}: does not begin with a sentence", patch.display()))?;
        let (file, text) = spoil(&sources, diff)
            .map_err(|why| format!("tests/flaws/{}: {why}", patch.display()))?;
        spoilt
            .entry(file)
            .or_default()
            .push((at + 1, rebase(&text)));
        let _ = writeln!(table, "    ({name:?}, {rule:?}),");
    }
    let mut copied = Sources::new();
    for (file, source) in &sources {
        let variants = spoilt.get(file).map_or(&[][..], Vec::as_slice);
        let merged = bodies::merge(&rebase(source), variants).map_err(|number| {
            let patch = patches[number - 1].display();
            format!("tests/flaws/{patch}: changes more of {file} than the bodies of functions")
        })?;
        copied.insert(file.clone(), merged);
    }
    let copy = out.join("machine");
    write_copy(&copy, &copied)?;
    let path = copy.join("mod.rs");
    let list = format!(
        "#[allow(warnings, clippy::all, clippy::pedantic, reason = \"lints are for the sources that ship\")]\n\
         #[path = {:?}]\nmod machine;\n\n\
         /// Every flaw's name and the rule that it breaks.\npub const FLAWS: &[(&str, &str)] = &[\n{table}];\n",
        path.display().to_string()
    );
    write(&out.join("flaws.rs"), &list)
}

fn patches() -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir("patches").map_err(|error| format!("patches: {error}"))?;
    let mut patches: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    patches.sort();
    Ok(patches)
}

/// A patch's sentence and the rest of it.
fn split(text: &str) -> Option<(&str, &str)> {
    let (rule, diff) = text.split_at(text.find("--- ")?);
    Some((rule.trim(), diff)).filter(|(rule, _)| !rule.is_empty())
}

/// The file that a patch is for, and what it looks like afterwards.
fn spoil(sources: &Sources, diff: &str) -> Result<(String, String), String> {
    let diff = Patch::from_str(diff).map_err(|error| format!("not a unified diff: {error}"))?;
    let path = diff.original().unwrap_or_default();
    let path = path.strip_prefix("a/").unwrap_or(path);
    let file = path.strip_prefix(MACHINE).unwrap_or(path);
    let source = sources
        .get(file)
        .ok_or_else(|| format!("there is no {path} to patch"))?;
    let spoilt = diffy::apply(source, &diff).map_err(|error| {
        format!("no longer fits {path} ({error}): make it anew from the rule in its head")
    })?;
    Ok((file.to_owned(), spoilt))
}

fn read_sources(machine: &Path) -> Result<Sources, String> {
    let mut sources = Sources::new();
    let mut folders = vec![machine.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder);
        let entries = entries.map_err(|error| format!("{}: {error}", folder.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = stem(&path)?;
            if name == "tests" || name.ends_with("_tests") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(below) = path.strip_prefix(machine) {
                sources.insert(below.display().to_string(), read(&path)?);
            }
        }
    }
    Ok(sources)
}

fn write_copy(copy: &Path, sources: &Sources) -> Result<(), String> {
    let _ = fs::remove_dir_all(copy); // what an earlier build has left
    for (file, source) in sources {
        let shared = SHARED.iter().find(|(name, _)| name == file);
        let types = shared.map(|(_, types)| format!("pub use ring_proto::lab2::{{{types}}};\n"));
        let path = copy.join(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        write(&path, types.as_ref().unwrap_or(source))?;
    }
    Ok(())
}

/// The source as another crate has it: the rest of the crate is ring-proto's, and there are no tests.
fn rebase(source: &str) -> String {
    let mut lines = source.lines().peekable();
    let mut text = String::new();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            let declares = lines.next().is_some_and(|next| next.ends_with(';'));
            if declares {
                continue;
            }
            break; // a module of tests, which stands last
        }
        let line = line.replace("crate::", "ring_proto::");
        let _ = writeln!(text, "{line}");
    }
    text
}

fn stem(path: &Path) -> Result<String, String> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.map(|stem| stem.replace('-', "_"))
        .ok_or_else(|| format!("{}: has no name", path.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
