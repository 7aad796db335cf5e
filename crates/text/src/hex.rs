//! Encodes bytes as hexadecimal digits for JSON, and decodes such digits.

use std::fmt::Write;

/// Encodes bytes as hexadecimal digits.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Decodes hexadecimal digits. Returns `None` if the text has any other characters, or an odd number of digits.
pub fn decode(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
            let is_hex = pair.bytes().all(|digit| digit.is_ascii_hexdigit());
            is_hex.then(|| u8::from_str_radix(pair, 16).ok()).flatten()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn all_bytes_are_decoded_again() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)), Some(bytes));
        assert_eq!(encode(&[0, 0xab]), "00ab");
    }

    #[test]
    fn other_digits_are_refused() {
        for wrong in ["0", "0g", "+1", "é"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
