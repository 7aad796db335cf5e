//! Escapes texts that come from other machines and programs.

/// Escapes the control characters of a text, because a terminal would execute them.
pub fn escape_control_characters(text: &str) -> String {
    let shown = |char| match char {
        '\'' | '"' => String::from(char),
        _ => char::escape_debug(char).to_string(),
    };
    text.chars().map(shown).collect()
}
