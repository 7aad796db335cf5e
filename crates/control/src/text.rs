//! Texts that somebody else has chosen.

/// Such a text, for a terminal: what is not to be seen would be obeyed there.
pub fn harmless(text: &str) -> String {
    let shown = |char| match char {
        '\'' | '"' => String::from(char),
        _ => char::escape_debug(char).to_string(),
    };
    text.chars().map(shown).collect()
}
