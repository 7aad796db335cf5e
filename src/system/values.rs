//! Values of options that several systems have.

use std::str::FromStr;
use std::time::Duration;

use ring_text::{parse_bytes, parse_duration};

/// Parses how many there are of something.
pub(super) fn parse_count<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| "not a count: give a whole number, as in 4".to_owned())
}

/// Parses a number of bytes with a unit or without, as in `1MiB` and `4096`.
///
/// # Errors
/// What is wrong with the text, and which units there are.
pub(super) fn parse_size(text: &str) -> Result<usize, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        return text
            .parse()
            .map_err(|_| "larger than any memory".to_owned());
    }
    parse_bytes(text).map_err(|why| format!("{why}, or bytes without a unit, as in 4096"))
}

/// The longest time limit of a hook: past it there is none.
const MAX_HOOK_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// Parses how long a hook may run.
///
/// # Errors
/// The text is no duration, or one that makes no sense here.
pub(super) fn parse_hook_timeout(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("too short: give a second or so".to_owned()),
        timeout if timeout > MAX_HOOK_TIMEOUT => Err("too long: give at most 24h".to_owned()),
        timeout => Ok(timeout),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn a_size_may_do_without_a_unit() {
        for (text, bytes) in [("0", 0), ("4096", 4096), ("1MiB", 1 << 20)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "-1", "1.5MiB", "1MB", "MiB"] {
            let error = parse_size(text).expect_err(text);
            assert!(error.contains("as in 4096"), "{text}: {error}");
        }
        assert!(parse_size("99999999999999999999").is_err());
    }
}
