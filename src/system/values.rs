//! Parses values of options that several systems share.

use std::str::FromStr;
use std::time::Duration;

use ring_text::{parse_bytes, parse_duration};

pub(super) fn parse_count<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| "not a count; give a whole number, as in 4".to_owned())
}

/// Parses a number of bytes with or without a unit, for example `1MiB` or `4096`.
///
/// # Errors
/// If the text is invalid, returns the problem and the possible units.
pub(super) fn parse_size(text: &str) -> Result<usize, String> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        return text
            .parse()
            .map_err(|_| "larger than any memory".to_owned());
    }
    parse_bytes(text).map_err(|why| format!("{why}, or bytes without a unit, as in 4096"))
}

/// Maximum time limit of a hook.
const HOOK_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Parses the time limit of a hook.
///
/// # Errors
/// Fails if the text is not a duration, or if the duration is out of range.
pub(super) fn parse_hook_timeout(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("too short; give about a second".to_owned()),
        timeout if timeout > HOOK_TIMEOUT_MAX => Err("too long; give at most 24h".to_owned()),
        timeout => Ok(timeout),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn a_size_needs_no_unit() {
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
