//! Parses numbers of bytes in options, and formats them for sentences.

const UNITS: [(&str, usize); 3] = [("KiB", 10), ("MiB", 20), ("GiB", 30)];

/// Formats a number of bytes for a sentence: `1 byte`, `1,100 bytes`.
pub fn format_bytes(count: usize) -> String {
    match (count / 1_000, count % 1_000) {
        (0, 1) => "1 byte".to_owned(),
        (0, few) => format!("{few} bytes"),
        (thousands, rest) => format!("{thousands},{rest:03} bytes"),
    }
}

/// Parses a number of bytes, as in `256MiB`.
///
/// # Errors
/// If the text is not a valid number of bytes, returns a text with the cause and the possible units.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let wrong =
        || "not a size: give a whole number and one of KiB, MiB, GiB, as in 256MiB".to_owned();
    let (number, shift) = UNITS
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))
        .ok_or_else(wrong)?;
    let number: usize = number.parse().map_err(|_| wrong())?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| "too large: it is larger than any memory".to_owned())
}

/// Returns the longest beginning of a text that has at most `max` bytes and contains no incomplete character.
pub fn truncate_to_bytes(text: &str, max: usize) -> &str {
    let ends = (0..=max.min(text.len())).rev();
    let end = { ends }.find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::{format_bytes, parse_bytes};

    #[test]
    fn thousands_are_separated() {
        let formatted = [0, 1, 999, 1_000, 1_024].map(format_bytes);
        let expected = [
            "0 bytes",
            "1 byte",
            "999 bytes",
            "1,000 bytes",
            "1,024 bytes",
        ];
        assert_eq!(formatted, expected);
    }

    #[test]
    fn bytes_have_a_unit() {
        for (text, bytes) in [("1KiB", 1 << 10), ("256MiB", 256 << 20), ("0GiB", 0)] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in [
            "", "256", "MiB", "-1MiB", "1.5GiB", "256MB", "256 MiB", "1mib",
        ] {
            let error = parse_bytes(text).expect_err(text);
            assert!(error.contains("as in 256MiB"), "{text}: {error}");
        }
        assert!(parse_bytes("99999999999999GiB").is_err());
    }
}
