//! Sends log lines with their fields to systemd's journal, by the journal's native protocol. So `journalctl
//! RINGD_EVENT=lock_granted` finds lines by their fields.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;

use ring_control::hold_history::HOLD_EVENTS;
use ring_control::{NodeName, message_id};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::repeat_filter::hidden_lines;

/// Path of the socket that takes the journal's entries.
const JOURNAL_SOCKET: &str = "/run/systemd/journal/socket";

/// Returns the number of a line's priority, as in syslog(3).
pub(super) const fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

/// The journal's socket. Each write is one entry.
pub(super) struct Journal {
    socket: UnixDatagram,
    /// The field that each entry has in addition: the name of the node.
    node_field: String,
}

impl Journal {
    pub(super) fn open(node: &NodeName) -> io::Result<Self> {
        Ok(Self {
            socket: connect()?,
            node_field: format!("RINGD_INSTANCE={node}\n"),
        })
    }
}

fn connect() -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(JOURNAL_SOCKET)?;
    Ok(socket)
}

impl Write for Journal {
    fn write(&mut self, entry: &[u8]) -> io::Result<usize> {
        let whole = [entry, self.node_field.as_bytes()].concat();
        if self.socket.send(&whole).is_err() {
            // The journal was restarted, perhaps with a different socket.
            self.socket = connect()?;
            self.socket.send(&whole)?;
        }
        Ok(entry.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) struct EntryFormat;

impl<S, N> FormatEvent<S, N> for EntryFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        writeln!(writer, "PRIORITY={}", priority(*event.metadata().level()))?;
        let mut entry = JournalEntry {
            writer,
            is_warning: *event.metadata().level() <= Level::WARN,
            written: Ok(()),
        };
        event.record(&mut entry);
        entry.written
    }
}

struct JournalEntry<'a> {
    writer: Writer<'a>,
    is_warning: bool,
    written: fmt::Result,
}

impl JournalEntry<'_> {
    fn field(&mut self, name: &str, value: fmt::Arguments<'_>) -> fmt::Result {
        if name == "message" {
            self.writer.write_str("MESSAGE")?;
        } else {
            self.writer.write_str("RINGD_")?;
            for letter in name.chars() {
                self.writer.write_char(letter.to_ascii_uppercase())?;
            }
        }
        self.writer.write_char('=')?;
        EscapedLines(&mut self.writer).write_fmt(value)?;
        if name == "message" {
            write!(self.writer, "{}", hidden_lines())?;
        }
        self.writer.write_char('\n')
    }
}

impl Visit for JournalEntry<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let written = self.field(field.name(), format_args!("{value}"));
        self.written = self.written.and(written);
        // The catalog of the journal explains warnings. In another system, an event with the same name may be routine,
        // so it gets no id.
        let has_id = self.is_warning || HOLD_EVENTS.contains(&value);
        if let ("event", true, Some(id)) = (field.name(), has_id, message_id(value)) {
            let written = writeln!(self.writer, "MESSAGE_ID={id}");
            self.written = self.written.and(written);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = self.field(field.name(), format_args!("{value:?}"));
        self.written = self.written.and(written);
    }
}

/// A writer that replaces each line end by the two characters `\n`, because a line end would end the field of an entry.
struct EscapedLines<'a, 'w>(&'a mut Writer<'w>);

impl fmt::Write for EscapedLines<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut lines = text.split('\n');
        self.0.write_str(lines.next().unwrap_or_default())?;
        lines.try_for_each(|line| write!(self.0, "\\n{line}"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::Arc;

    use tracing::{info, warn};

    use super::super::{LogTarget, Style, Verbosity, subscriber};

    #[test]
    fn a_routine_line_has_an_id_only_if_the_history_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("entries");
        let written = Arc::new(File::create(&path).unwrap());
        let style = Style {
            json: false,
            target: LogTarget::Entries,
        };
        let entries = subscriber(style, Verbosity::new(false), written);
        tracing::subscriber::with_default(entries, || {
            info!(
                event = "token_returned",
                "a routine line of the token service"
            );
            warn!(event = "token_returned", "a warning of the board");
            info!(event = "lock_granted", "a line for the history");
        });
        let text = fs::read_to_string(path).unwrap();
        let (routine, others) = text.split_at(text.find("PRIORITY=4").unwrap());
        assert!(!routine.contains("MESSAGE_ID"), "{text}");
        assert_eq!(others.matches("MESSAGE_ID").count(), 2, "{text}");
    }
}
