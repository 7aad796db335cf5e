//! A log line about a hold, as a daemon has written it.

use serde::Deserialize;
use serde_json::{Map, Value};

/// The names of a record's fields in the journal begin with this prefix.
const FIELD_PREFIX: &str = "RINGD_";

/// A line about a hold: in a file, or in the journal.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Record {
    /// Time of the line, in milliseconds since 1970.
    pub time_ms: u64,
    /// Name of the node that wrote the line.
    #[serde(default)]
    pub node: String,
    pub event: String,
    /// Name of the lock; `None` for the token.
    pub name: Option<String>,
    /// Name of the program.
    pub label: Option<String>,
    pub job: Option<String>,
    pub pid: Option<i32>,
    pub uid: Option<u32>,
    pub user: Option<String>,
    /// Fencing token of the lock.
    pub token: Option<String>,
    pub held_ns: Option<u64>,
    pub exit: Option<u8>,
    /// Reason of a loss.
    pub reason: Option<String>,
    /// Address of the member, if it is another machine.
    pub mac: Option<String>,
    /// Host name of this member.
    pub host: Option<String>,
}

impl Record {
    /// Decodes a line of a file. Returns `None` if the line is incomplete.
    pub(super) fn from_file_line(node: &str, line: &str) -> Option<Self> {
        let mut record: Self = serde_json::from_str(line).ok()?;
        node.clone_into(&mut record.node);
        Some(record)
    }

    /// Decodes an entry of the journal in its JSON format. Returns `None` if a necessary field is missing.
    pub(super) fn from_journal_entry(line: &str) -> Option<Self> {
        let entry: Map<String, Value> = serde_json::from_str(line).ok()?;
        let text = |name: &str| entry.get(name).and_then(field_text);
        let own = |name: &str| text(&format!("{FIELD_PREFIX}{name}"));
        let number = |name: &str| own(name).and_then(|text| text.parse().ok());
        let small = |name: &str| own(name).and_then(|text| text.parse().ok());
        let time_us: u64 = text("__REALTIME_TIMESTAMP")?.parse().ok()?;
        Some(Self {
            time_ms: time_us / 1_000,
            node: own("INSTANCE").unwrap_or_default(),
            event: own("EVENT")?,
            name: own("NAME"),
            label: own("LABEL"),
            job: own("JOB"),
            pid: own("PID").and_then(|text| text.parse().ok()),
            uid: own("UID").and_then(|text| text.parse().ok()),
            user: own("USER"),
            token: own("TOKEN"),
            held_ns: number("HELD_NS"),
            exit: small("EXIT"),
            reason: own("REASON"),
            mac: own("MAC"),
            host: own("HOST"),
        })
    }

    /// Returns the names of the journal's fields that a record has.
    pub(super) fn journal_fields() -> String {
        let names = [
            "INSTANCE", "EVENT", "NAME", "LABEL", "JOB", "PID", "UID", "USER", "TOKEN", "HELD_NS",
            "EXIT", "REASON", "MAC", "HOST",
        ];
        names.map(|name| format!("{FIELD_PREFIX}{name}")).join(",")
    }
}

/// Returns the text of a field. If a text contains unprintable characters, journalctl prints an array of bytes.
fn field_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let bytes = items
                .iter()
                .map(|it| it.as_u64().and_then(|byte| u8::try_from(byte).ok()));
            let bytes: Option<Vec<u8>> = bytes.collect();
            Some(String::from_utf8_lossy(&bytes?).into_owned())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Record;

    #[test]
    fn a_file_and_the_journal_have_the_same_record() {
        let line =
            r#"{"time_ms":7,"event":"lock_released","label":"tar","pid":9,"held_ns":5,"exit":3}"#;
        let in_file = Record::from_file_line("eth0", line).expect("a record");
        let entry = r#"{"__REALTIME_TIMESTAMP":"7999","RINGD_EVENT":"lock_released","RINGD_LABEL":[116,97,114],
            "RINGD_PID":"9","RINGD_HELD_NS":"5","RINGD_EXIT":"3","RINGD_INSTANCE":"eth0","RINGD_NAME":null}"#;
        let in_journal = Record::from_journal_entry(entry).expect("a record");
        assert_eq!(format!("{in_file:?}"), format!("{in_journal:?}"));
        assert_eq!(in_file.label.as_deref(), Some("tar"));
    }

    #[test]
    fn torn_and_foreign_lines_are_no_records() {
        assert!(Record::from_file_line("eth0", r#"{"time_ms":7,"event":"lo"#).is_none());
        assert!(Record::from_file_line("eth0", "").is_none());
        assert!(Record::from_journal_entry(r#"{"__REALTIME_TIMESTAMP":"7999"}"#).is_none());
    }
}
