//! The list of the crates in the daemon, `docs/contributors/dependencies.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const PAGE: &str = include_str!("../../docs/contributors/dependencies.md");
/// Texts that begin unsafe code.
const UNSAFE: [&str; 4] = ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"];

/// Returns the output of a cargo command on the lock file.
fn cargo(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(arguments)
        .args(["--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("names are text")
}

/// Whether a file in a folder or in its subfolders has unsafe code.
fn has_unsafe_code(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return has_unsafe_code(&path);
        }
        let is_unsafe = |line: &str| {
            !line.trim().starts_with("//") && UNSAFE.iter().any(|it| line.contains(it))
        };
        let is_rust = path.extension().is_some_and(|it| it == "rs");
        is_rust && fs::read_to_string(&path).is_ok_and(|text| text.lines().any(is_unsafe))
    })
}

/// Returns the last three columns of a package: owner, unsafe, script.
fn columns(package: &Value) -> (String, bool, bool) {
    let repository = package["repository"].as_str().unwrap_or_default();
    let owner = repository.split('/').nth(3).unwrap_or_default();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
    let folder = manifest.parent().unwrap_or(manifest).join("src");
    let targets = package["targets"].as_array().into_iter().flatten();
    let has_script = targets
        .flat_map(|target| target["kind"].as_array().into_iter().flatten())
        .any(|kind| kind == "custom-build");
    (owner.to_owned(), has_unsafe_code(&folder), has_script)
}

/// Returns the lines that the list needs, without the tasks, by the name of the crate.
pub(super) fn linked() -> BTreeMap<String, String> {
    let edges = ["-p", "ringd", "-e", "normal,no-proc-macro"];
    let form = ["--prefix", "none", "--format", "{p}"];
    let tree = cargo(&[&["tree"], &edges[..], &form].concat());
    let metadata = cargo(&["metadata", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let mut linked = BTreeMap::<String, (String, bool, bool)>::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(version)) = (words.next(), words.next()) else {
            continue;
        };
        let is_it =
            |it: &&Value| it["name"] == name && version.strip_prefix('v') == it["version"].as_str();
        let package = packages.iter().find(is_it).expect("cargo knows it");
        // The crates of this repository have no source.
        if package["source"].is_null() {
            continue;
        }
        let (owner, is_unsafe, has_script) = columns(package);
        let columns = linked
            .entry(name.to_owned())
            .or_insert((owner, false, false));
        columns.1 |= is_unsafe;
        columns.2 |= has_script;
    }
    let word = |is_so| if is_so { "yes" } else { "no" };
    let line = |(name, (owner, is_unsafe, has_script))| {
        let line = format!("| {owner} | {} | {} |", word(is_unsafe), word(has_script));
        (name, line)
    };
    linked.into_iter().map(line).collect()
}

/// Returns the lines of the list, without the tasks, by the name of the crate.
pub(super) fn listed() -> BTreeMap<String, String> {
    let list = PAGE.split("\n## Crates\n").nth(1).unwrap_or_default();
    let lines = list.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        let (task, columns) = rest.split_once(" | ")?;
        assert!(!task.trim().is_empty(), "{line}");
        Some((name.to_owned(), format!("| {columns}")))
    });
    lines.collect()
}
