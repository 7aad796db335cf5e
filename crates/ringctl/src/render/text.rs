//! Parts that the pages of all systems share.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use comfy_table::{ContentArrangement, Row, Table, presets};
use ring_control::{ConfigStatus, OptionSource, RawJson, TrustStatus, escape_control_characters};
use serde_json::Deserializer;

/// Maximum number of rows that a page shows of a list. `--json` shows all rows.
pub(super) const ROWS_MAX: usize = 100;

/// Writes indented JSON for programs, with the keys in their original order.
pub(crate) fn write_json(own: &RawJson, out: &mut impl Write) -> io::Result<()> {
    let mut from = Deserializer::from_str(own.text());
    let mut to = serde_json::Serializer::pretty(&mut *out);
    serde_transcode::transcode(&mut from, &mut to)?;
    writeln!(out)
}

/// Writes the head of a page: lines with a name and a value.
pub(super) fn write_head(lines: Vec<(&str, String)>, out: &mut dyn Write) -> io::Result<()> {
    for (name, value) in lines {
        writeln!(out, "{name:<13}{value}")?;
    }
    Ok(())
}

pub(crate) fn new_table(header: impl Into<Row>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    table
}

pub(super) fn write_more(all: usize, out: &mut dyn Write) -> io::Result<()> {
    match all.saturating_sub(ROWS_MAX) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more: ringctl status --json lists all"),
    }
}

pub(super) fn write_troubles(troubles: &[String], out: &mut dyn Write) -> io::Result<()> {
    for trouble in troubles.iter().take(ROWS_MAX) {
        writeln!(out, "  Warning: {}", escape_control_characters(trouble))?;
    }
    Ok(())
}

/// Writes the counters of one group that are not 0, one per line.
pub(super) fn write_counters(
    name: &str,
    counts: &BTreeMap<String, u64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut name = name;
    for (key, count) in counts.iter().filter(|(_, count)| **count > 0) {
        writeln!(out, "  {name:<14}{key:<24}{count:>12}")?;
        name = "";
    }
    Ok(())
}

/// Writes the options whose values are not the defaults.
pub(super) fn write_options(config: &ConfigStatus, out: &mut dyn Write) -> io::Result<()> {
    let options = config.options.iter();
    let set: Vec<_> = options
        .filter(|(_, option)| option.source != OptionSource::Default)
        .collect();
    if set.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nOptions (those that are not the default)")?;
    let file = config.file.as_deref().unwrap_or_default();
    for (name, option) in set {
        let source = match option.line {
            Some(line) => format!("{}, line {line}", escape_control_characters(file)),
            None => "command line".to_owned(),
        };
        let value = option.value.as_deref().unwrap_or("-");
        let value = escape_control_characters(value);
        writeln!(out, "  {name} {value} ({source})")?;
    }
    Ok(())
}

/// Formats a time in the largest unit that fits, with at most three digits: `1.25ms`, `37.4us`, `3m 5s`.
pub(crate) fn short_duration(ns: u64) -> String {
    let duration = Duration::from_nanos(ns);
    if duration >= Duration::from_secs(60) {
        return humantime::format_duration(Duration::from_secs(duration.as_secs())).to_string();
    }
    let (unit, per) = match ns {
        0 => return "0".to_owned(),
        1..1_000 => return format!("{ns}ns"),
        1_000..1_000_000 => ("us", 1_000),
        1_000_000..1_000_000_000 => ("ms", 1_000_000),
        _ => ("s", 1_000_000_000),
    };
    let (whole, part) = (ns / per, ns % per * 100 / per);
    match whole {
        _ if ns.is_multiple_of(per) => format!("{whole}{unit}"),
        0..10 => format!("{whole}.{part:02}{unit}"),
        10..100 => format!("{whole}.{}{unit}", part / 10),
        _ => format!("{whole}{unit}"),
    }
}

/// Returns a text with the ids of the keys and their use. Returns `None` if the node has no keys. `messages` is the
/// name of the node's messages.
pub(super) fn keys_text(trust: &TrustStatus, messages: &str) -> Option<String> {
    let (signs, others) = trust.keys.split_first()?;
    let unsigned = if trust.accepts_unsigned {
        "accepts"
    } else {
        "drops"
    };
    let mut text = format!("signs with {signs}, {unsigned} unsigned {messages}");
    if !others.is_empty() {
        let others: Vec<_> = others.iter().map(u32::to_string).collect();
        text = format!("{text}, also verifies with {}", others.join(", "));
    }
    Some(text)
}

/// Returns a text with the limits of the sandbox that the kernel does not support. Returns `None` if it supports all
/// limits.
pub(super) fn sandbox_text(missing_limits: &[String]) -> Option<String> {
    let names: Vec<_> = missing_limits
        .iter()
        .map(|name| escape_control_characters(name))
        .collect();
    (!names.is_empty()).then(|| format!("does not limit {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{short_duration, write_json};
    use ring_control::RawJson;

    #[test]
    fn json_is_only_indented() {
        let text = r#"{"z":18446744073709551615,"a":[null,-1.5,"\u0007"],"e":{}}"#;
        let own: RawJson = serde_json::from_str(text).expect("it is JSON");
        let mut out = Vec::new();
        write_json(&own, &mut out).expect("a vector takes all");
        let out = String::from_utf8(out).expect("it is text");
        let flat: String = out.split_whitespace().collect();
        assert_eq!(flat, text);
        assert!(out.contains("\n  \"z\": 1"), "{out}");
    }

    #[test]
    fn times_are_short() {
        for (ns, expected) in [
            (0, "0"),
            (999, "999ns"),
            (1_000, "1us"),
            (1_256, "1.25us"),
            (99_950, "99.9us"),
            (100_000_000, "100ms"),
            (123_456_789, "123ms"),
            (2_005_000_000, "2.00s"),
            (59_999_999_999, "59.9s"),
            (185_400_000_000, "3m 5s"),
        ] {
            assert_eq!(short_duration(ns), expected, "{ns}");
        }
    }
}
