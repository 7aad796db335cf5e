//! The page of a node whose system has none of its own: any JSON object as a table.

use std::io::{self, Write};

use ring_control::{EventMessage, NodeStatus, OwnJson, Verdict, harmless};
use serde_json::Value;

use super::text::{LISTED, more, short, table};
use super::view::{Obstacle, View};

/// Where values begin, unless a key is longer.
const VALUES: usize = 13;
/// The key of what counts from 0: what is 0 is not shown.
const COUNTERS: &str = "counters";
/// Keys of an event that are shown before all others.
const HEAD: [&str; 3] = ["number", "time_ms", "event"];

/// The status of a node of any system.
pub(crate) struct AnyView(NodeStatus);

impl AnyView {
    /// The view of a status.
    pub(crate) const fn of(status: NodeStatus) -> Self {
        Self(status)
    }
}

impl View for AnyView {
    fn verdict(&self) -> Verdict {
        self.0.verdict()
    }

    fn json(&self) -> NodeStatus {
        self.0.clone()
    }

    fn show(&self, output: &mut dyn Write) -> io::Result<()> {
        object(&fields(self.0.json()), "", false, output)
    }

    fn line(&self) -> String {
        let fields = fields(self.0.json());
        let plain = fields.iter().filter_map(|(key, own)| named(key, own));
        plain.collect::<Vec<_>>().join(" ")
    }

    fn obstacle(&self, _: bool) -> Option<Obstacle> {
        None
    }
}

