//! Texts from other machines and programs.

/// Escapes a text for a terminal, which would execute its control characters.
pub fn escape_control_characters(text: &str) -> String {
    let shown = |char| match char {
        '\'' | '"' => String::from(char),
        _ => char::escape_debug(char).to_string(),
    };
    text.chars().map(shown).collect()
}
