//! Breaches counted a folder, compared with the numbers in `allowed.txt`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A place that breaks a rule.
pub(super) struct Breach {
    pub folder: String,
    /// Path and line.
    pub place: String,
    pub rule: &'static str,
    pub text: String,
}

/// Compares the number of breaches in each folder with the allowed one.
///
/// # Panics
/// If a number differs. The message lists the breaches of the folders that have too many.
pub(super) fn check(breaches: &[Breach]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tidy/allowed.txt");
    let allowed = fs::read_to_string(&path).expect("the repository has this file");
    let allowed: BTreeMap<&str, usize> = allowed.lines().map(parse).collect();
    let mut found = BTreeMap::<&str, usize>::new();
    for breach in breaches {
        *found.entry(&breach.folder).or_default() += 1;
    }
    let may = |folder: &str| allowed.get(folder).copied().unwrap_or_default();

    let mut report = String::new();
    for breach in breaches {
        if found[breach.folder.as_str()] > may(&breach.folder) {
            let Breach {
                place, rule, text, ..
            } = breach;
            writeln!(report, "{place}: {rule}: {text}").expect("a string takes all");
        }
    }
    for (folder, count) in &found {
        if *count > may(folder) {
            let may = may(folder);
            writeln!(report, "{folder}: {count} breaches, {may} allowed")
                .expect("a string takes all");
        }
    }
    assert!(
        report.is_empty(),
        "docs/style.md explains the rules:\n{report}"
    );

    if std::env::var_os("RINGD_WRITE_TIDY").is_some() {
        let lines = found
            .iter()
            .map(|(folder, count)| format!("{folder} {count}\n"));
        fs::write(&path, lines.collect::<String>()).expect("the file can be written");
        return;
    }
    let fewer: Vec<_> = allowed
        .iter()
        .filter(|(folder, may)| found.get(*folder).copied().unwrap_or_default() < **may)
        .collect();
    assert!(
        fewer.is_empty(),
        "fewer breaches than allowed, in {fewer:?}: run `RINGD_WRITE_TIDY=1 cargo test --test tidy` to keep it so"
    );
}

fn parse(line: &str) -> (&str, usize) {
    let (folder, count) = line.rsplit_once(' ').expect("a line is `FOLDER COUNT`");
    (folder, count.parse().expect("the count is a number"))
}
