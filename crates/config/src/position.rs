//! Problems in the text of a file, with their places.

use std::{fmt, iter};

use ring_control::escape_control_characters;

/// A place in a text: a line and a column, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: usize,
    column: usize,
}

/// A text, and the beginnings of its lines.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    /// The offset of the first byte of each line.
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let later = text.match_indices('\n').map(|(end, _)| end + 1);
        let starts = iter::once(0).chain(later).collect();
        Self { text, starts }
    }

    /// Returns the place of a byte of the text.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        Position {
            line,
            column: before.chars().count() + 1,
        }
    }
}

/// A problem of a file. The text names the line, the column and the cause.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    position: Position,
    cause: String,
}

impl Problem {
    /// Creates a problem. The cause may contain text of the file.
    pub(crate) fn new(position: Position, cause: &str) -> Self {
        let cause = escape_control_characters(cause);
        Self { position, cause }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(f, "line {line}, column {column}: {}", self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, Position};

    #[test]
    fn a_column_counts_characters() {
        let text = "a\näö x\n";
        let lines = Lines::of(text);
        let at = |byte| text.find(byte).map(|offset| lines.position(offset));
        assert_eq!(at('a'), Some(Position { line: 1, column: 1 }));
        assert_eq!(at('x'), Some(Position { line: 2, column: 4 }));
        let end = Position { line: 3, column: 1 };
        assert_eq!(lines.position(text.len()), end);
    }
}
