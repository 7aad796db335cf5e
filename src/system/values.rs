//! Values of options that several systems have.

use std::str::FromStr;

/// Parses how many there are of something.
///
/// # Errors
/// The text is no such number.
pub fn parse_count<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| "not a count: give a whole number, as in 4".to_owned())
}

/// What a number of bytes is given in.
const UNITS: [(&str, usize); 3] = [("KiB", 10), ("MiB", 20), ("GiB", 30)];

/// Parses a number of bytes, as in `256MiB`.
///
/// # Errors
/// What is wrong with the text, and which units there are.
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
        .ok_or_else(|| "larger than any memory".to_owned())
}

#[cfg(test)]
mod tests {
    use super::parse_bytes;

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
