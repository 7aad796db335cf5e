//! Puts names of machines into log lines, on the log's own thread.

use std::io::{self, Write};

/// The field of a journal's entry that people read.
const MESSAGE: &str = "MESSAGE=";

/// Changes what people read of each line.
pub(super) struct Naming<W, F> {
    output: W,
    named: F,
    /// Whether a line is an entry of the journal, of which people read one field.
    is_entry: bool,
}

impl<W: Write, F: FnMut(&str) -> String> Naming<W, F> {
    /// Makes one that writes to `output` what `named` makes of a text.
    pub(super) const fn new(output: W, is_entry: bool, named: F) -> Self {
        Self {
            output,
            named,
            is_entry,
        }
    }

    fn change(&mut self, line: &str) -> String {
        if !self.is_entry {
            return (self.named)(line);
        }
        let fields = line.split_inclusive('\n');
        let fields = fields.map(|field| match field.strip_prefix(MESSAGE) {
            Some(message) => format!("{MESSAGE}{}", (self.named)(message)),
            None => field.to_owned(),
        });
        fields.collect()
    }
}

impl<W: Write, F: FnMut(&str) -> String> Write for Naming<W, F> {
    /// Takes one whole line, or one whole entry.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match str::from_utf8(line) {
            Ok(text) => {
                let changed = self.change(text);
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

    use super::Naming;

    fn written(line: &str, is_entry: bool) -> String {
        let mut output = Vec::new();
        let named = |text: &str| text.replace("node3", "node3 (beta)");
        let taken = Naming::new(&mut output, is_entry, named).write(line.as_bytes());
        assert_eq!(taken.ok(), Some(line.len()));
        String::from_utf8(output).expect("it was text")
    }

    #[test]
    fn only_the_message_of_an_entry_is_for_people() {
        let line = "node3 left\n";
        assert_eq!(written(line, false), "node3 (beta) left\n");
        let entry = "PRIORITY=6\nRINGD_MAC=node3\nMESSAGE=node3 left\n";
        let expected = "PRIORITY=6\nRINGD_MAC=node3\nMESSAGE=node3 (beta) left\n";
        assert_eq!(written(entry, true), expected);
    }
}
