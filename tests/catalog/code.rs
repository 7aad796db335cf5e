//! The places in the code that log events.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::tables::{TABLES, Table};

/// A name in capitals, which may be the constant of an event.
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b(shared_)?(?:events::)?([A-Z][A-Z_]+)\b"));
/// The description of an event with its level.
static DESCRIBED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?:Line::new|node_line|token_line|describe_pass|describe_session|logged!|news!)",
        r"\(\s*events::([A-Z_]+),\s*(?:Level|L)::(\w+)"
    ))
});
/// A macro call that logs.
static CALL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(warn|error|info|debug|\$level)!\("));
/// The first argument of such a call.
static EVENT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\s*event = (shared_)?events::([A-Z_]+)$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

/// The levels and fields of an event, as the code logs it.
#[derive(Default)]
struct Usage {
    levels: BTreeSet<String>,
    fields: BTreeSet<String>,
    /// Number of macro calls that log the event directly.
    logged: usize,
    /// Number of places that name the event.
    named: usize,
}

/// Compares the tables with the code.
///
/// # Panics
/// An event of a table is not used, or the code logs it at a level or with fields that the table lacks. Also panics if
/// a line has a name that no table contains.
pub(super) fn check() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut usages: BTreeMap<(usize, String), Usage> = BTreeMap::new();
    for source in ["crates/host/src", "src", "board/src"] {
        for file in rust_files(&root.join(source)) {
            let path = file.strip_prefix(root).expect("it is below the root");
            let path = path.display().to_string();
            if path.ends_with("events.rs") {
                continue;
            }
            let code = fs::read_to_string(&file).expect("code is text");
            let code = code
                .split("#[cfg(test)]\nmod tests {")
                .next()
                .unwrap_or_default();
            assert!(
                !code.contains("event = \""),
                "{path} logs an event that is in no table"
            );
            add_usages(&path, code, &mut usages);
        }
    }
    for (at, table) in TABLES.iter().enumerate() {
        for event in table.events {
            let name = event.name;
            let key = (at, name.to_uppercase());
            // The crate of processes does not use this table.
            let Some(usage) = usages.get(&key) else {
                assert_eq!(
                    name, "holder_not_ended",
                    "no code of {} logs it",
                    table.title
                );
                continue;
            };
            let levels = event.levels.iter().map(ToString::to_string).collect();
            let fields = event.fields.iter().map(|it| (*it).to_owned()).collect();
            check_subset(table, name, "level", &usage.levels, &levels);
            check_subset(table, name, "field", &usage.fields, &fields);
            if usage.logged == usage.named {
                check_subset(table, name, "level", &levels, &usage.levels);
                check_subset(table, name, "field", &fields, &usage.fields);
            }
        }
    }
}

fn check_subset(
    table: &Table,
    event: &str,
    what: &str,
    some: &BTreeSet<String>,
    all: &BTreeSet<String>,
) {
    let missing: Vec<_> = some.difference(all).collect();
    assert!(
        missing.is_empty(),
        "{}, {event}: the {what} {missing:?} is only in the table, or only in the code",
        table.title
    );
}

fn add_usages(path: &str, code: &str, usages: &mut BTreeMap<(usize, String), Usage>) {
    let own = table_of(path);
    for found in NAMED.captures_iter(code) {
        let table = if found.get(1).is_some() { 1 } else { own };
        let is_event = TABLES[table]
            .events
            .iter()
            .any(|it| it.name.to_uppercase() == found[2]);
        if is_event && (found[0].contains("events::") || path.ends_with("lab2/observe/trouble.rs"))
        {
            usages
                .entry((table, found[2].to_owned()))
                .or_default()
                .named += 1;
        }
    }
    for found in DESCRIBED.captures_iter(code) {
        let usage = usages.entry((own, found[1].to_owned())).or_default();
        usage.levels.insert(found[2].to_owned());
    }
    for found in CALL.captures_iter(code) {
        let whole = found.get(0).expect("it matches");
        let mut arguments = arguments(&code[whole.end()..]).into_iter();
        let first = arguments.next().unwrap_or_default().trim();
        assert!(
            first == "event" || first.starts_with("event = "),
            "{path} logs a line whose first field is not its event"
        );
        let Some(logged) = EVENT.captures(first) else {
            continue;
        };
        let table = if logged.get(1).is_some() { 1 } else { own };
        let usage = usages.entry((table, logged[2].to_owned())).or_default();
        if &found[1] == "$level" {
            // The level is chosen elsewhere.
            continue;
        }
        usage.logged += 1;
        usage.levels.insert(found[1].to_uppercase());
        usage
            .fields
            .extend(arguments.filter_map(|it| field(it.trim())));
    }
}

/// Returns the index of the table of the file at `path`.
fn table_of(path: &str) -> usize {
    let tables = TABLES.iter().enumerate();
    let matching = tables.filter(|(_, table)| path.starts_with(table.source));
    let longest = matching.max_by_key(|(_, table)| table.source.len());
    longest.map_or(1, |(at, _)| at)
}

/// Returns the name of a field; `None` for the text of a line.
fn field(argument: &str) -> Option<String> {
    let name = argument.split(" = ").next()?.trim_start_matches(['%', '?']);
    let is_name = |it: char| it.is_ascii_lowercase() || it == '_';
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

/// Returns the arguments of a macro call that precede the first argument with a string. If no argument has a string,
/// returns all arguments. `code` begins after the opening parenthesis.
fn arguments(code: &str) -> Vec<&str> {
    let mut arguments = Vec::new();
    let (mut begin, mut depth) = (0, 0);
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'"' => return arguments,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => {
                arguments.push(&code[begin..at]);
                return arguments;
            }
            b')' | b']' | b'}' => depth -= 1,
            b',' if depth == 0 => {
                arguments.push(&code[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    arguments
}

/// Compares the table of the ring with the log lines in `announcements.txt`. A test generates these lines from all
/// events.
///
/// # Panics
/// A line has a level or a field that is missing from the table.
pub(super) fn check_announcements() {
    let lines = include_str!("../../src/system/lab2/announcements.txt");
    let table = TABLES
        .iter()
        .find(|table| table.source == "src/system/lab2/");
    let table = table.expect("the ring has a table");
    let mut is_over = false;
    for line in lines.lines() {
        if !line.starts_with(' ') {
            is_over = line.ends_with("over: true }");
        }
        let Some(line) = line.strip_prefix("  log     ") else {
            continue;
        };
        let line: serde_json::Value =
            serde_json::from_str(&format!("{{{line}")).expect("it is JSON");
        let line = line.as_object().expect("it is an object");
        let text = |key: &str| line[key].as_str().expect("it is text");
        let event = table.events.iter().find(|it| it.name == text("event"));
        let event = event.expect("each event is in the table");
        let has_level = event.levels.iter().any(|it| it.as_str() == text("level"));
        // A trouble that has no event for its end never ends with an event.
        assert!(
            has_level || is_over,
            "{} is logged at {}",
            event.name,
            text("level")
        );
        let known = ["event", "level", "message"];
        let fields = line.keys().filter(|it| !known.contains(&it.as_str()));
        for field in fields {
            let is_known = event.fields.contains(&field.as_str());
            assert!(is_known, "{} is logged with {field}", event.name);
        }
    }
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|it| it == "rs") {
            files.push(path);
        }
    }
    files
}
