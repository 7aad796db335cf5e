//! What is said of an event: a log line, and the same for who watches.

use std::fmt;

use tracing::Level;

/// The line of an event. `K` are the keys that are its system's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<K> {
    /// What: a name, in `snake_case`.
    pub event: &'static str,
    /// How much it matters.
    pub level: Level,
    /// The same for people.
    pub text: String,
    /// What it is about.
    pub keys: K,
}

impl<K: Default> Line<K> {
    /// A line about nothing in particular.
    pub fn new(event: &'static str, level: Level, text: impl Into<String>) -> Self {
        Self {
            event,
            level,
            text: text.into(),
            keys: K::default(),
        }
    }
}

/// How many lines before a line were not printed, as its end says.
#[derive(Debug, Clone, Copy)]
pub struct NotShown(pub u64);

impl fmt::Display for NotShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            lines => write!(f, " (and {lines} more like this were not shown)"),
        }
    }
}

/// Prints a [`Line`] through `tracing` with these variables as its keys, after so many like it that were not printed. A macro,
/// since `tracing` wants the names of keys at build time.
#[macro_export]
macro_rules! print_line {
    (@ $level:ident, $line:expr, $hidden:expr, $($key:ident),+) => {
        ::tracing::$level!(
            event = $line.event,
            $($key,)+
            "{}{}",
            $line.text,
            $crate::observe::NotShown($hidden)
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
    use super::NotShown;

    #[test]
    fn a_line_ends_with_what_was_not_shown_if_anything_was_not() {
        let ends = [0, 1, 7].map(|lines| NotShown(lines).to_string());
        let expected = [
            "",
            " (and 1 more like this were not shown)",
            " (and 7 more like this were not shown)",
        ];
        assert_eq!(ends, expected);
    }
}
