//! Adds names of machines to log lines, on the log's thread.

use std::io::{self, Write};

/// The beginning of the field of a journal entry that contains the text for people.
const MESSAGE_FIELD: &str = "MESSAGE=";

/// A writer that adds names to the text of each line.
pub(super) struct NameWriter<W, F> {
    output: W,
    add_names: F,
    /// Whether the output consists of journal entries. In an entry, only the field with the text for people gets names.
    is_entry: bool,
}

impl<W: Write, F: FnMut(&str) -> String> NameWriter<W, F> {
    /// Makes a writer that passes each text through `add_names` and writes the result to `output`.
    pub(super) const fn new(output: W, is_entry: bool, add_names: F) -> Self {
        Self {
            output,
            add_names,
            is_entry,
        }
    }

    fn add_names_to_line(&mut self, line: &str) -> String {
        if !self.is_entry {
            return (self.add_names)(line);
        }
        let fields = line.split_inclusive('\n');
        let fields = fields.map(|field| match field.strip_prefix(MESSAGE_FIELD) {
            Some(message) => format!("{MESSAGE_FIELD}{}", (self.add_names)(message)),
            None => field.to_owned(),
        });
        fields.collect()
    }
}

impl<W: Write, F: FnMut(&str) -> String> Write for NameWriter<W, F> {
    /// Handles one whole line or entry.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match str::from_utf8(line) {
            Ok(text) => {
                let changed = self.add_names_to_line(text);
                self.output.write_all(changed.as_bytes())?;
            }
            Err(_) => self.output.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::NameWriter;

    fn write_line(line: &str, is_entry: bool) -> String {
        let mut output = Vec::new();
        let add_names = |text: &str| text.replace("node3", "node3 (beta)");
        let taken = NameWriter::new(&mut output, is_entry, add_names).write(line.as_bytes());
        assert_eq!(taken.ok(), Some(line.len()));
        String::from_utf8(output).expect("the line was valid text")
    }

    #[test]
    fn only_the_message_of_an_entry_gets_names() {
        let line = "node3 left\n";
        assert_eq!(write_line(line, false), "node3 (beta) left\n");
        let entry = "PRIORITY=6\nRINGD_MAC=node3\nMESSAGE=node3 left\n";
        let expected = "PRIORITY=6\nRINGD_MAC=node3\nMESSAGE=node3 (beta) left\n";
        assert_eq!(write_line(entry, true), expected);
    }
}
