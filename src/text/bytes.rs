//! Numbers of bytes as sentences have them.

/// Formats a number of bytes for a sentence: `1 byte`, `1,100 bytes`.
#[must_use]
pub fn format_bytes(count: usize) -> String {
    match (count / 1_000, count % 1_000) {
        (0, 1) => "1 byte".to_owned(),
        (0, few) => format!("{few} bytes"),
        (thousands, rest) => format!("{thousands},{rest:03} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::format_bytes;

    #[test]
    fn thousands_are_set_apart() {
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
}
