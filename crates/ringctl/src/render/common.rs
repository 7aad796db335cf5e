//! The page for nodes of systems without a special page. It shows any JSON object as a table.

use std::io::{self, Write};

use ring_control::{EventMessage, NodeStatus, RawJson, escape_control_characters};
use serde_json::Value;

use super::text::{ROWS_MAX, new_table, short_duration, write_more, write_options};
use super::view::View;

/// The column in which values begin. The value of a longer key begins further to the right.
const VALUE_COLUMN: usize = 13;
/// The key of the object with counters. Counters that are 0 are not shown.
const COUNTERS_KEY: &str = "counters";
/// The key of the object with the options of the daemon.
const CONFIG_KEY: &str = "config";
/// Keys of an event that are shown before its text.
const EVENT_HEAD_KEYS: [&str; 3] = ["number", "time_ms", "event"];

impl View for NodeStatus {
    fn node(&self) -> &NodeStatus {
        self
    }

    fn write_page(&self, output: &mut dyn Write) -> io::Result<()> {
        let (config, shown): (Vec<_>, Vec<_>) = fields(self.json())
            .into_iter()
            .partition(|(key, _)| key == CONFIG_KEY);
        write_object(&shown, "", false, output)?;
        // Show only the options whose values are not the defaults.
        let config = config.first().and_then(|(_, own)| own.decode().ok());
        write_options(&config.unwrap_or_default(), output)
    }

    fn summary(&self) -> String {
        let fields = fields(self.json());
        let plain = fields
            .iter()
            .filter_map(|(key, own)| key_and_value(key, own));
        plain.collect::<Vec<_>>().join(" ")
    }
}

