//! The text of an event, for the log and for watchers.

use std::fmt;

use tracing::Level;

/// The line of an event. `K` contains the keys that exist only in the event's system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<K> {
    /// Name of the event, in `snake_case`.
    pub event: &'static str,
    /// Level of the event.
    pub level: Level,
    /// Text for people.
    pub text: String,
    /// Keys for programs.
    pub keys: K,
}

impl<K: Default> Line<K> {
    /// Makes a line without keys.
    pub fn new(event: &'static str, level: Level, text: impl Into<String>) -> Self {
        Self {
            event,
            level,
            text: text.into(),
            keys: K::default(),
        }
    }
}

/// The number of similar lines that were not printed. The next line shows this number at its end.
#[derive(Debug, Clone, Copy)]
pub struct HiddenLines(pub u64);

impl fmt::Display for HiddenLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            lines => write!(f, " (and {lines} more like this were not shown)"),
        }
    }
}

/// Prints a [`Line`] through `tracing`. The given variables become the keys of the line. The number of hidden lines
/// follows at the end of the text. This is a macro, because `tracing` needs the names of the keys at compile time.
#[macro_export]
macro_rules! print_line {
    (@ $level:ident, $line:expr, $hidden:expr, $($key:ident),+) => {
        ::tracing::$level!(
            event = $line.event,
            $($key,)+
            "{}{}",
            $line.text,
            $crate::observe::HiddenLines($hidden)
        )
    };
    ($line:expr, $hidden:expr, $($key:ident),+) => {
        match $line.level {
            ::tracing::Level::ERROR => $crate::print_line!(@ error, $line, $hidden, $($key),+),
            ::tracing::Level::WARN => $crate::print_line!(@ warn, $line, $hidden, $($key),+),
            ::tracing::Level::INFO => $crate::print_line!(@ info, $line, $hidden, $($key),+),
            _ => $crate::print_line!(@ debug, $line, $hidden, $($key),+),
        }
    };
}

#[cfg(test)]
mod tests {
    use super::HiddenLines;

    #[test]
    fn a_line_ends_with_the_number_of_hidden_lines() {
        let ends = [0, 1, 7].map(|lines| HiddenLines(lines).to_string());
        let expected = [
            "",
            " (and 1 more like this were not shown)",
            " (and 7 more like this were not shown)",
        ];
        assert_eq!(ends, expected);
    }
}
