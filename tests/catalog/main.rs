//! The tables of log events and troubles, compared with the code and with the documents.
//!
//! `code.rs` finds the places that log, and `manual.rs` reads the entries of `docs/operations/troubleshoot.md`. If
//! `RINGD_WRITE_DOCS=1` is set, the tests write the generated pages instead of checking them.

mod code;
mod manual;
mod message_catalog;
mod pages;
mod tables;

use std::collections::BTreeSet;

use ring_control::MESSAGE_IDS;
use ring_control::hold_history::HOLD_EVENTS;
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
fn the_message_catalog_agrees_with_the_tables_and_the_entries_for_operators() {
    pages::check("systemd/ringd.catalog", &message_catalog::catalog());
}

#[test]
fn each_warning_and_each_event_of_the_history_has_a_message_id() {
    let events = TABLES.iter().flat_map(|table| table.events);
    let expected: BTreeSet<&str> = events
        .filter(|event| {
            let is_warning = event.levels.iter().any(|&level| level <= Level::WARN);
            is_warning || HOLD_EVENTS.contains(&event.name)
        })
        .map(|event| event.name)
        .collect();
    let found: BTreeSet<&str> = MESSAGE_IDS.iter().map(|&(event, _)| event).collect();
    assert_eq!(found, expected);
    assert!(HOLD_EVENTS.iter().all(|event| expected.contains(event)));
}

#[test]
fn the_name_of_the_node_in_the_journal_is_no_field_of_an_event() {
    let mut fields = TABLES
        .iter()
        .flat_map(|table| table.events)
        .flat_map(|event| event.fields);
    assert!(fields.all(|&field| field != "instance"));
}

#[test]
fn the_texts_of_the_message_catalog_stand_alone() {
    let catalog = message_catalog::catalog();
    let words: Vec<&str> = catalog.split_whitespace().collect();
    let text = words.join(" ");
    for words in [
        " before it.",
        " above",
        " below",
        "of the next ",
        "this page",
        "this table",
    ] {
        assert!(!text.contains(words), "the catalog has the words{words}");
    }
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
    let names = entries.iter().flat_map(|entry| &entry.names);
    let found: BTreeSet<&str> = names.map(String::as_str).collect();
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
