//! The tables of log events and troubles, compared with the code and with the documents.
//!
//! `code.rs` finds the places that log, and `manual.rs` reads the entries of `docs/operations/troubleshoot.md`. If
//! `RINGD_WRITE_DOCS=1` is set, the tests write the generated pages instead of checking them.

mod code;
mod manual;
mod pages;
mod tables;

use std::collections::BTreeSet;

use ring_host::observe::Level;

use tables::TABLES;

#[test]
fn the_page_of_log_events_agrees_with_the_tables() {
    pages::check("docs/reference/log-events.md", &pages::log_events());
}

#[test]
fn the_page_of_troubles_agrees_with_the_tables() {
    pages::check("docs/reference/troubles.md", &pages::troubles());
}

#[test]
fn the_code_logs_the_events_of_the_tables() {
    code::check();
}

#[test]
fn the_announced_events_have_the_levels_and_fields_of_the_table() {
    code::check_announcements();
}

#[test]
fn each_warning_and_each_trouble_has_an_entry_for_operators() {
    let mut expected: BTreeSet<&str> = TABLES
        .iter()
        .flat_map(|table| table.events)
        .filter(|event| event.levels.iter().any(|&level| level <= Level::WARN))
        .map(|event| event.name)
        .collect();
    expected.extend(tables::troubles().map(|trouble| trouble.name));
    let entries = manual::entries();
    let found: BTreeSet<&str> = entries.iter().map(String::as_str).collect();
    let missing: Vec<_> = expected.difference(&found).collect();
    assert!(
        missing.is_empty(),
        "docs/operations/troubles has no entry for these events and troubles: {missing:?}"
    );
    let surplus: Vec<_> = found.difference(&expected).collect();
    assert!(
        surplus.is_empty(),
        "docs/operations/troubles has entries for events and troubles that do not exist: {surplus:?}"
    );
}
