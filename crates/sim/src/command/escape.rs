//! Escapes texts from files of unknown origin.

/// Escapes the control characters of a text, because a terminal would execute them.
pub(super) fn escape(text: &str) -> String {
    let shown = |char| match char {
        '\'' | '"' | '\\' => String::from(char),
        _ => char::escape_debug(char).to_string(),
    };
    text.chars().map(shown).collect()
}

/// Escapes the control characters of a text that has several lines. Keeps the line breaks.
pub(super) fn escape_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(escape).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{escape, escape_lines};

    #[test]
    fn no_control_character_reaches_the_terminal() {
        let text = "\"a\\b\"\u{1b}[2J\r\u{9b}1m\nö";
        let escaped = r#""a\b"\u{1b}[2J\r\u{9b}1m"#;
        assert_eq!(escape(text), format!("{escaped}\\nö"));
        assert_eq!(escape_lines(text), format!("{escaped}\nö"));
    }
}
