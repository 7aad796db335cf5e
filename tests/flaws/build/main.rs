//! Copies the sources of the state machines. If a patch changes a function, the function gets the patch's body as a
//! second body. The build also copies the simulators that name these state machines.
//!
//! The copies are in the build directory, so the original sources do not change. A patch that does not apply fails
//! the build.

mod bodies;
mod copies;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use diffy::Patch;

use copies::{COPIES, Copy, Sources};

fn main() -> Result<(), String> {
    let root = Path::new("../..");
    println!("cargo::rerun-if-changed=patches");
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from);
    let out = out.ok_or("OUT_DIR is not set: run this program with cargo")?;
    let mut table = String::new();
    let mut spoilt: BTreeMap<String, Vec<(usize, String)>> = BTreeMap::new();
    let patches = patches()?;
    for (at, patch) in patches.iter().enumerate() {
        let (system, name) = (folder(patch)?, stem(patch)?);
        let text = read(patch)?;
        let (rule, diff) = split(&text)
            .ok_or_else(|| format!("{} does not begin with a sentence", patch.display()))?;
        let (file, text) = apply_patch(root, diff)
            .map_err(|why| format!("tests/flaws/{}: {why}", patch.display()))?;
        spoilt.entry(file).or_default().push((at + 1, text));
        let _ = writeln!(table, "    ({system:?}, {name:?}, {rule:?}),");
    }
    for copy in &COPIES {
        let from = root.join(copy.from);
        println!("cargo::rerun-if-changed={}", from.display());
        let mut copied = Sources::new();
        for (file, source) in read_sources(&from)? {
            let none = Vec::new();
            let variants = spoilt.get(&format!("{}{file}", copy.from)).unwrap_or(&none);
            let variants: Vec<(usize, String)> = variants
                .iter()
                .map(|(number, text)| (*number, copy.rebase(text)))
                .collect();
            let merged = bodies::merge(&copy.rebase(&source), &variants).map_err(|number| {
                let patch = patches[number - 1].display();
                format!("tests/flaws/{patch}: changes more of {file} than bodies of functions")
            })?;
            copied.insert(file, merged);
        }
        write_copy(&out, copy, &copied)?;
    }
    let modules = copies::modules(&out);
    let list = format!(
        "{modules}\n/// Of every flaw: whose machine has it, its name, and the rule that it breaks.\n\
         pub const FLAWS: &[(&str, &str, &str)] = &[\n{table}];\n"
    );
    write(&out.join("flaws.rs"), &list)
}

fn patches() -> Result<Vec<PathBuf>, String> {
    let mut patches = Vec::new();
    for folder in list(Path::new("patches"))? {
        patches.extend(list(&folder)?);
    }
    patches.sort();
    Ok(patches)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder);
    let entries = entries.map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

/// Splits a patch into its description and its diff.
fn split(text: &str) -> Option<(&str, &str)> {
    let (rule, diff) = text.split_at(text.find("--- ")?);
    Some((rule.trim(), diff)).filter(|(rule, _)| !rule.is_empty())
}

/// Applies a patch. Returns the path of the patched file within the repository, and the new text of the file.
fn apply_patch(root: &Path, diff: &str) -> Result<(String, String), String> {
    let diff = Patch::from_str(diff)
        .map_err(|error| format!("the patch is not a unified diff: {error}"))?;
    let path = diff.original().unwrap_or_default();
    let path = path.strip_prefix("a/").unwrap_or(path);
    if !COPIES.iter().any(|copy| path.starts_with(copy.from)) {
        return Err(format!("{path} is not in the list of copied sources"));
    }
    let spoilt = diffy::apply(&read(&root.join(path))?, &diff).map_err(|error| {
        format!("the patch does not apply to {path} ({error}): adapt the patch to the source")
    })?;
    Ok((path.to_owned(), spoilt))
}

fn read_sources(machine: &Path) -> Result<Sources, String> {
    let mut sources = Sources::new();
    let mut folders = vec![machine.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in list(&folder)? {
            let name = stem(&path)?;
            if name == "tests" || name.ends_with("_tests") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(below) = path.strip_prefix(machine) {
                let file = below.display().to_string();
                // The copy of a crate is a module.
                let file = file.replace("lib.rs", "mod.rs");
                sources.insert(file, read(&path)?);
            }
        }
    }
    Ok(sources)
}

fn write_copy(out: &Path, copy: &Copy, sources: &Sources) -> Result<(), String> {
    let to = out.join(copy.to);
    let _ = fs::remove_dir_all(&to); // what an earlier build has left
    for (file, source) in sources {
        let path = to.join(file);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        write(&path, copy.find_shared(file).as_ref().unwrap_or(source))?;
    }
    Ok(())
}

/// Returns the name of the folder that contains a patch. The folder has the name of the system.
fn folder(patch: &Path) -> Result<String, String> {
    patch.parent().map_or_else(
        || Err("a patch is not in the folder of a system".into()),
        stem,
    )
}

fn stem(path: &Path) -> Result<String, String> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.map(|stem| stem.replace('-', "_"))
        .ok_or_else(|| format!("{} has no name", path.display()))
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
