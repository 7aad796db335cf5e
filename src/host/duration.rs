//! Durations as people write them: `100ms`, `1500us`, `0ms`, `1m30s`.

use std::time::Duration;

/// The units, as the error spells them.
const UNITS: &str = "ns, us, ms, s, m, h";

/// Parses a duration with its unit.
///
/// # Errors
/// What is wrong with the text, and which units there are.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digit = |c: char| c.is_ascii_digit();
    if text
        .strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(digit))
    {
        return Err(format!(
            "not a duration, which cannot be negative: give a number and one of {UNITS}, as in 100ms"
        ));
    }
    for unit in text.split(|c: char| !c.is_alphabetic()) {
        if !matches!(unit, "" | "ns" | "us" | "ms" | "s" | "m" | "h") {
            return Err(format!(
                "unknown unit '{unit}': give a number and one of {UNITS}, as in 100ms"
            ));
        }
    }
    if !text.ends_with(char::is_alphabetic) {
        return Err(format!("no unit: give one of {UNITS}, as in 100ms"));
    }
    humantime::parse_duration(text).map_err(|error| match error {
        humantime::DurationError::NumberOverflow => "too large, or finer than 1ns".to_owned(),
        _ => format!("not a duration: give a number and one of {UNITS}, as in 100ms"),
    })
}

#[cfg(test)]
mod tests {
    use super::parse_duration;
    use std::time::Duration;

    #[test]
    fn every_unit_is_taken() {
        let cases = [
            ("0ms", Duration::ZERO),
            ("7ns", Duration::from_nanos(7)),
            ("1500us", Duration::from_micros(1500)),
            ("100ms", Duration::from_millis(100)),
            ("2s", Duration::from_secs(2)),
            ("3m", Duration::from_secs(180)),
            ("1h", Duration::from_secs(3600)),
            ("1m30s", Duration::from_secs(90)),
            ("0.5ms", Duration::from_micros(500)),
        ];
        for (text, duration) in cases {
            assert_eq!(parse_duration(text), Ok(duration), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_duration_is_refused_with_the_units() {
        for text in [
            "", "5", "0", "ms", "-5ms", "-1", "5days", "5M", "5 sec", "5µs", "1d", "5ms?",
        ] {
            let error = parse_duration(text).expect_err(text);
            assert!(error.contains("ns, us, ms, s, m, h"), "{text}: {error}");
        }
    }

    #[test]
    fn what_no_clock_can_count_is_refused() {
        for text in ["99999999999999999999s", "99999999999999999h", "0.5ns"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
