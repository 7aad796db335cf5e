//! The catalog from which `journalctl -x` explains events.

use ring_control::MESSAGE_IDS;

use super::manual;
use super::tables::TABLES;

/// Maximum length of a line, without the indentation that journalctl adds.
const LINE_LEN_MAX: usize = 76;

const CATALOG_HEAD: &str = "\
# Explanations of log events for journalctl -x. Install this file as /usr/lib/systemd/catalog/ringd.catalog, then run:
# journalctl --update-catalog
# The program that writes this file is RINGD_WRITE_DOCS=1 cargo test --test catalog.
";
const DEFINED_BY: &str = "Defined-By: ringd\nDocumentation: man:ringctl(1)";
const INFORMATION: &str = "\
This line is only information. The command ringctl history lists the programs that held locks.";

/// Returns the text of the catalog.
pub(super) fn catalog() -> String {
    let entries = manual::entries();
    let mut catalog = CATALOG_HEAD.to_owned();
    for (event, id) in MESSAGE_IDS {
        let subject = format!("Subject: ringd event {event}");
        let lines = ["", &format!("-- {id}"), &subject, DEFINED_BY, ""];
        catalog += &lines.join("\n");
        let of_event = entries
            .iter()
            .filter(|entry| entry.names.iter().any(|it| it == event));
        let mut paragraphs: Vec<String> = of_event
            .flat_map(|entry| [plain(&entry.meaning), plain(&entry.remedy)])
            .collect();
        if paragraphs.is_empty() {
            let mut events = TABLES.iter().flat_map(|table| table.events);
            let logged = events.find(|it| it.name == *event);
            let meaning = logged.expect("each id belongs to an event").meaning;
            paragraphs = vec![sentence(meaning), INFORMATION.to_owned()];
        }
        for paragraph in paragraphs {
            catalog.push('\n');
            catalog += &wrap(&paragraph);
        }
    }
    catalog
}

/// Returns a cell of a Markdown table as plain text.
fn plain(cell: &str) -> String {
    let mut text = String::new();
    let mut rest = cell;
    while let Some((before, link)) = rest.split_once('[') {
        let parts = link.split_once("](");
        let (title, after) = parts.expect("a bracket begins a link");
        let (_, after) = after.split_once(')').expect("a link has an end");
        text.extend([before, "\"", title, "\" of the documents"]);
        rest = after;
    }
    text += rest;
    text.replace('`', "").replace("\\|", "|")
}

/// Returns the meaning of an event as a sentence.
fn sentence(meaning: &str) -> String {
    let mut letters = meaning.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// Breaks a paragraph into lines.
fn wrap(paragraph: &str) -> String {
    let mut lines = String::new();
    let mut len = 0;
    for word in paragraph.split(' ') {
        if len > 0 && len + 1 + word.len() > LINE_LEN_MAX {
            lines.push('\n');
            len = 0;
        } else if len > 0 {
            lines.push(' ');
            len += 1;
        }
        lines += word;
        len += word.len();
    }
    lines.push('\n');
    lines
}
