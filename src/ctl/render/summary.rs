//! The summary of a node whose system has no page of its own.

use std::io::{self, Write};

use super::{group, short};
use crate::control::{Summary, harmless};

/// The most facts that are listed.
const LISTED: usize = 100;

/// Writes the summary.
///
/// # Errors
/// `out` takes nothing.
pub fn summary(summary: &Summary, out: &mut impl Write) -> io::Result<()> {
    let Summary {
        system,
        place,
        version,
        up_ns,
        standing,
        facts,
        counters,
        ..
    } = summary;
    let up = short(*up_ns);
    let head = [
        ("Node", format!("{system} {place}")),
        ("Version", format!("{version}, up for {up}")),
        ("State", standing.clone()),
    ];
    let head = head.map(|(name, value)| (name.to_owned(), value));
    for (name, value) in head.iter().chain(facts).take(LISTED) {
        writeln!(out, "{:<13}{}", harmless(name), harmless(value))?;
    }
    group("Counters", counters, out)
}

#[cfg(test)]
mod tests {
    use super::summary;
    use crate::control::Summary;

    #[test]
    fn facts_come_in_order_and_do_nothing_to_a_terminal() {
        let of = Summary {
            system: "note".to_owned(),
            place: "7".to_owned(),
            version: "1".to_owned(),
            up_ns: 2_000_000_000,
            standing: "in step".to_owned(),
            healthy: true,
            facts: vec![
                ("Version".to_owned(), "3 \u{1b}[2J".to_owned()),
                ("Author".to_owned(), "2".to_owned()),
            ],
            counters: [("heard".to_owned(), 5)].into(),
        };
        let mut out = Vec::new();
        summary(&of, &mut out).expect("a vector takes all");
        let text = String::from_utf8(out).expect("it is text");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("note 7") < at("in step") && at("in step") < at("3 \\u{1b}[2J"));
        assert!(at("3 ") < at("Author"), "{text}");
        assert!(text.contains("heard"), "{text}");
    }
}