/// Returns an event of any system as a text: its keys and values.
pub(crate) fn event_text(event: &EventMessage) -> String {
    let fields = fields(event.json());
    let own = fields
        .iter()
        .filter(|(key, _)| !HEAD.contains(&key.as_str()));
    let shown = own.map(|(key, own)| {
        named(key, own).unwrap_or_else(|| format!("{} {}", harmless(key), harmless(own.text())))
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// `key value`; `None`: the value is a list or an object.
fn named(key: &str, own: &OwnJson) -> Option<String> {
    Some(format!("{} {}", harmless(key), plain(key, own)?))
}

fn fields(own: &OwnJson) -> Vec<(String, OwnJson)> {
    own.fields().unwrap_or_default()
}

/// Writes an object: what is plain first, then a block for each of the others.
fn object(
    fields: &[(String, OwnJson)],
    indent: &str,
    counts: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = fields.iter().map(|(key, _)| key.chars().count() + 1).max();
    let width = width.unwrap_or_default().max(VALUES);
    let (mut blocks, mut lines) = (Vec::new(), 0);
    for (key, own) in fields {
        let Some(value) = plain(key, own) else {
            blocks.push((key, own));
            continue;
        };
        if (counts && value == "0") || lines == LISTED {
            continue;
        }
        lines += 1;
        writeln!(out, "{indent}{:<width$}{value}", harmless(key))?;
    }
    let inner = format!("{indent}  ");
    for (key, own) in blocks {
        let counts = counts || key == COUNTERS;
        match own.fields() {
            Some(fields) => {
                writeln!(out, "{indent}{}", harmless(key))?;
                object(&fields, &inner, counts, out)?;
            }
            None => rows(key, own, indent, out)?,
        }
    }
    Ok(())
}

/// Writes a list whose elements are not plain: a row each.
fn rows(key: &str, own: &OwnJson, indent: &str, out: &mut dyn Write) -> io::Result<()> {
    let elements: Vec<OwnJson> = own.read().unwrap_or_default();
    writeln!(out, "{indent}{} ({})", harmless(key), elements.len())?;
    let elements_fields: Vec<_> = elements.iter().take(LISTED).map(fields).collect();
    let mut columns: Vec<&str> = Vec::new();
    for (key, _) in elements_fields.iter().flatten() {
        if !columns.contains(&key.as_str()) {
            columns.push(key);
        }
    }
    let header: Vec<_> = columns.iter().map(|key| harmless(key)).collect();
    let mut table = table(header);
    for fields in &elements_fields {
        let cell = |column: &&str| {
            let field = fields.iter().find(|(key, _)| key == column);
            field.map_or_else(String::new, |(key, own)| {
                plain(key, own).unwrap_or_else(|| harmless(own.text()))
            })
        };
        table.add_row(columns.iter().map(cell));
    }
    for line in table.trim_fmt().lines() {
        writeln!(out, "{indent} {line}")?;
    }
    write!(out, "{}", if elements.len() > LISTED { indent } else { "" })?;
    more(elements.len(), out)
}

/// A value that fits into a line; `None`: it is an object, or a list with one in it.
fn plain(key: &str, own: &OwnJson) -> Option<String> {
    let value: Value = own.read().ok()?;
    match &value {
        Value::Object(fields) => fields.is_empty().then(|| "-".to_owned()),
        Value::Array(elements) if elements.is_empty() => Some("-".to_owned()),
        Value::Array(elements) => {
            let texts: Option<Vec<_>> = elements.iter().take(LISTED).map(scalar).collect();
            let more = elements.len().saturating_sub(LISTED);
            let more = if more == 0 {
                String::new()
            } else {
                format!(", and {more} more")
            };
            Some(texts?.join(", ") + &more)
        }
        Value::Number(number) if key.ends_with("_ns") => {
            Some(number.as_u64().map_or_else(|| number.to_string(), short))
        }
        other => scalar(other),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("-".to_owned()),
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(harmless(text)),
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{AnyView, event_text};
    use crate::render::View;
    use ring_control::{EventHead, EventMessage, NodeStatus, OwnJson};

    fn own(text: &str) -> OwnJson {
        serde_json::from_str(text).expect("it is JSON")
    }

    fn page(text: &str) -> String {
        let status: NodeStatus = serde_json::from_str(text).expect("it is JSON");
        let mut out = Vec::new();
        AnyView::of(status)
            .show(&mut out)
            .expect("a vector takes all");
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn any_object_is_a_table_with_its_keys_in_order() {
        let text = page(
            r#"{"system":"ftn","index":0,"servers":[{"name":"a:1","state":"READY"},
                {"name":"b:1","state":"DOWN","why":null}],"leader":null,"authority":true,
                "grace_ns":2000000000,"survey":[3,4],"held":[],
                "counters":{"grants":0,"received.STATE":7,"dropped":{"late":2,"ssig":0}}}"#,
        );
        let expected = "\
system       ftn
index        0
leader       -
authority    yes
grace_ns     2s
survey       3, 4
held         -
servers (2)
  name  state  why
  a:1   READY
  b:1   DOWN   -
counters
  received.STATE 7
  dropped
    late         2
";
        let trimmed: Vec<_> = text.lines().map(str::trim_end).collect();
        assert_eq!(trimmed.join("\n") + "\n", expected, "{text}");
    }

    #[test]
    fn what_others_have_chosen_does_nothing_to_a_terminal() {
        let text = page(r#"{"a\u001b[2J":"b\u001b[2J","c":[{"d\n":"e\n"}],"f":["\u0007"]}"#);
        assert!(
            text.contains(r"a\u{1b}[2J") && text.contains(r"b\u{1b}[2J"),
            "{text}"
        );
        assert!(text.contains(r"d\n") && text.contains(r"e\n"), "{text}");
        assert!(!text.contains('\u{7}'), "{text}");
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let numbers: Vec<u32> = (0..140).collect();
        let rows: Vec<_> = numbers.iter().map(|n| format!("{{\"n\":{n}}}")).collect();
        let text = page(&format!(
            r#"{{"numbers":{},"rows":[{}]}}"#,
            serde_json::to_string(&numbers).expect("it is JSON"),
            rows.join(",")
        ));
        assert!(text.contains(", 99, and 40 more"), "{text}");
        assert!(
            text.contains("rows (140)") && text.contains("and 40 more: ringctl"),
            "{text}"
        );
    }

    #[test]
    fn an_event_without_a_text_shows_its_keys() {
        let head = EventHead {
            number: 1,
            time_ms: 2,
            event: "grant".to_owned(),
            text: None,
        };
        let more = own(r#"{"name":"6a","to":{"id":7}}"#);
        let event = EventMessage::new(&head, &more.read::<serde_json::Value>().expect("JSON"));
        assert_eq!(event_text(&event), r#"name 6a to {"id":7}"#);
    }
}