/// Returns a text with the keys and values of an event.
pub(crate) fn event_text(event: &EventMessage) -> String {
    let fields = fields(event.json());
    let own = fields
        .iter()
        .filter(|(key, _)| !EVENT_HEAD_KEYS.contains(&key.as_str()));
    let shown = own.map(|(key, own)| {
        key_and_value(key, own).unwrap_or_else(|| {
            format!(
                "{} {}",
                escape_control_characters(key),
                escape_control_characters(own.text())
            )
        })
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// Returns the text `key value`; `None` if the value is a list or an object.
fn key_and_value(key: &str, own: &RawJson) -> Option<String> {
    Some(format!(
        "{} {}",
        escape_control_characters(key),
        inline_value(key, own)?
    ))
}

fn fields(own: &RawJson) -> Vec<(String, RawJson)> {
    own.fields().unwrap_or_default()
}

/// Writes an object. First writes the values that fit into one line. Then writes a block for each other value.
fn write_object(
    fields: &[(String, RawJson)],
    indent: &str,
    counts: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let width = fields.iter().map(|(key, _)| key.chars().count() + 1).max();
    let width = width.unwrap_or_default().max(VALUE_COLUMN);
    let (mut blocks, mut lines) = (Vec::new(), 0);
    for (key, own) in fields {
        let Some(value) = inline_value(key, own) else {
            blocks.push((key, own));
            continue;
        };
        if (counts && value == "0") || lines == ROWS_MAX {
            continue;
        }
        lines += 1;
        writeln!(
            out,
            "{indent}{:<width$}{value}",
            escape_control_characters(key)
        )?;
    }
    let inner = format!("{indent}  ");
    for (key, own) in blocks {
        let counts = counts || key == COUNTERS_KEY;
        match own.fields() {
            Some(fields) => {
                writeln!(out, "{indent}{}", escape_control_characters(key))?;
                write_object(&fields, &inner, counts, out)?;
            }
            None => write_rows(key, own, indent, out)?,
        }
    }
    Ok(())
}

/// Writes a list of objects with one row per element.
fn write_rows(key: &str, own: &RawJson, indent: &str, out: &mut dyn Write) -> io::Result<()> {
    let elements: Vec<RawJson> = own.decode().unwrap_or_default();
    writeln!(
        out,
        "{indent}{} ({})",
        escape_control_characters(key),
        elements.len()
    )?;
    let elements_fields: Vec<_> = elements.iter().take(ROWS_MAX).map(fields).collect();
    let mut columns: Vec<&str> = Vec::new();
    for (key, _) in elements_fields.iter().flatten() {
        if !columns.contains(&key.as_str()) {
            columns.push(key);
        }
    }
    let header: Vec<_> = columns
        .iter()
        .map(|key| escape_control_characters(key))
        .collect();
    let mut table = new_table(header);
    for fields in &elements_fields {
        let cell = |column: &&str| {
            let field = fields.iter().find(|(key, _)| key == column);
            field.map_or_else(String::new, |(key, own)| {
                inline_value(key, own).unwrap_or_else(|| escape_control_characters(own.text()))
            })
        };
        table.add_row(columns.iter().map(cell));
    }
    for line in table.trim_fmt().lines() {
        writeln!(out, "{indent} {line}")?;
    }
    write!(
        out,
        "{}",
        if elements.len() > ROWS_MAX {
            indent
        } else {
            ""
        }
    )?;
    write_more(elements.len(), out)
}

/// Returns the text of a value that fits into one line; `None` for an object, or for a list that contains an object.
fn inline_value(key: &str, own: &RawJson) -> Option<String> {
    let value: Value = own.decode().ok()?;
    match &value {
        Value::Object(fields) => fields.is_empty().then(|| "-".to_owned()),
        Value::Array(elements) if elements.is_empty() => Some("-".to_owned()),
        Value::Array(elements) => {
            let texts: Option<Vec<_>> = elements.iter().take(ROWS_MAX).map(scalar).collect();
            let more = elements.len().saturating_sub(ROWS_MAX);
            let more = if more == 0 {
                String::new()
            } else {
                format!(", and {more} more")
            };
            Some(texts?.join(", ") + &more)
        }
        Value::Number(number) if key.ends_with("_ns") => Some(
            number
                .as_u64()
                .map_or_else(|| number.to_string(), short_duration),
        ),
        other => scalar(other),
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("-".to_owned()),
        Value::Bool(true) => Some("yes".to_owned()),
        Value::Bool(false) => Some("no".to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(escape_control_characters(text)),
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::event_text;
    use crate::render::View;
    use ring_control::{EventHead, EventMessage, NodeStatus, RawJson};

    fn own(text: &str) -> RawJson {
        serde_json::from_str(text).expect("it is JSON")
    }

    fn page(text: &str) -> String {
        let status: NodeStatus = serde_json::from_str(text).expect("it is JSON");
        let mut out = Vec::new();
        status.write_page(&mut out).expect("a vector takes all");
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
    fn control_characters_of_others_are_escaped() {
        let text = page(r#"{"a\u001b[2J":"b\u001b[2J","c":[{"d\n":"e\n"}],"f":["\u0007"]}"#);
        assert!(
            text.contains(r"a\u{1b}[2J") && text.contains(r"b\u{1b}[2J"),
            "{text}"
        );
        assert!(text.contains(r"d\n") && text.contains(r"e\n"), "{text}");
        assert!(!text.contains('\u{7}'), "{text}");
    }

    #[test]
    fn options_that_are_not_the_default_have_their_source() {
        let text = page(
            r#"{"system":"board","id":1,"config":{"file":"/etc/ringd/ringd.toml","options":{
                "hold":{"value":"20ms","source":"file","line":3},"id":{"value":"1","source":"command_line"},
                "liveness":{"value":"5s","source":"default"}}}}"#,
        );
        let expected = "\
system       board
id           1

Options (those that are not the default)
  hold 20ms (/etc/ringd/ringd.toml, line 3)
  id 1 (command line)
";
        assert_eq!(text, expected);
    }

    #[test]
    fn long_lists_are_cut_with_a_count() {
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
        let event = EventMessage::new(&head, &more.decode::<serde_json::Value>().expect("JSON"));
        assert_eq!(event_text(&event), r#"name 6a to {"id":7}"#);
    }
}
