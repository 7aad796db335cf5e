//! Texts of values, and their division into lines.

use std::collections::VecDeque;

use super::super::render::short_duration;
use super::columns::text_width;
use super::page::Bars;

/// Number of blanks between two facts in a line.
pub(super) const FACT_GAP: u16 = 3;
/// Maximum number of owners that a path shows.
const PATH_MAX: usize = 12;

/// Returns the height of a bar. The unit is a nanosecond for times, and a thousandth for rates.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast limits the value to the range of the integer"
)]
pub(super) fn bar_value(bars: Bars, rate: f64) -> u64 {
    match bars {
        Bars::Time(_) if rate > 0.0 => (1e9 / rate) as u64,
        Bars::Time(_) => 0,
        Bars::Rate => (rate * 1e3) as u64,
    }
}

/// Returns the text of the newest bar.
pub(super) fn bar_text(bars: Bars, rate: f64) -> String {
    match bars {
        Bars::Time(_) if rate > 0.0 => short_duration(bar_value(bars, rate)),
        Bars::Time(_) => "-".to_owned(),
        Bars::Rate => rate_text(Some(rate)),
    }
}

/// Returns the text of a rate. A rate is `None` if there is no earlier value to compare with.
pub(super) fn rate_text(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}/s"))
}

/// Returns a text with the newest owners. The latest owner is at the end.
pub(super) fn path(owners: &VecDeque<String>) -> String {
    let first = owners.len().saturating_sub(PATH_MAX);
    let owners: Vec<&str> = owners.iter().skip(first).map(String::as_str).collect();
    owners.join(" > ")
}

/// Returns the width of two texts with a blank between them.
pub(super) fn joined_width(first: &str, second: &str) -> u16 {
    { text_width(first).saturating_add(1) }.saturating_add(text_width(second))
}

/// Divides facts into lines that are at most as long as `width`.
pub(super) fn flow<'a>(facts: &'a [(&'a str, String)], width: u16) -> Vec<Vec<(&'a str, &'a str)>> {
    let mut lines: Vec<Vec<(&str, &str)>> = Vec::new();
    let mut used = 0;
    for (name, value) in facts {
        let length = joined_width(name, value);
        match lines.last_mut() {
            Some(line) if { used + FACT_GAP }.saturating_add(length) <= width => {
                line.push((name, value));
                used += FACT_GAP + length;
            }
            _ => {
                lines.push(vec![(name, value)]);
                used = length;
            }
        }
    }
    lines
}

/// Divides a text into lines between words. Cuts words that are longer than a line.
pub(super) fn wrap(text: &str, width: u16) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for mut word in text.split(' ') {
        if let Some(line) = lines.last_mut()
            && joined_width(line, word) <= width
        {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        while text_width(word) > width {
            let (start, rest) = split_at_width(word, width);
            if rest.is_empty() {
                break;
            }
            lines.push(start.to_owned());
            word = rest;
        }
        lines.push(word.to_owned());
    }
    lines
}

/// Returns the beginning of a text that is longer than `width`, with dots at its end.
pub(super) fn cut(text: &str, width: u16) -> String {
    let dots = "...";
    let (start, _) = split_at_width(text, width.saturating_sub(text_width(dots)));
    format!("{start}{dots}")
}

/// Divides a text after the characters that fit into `width` columns. If no character fits, divides it after the first
/// character.
fn split_at_width(text: &str, width: u16) -> (&str, &str) {
    let ends = { text.char_indices() }.map(|(at, char)| at + char.len_utf8());
    let fitting = ends.take_while(|end| text_width(&text[..*end]) <= width);
    let first = text.chars().next().map_or(0, char::len_utf8);
    text.split_at(fitting.last().unwrap_or(first))
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn a_text_is_wrapped_between_words() {
        for (text, width, expected) in [
            ("a member is silent", 9, &["a member", "is silent"][..]),
            ("short", 80, &["short"]),
            ("abcdefghij kl", 4, &["abcd", "efgh", "ij", "kl"]),
            ("", 4, &[""]),
            ("ab", 0, &["a", "b"]),
            (
                "東京の機械 が静か",
                5,
                &["東京", "の機", "械", "が静", "か"],
            ),
            ("東京", 1, &["東", "京"]),
            ("ne\u{301}e\u{301}", 2, &["ne\u{301}", "e\u{301}"]),
        ] {
            assert_eq!(wrap(text, width), expected, "{text:?} {width}");
        }
    }
}
