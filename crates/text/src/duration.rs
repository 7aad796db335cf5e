//! Durations in options (`100ms`, `1500us`, `0ms`, `1m30s`, `2w`) and in sentences (`5.5 ms`).

use std::time::Duration;

const UNITS: &str = "ns, us, ms, s, m, h, d, w";

/// Parses a duration with a unit. Months and years are not accepted as units, because they have no fixed length.
///
/// The daemons' options require a unit: most values are a few milliseconds, and `--heartbeat 100` would mean 100 s.
///
/// # Errors
/// If the text is not a valid duration, returns the cause and the possible units.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digit = |c: char| c.is_ascii_digit();
    if text
        .strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(digit))
    {
        return Err(format!(
            "not a duration: it cannot be negative; give a number and one of {UNITS}, as in 100ms"
        ));
    }
    for unit in text.split(|c: char| !c.is_alphabetic()) {
        if !unit.is_empty() && !UNITS.split(", ").any(|known| known == unit) {
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

/// Parses a duration with a unit. A number without a unit is a number of seconds, as in flock(1), sleep(1) and systemd.
///
/// # Errors
/// If the text is not a valid duration, returns the cause and the possible units.
pub fn parse_duration_or_seconds(text: &str) -> Result<Duration, String> {
    let Ok(seconds) = text.parse::<f64>() else {
        return parse_duration(text).map_err(|why| format!("{why}, or seconds, as in 0.5"));
    };
    if seconds.is_nan() {
        return Err("not a number".to_owned());
    }
    if seconds < 0.0 {
        return Err("a duration cannot be negative: give one as in 5s or 0.5".to_owned());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| "too long".to_owned())
}

/// Formats a duration for a sentence: `2 s`, `5.5 ms`, `3m 5s`.
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let (unit, per) = match nanos {
        0 => return "0 s".to_owned(),
        1..1_000 => ("ns", 1),
        1_000..1_000_000 => ("us", 1_000),
        1_000_000..1_000_000_000 => ("ms", 1_000_000),
        1_000_000_000..60_000_000_000 => ("s", 1_000_000_000),
        _ => {
            let seconds = Duration::from_secs(duration.as_secs());
            return humantime::format_duration(seconds).to_string();
        }
    };
    match (nanos / per, nanos % per * 10 / per) {
        (whole, 1..) if whole < 100 => format!("{whole}.{} {unit}", nanos % per * 10 / per),
        (whole, _) => format!("{whole} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{format_duration, parse_duration};
    use std::time::Duration;

    #[test]
    fn every_unit_is_accepted() {
        let cases = [
            ("0ms", Duration::ZERO),
            ("7ns", Duration::from_nanos(7)),
            ("1500us", Duration::from_micros(1500)),
            ("100ms", Duration::from_millis(100)),
            ("2s", Duration::from_secs(2)),
            ("3m", Duration::from_secs(180)),
            ("1h", Duration::from_secs(3600)),
            ("1m30s", Duration::from_secs(90)),
            ("1d", Duration::from_secs(86_400)),
            ("24h", Duration::from_secs(86_400)),
            ("2w", Duration::from_secs(14 * 86_400)),
            ("1w2d3h", Duration::from_secs(9 * 86_400 + 10_800)),
            ("0.5ms", Duration::from_micros(500)),
        ];
        for (text, duration) in cases {
            assert_eq!(parse_duration(text), Ok(duration), "{text}");
        }
    }

    #[test]
    fn an_error_lists_the_units() {
        for text in [
            "", "5", "0", "ms", "-5ms", "-1", "5days", "5M", "5 sec", "5µs", "1y", "5ms?",
        ] {
            let error = parse_duration(text).expect_err(text);
            assert!(
                error.contains("ns, us, ms, s, m, h, d, w"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_too_large_or_too_fine_duration_is_refused() {
        for text in ["99999999999999999999s", "99999999999999999h", "0.5ns"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_formatted_in_the_largest_unit() {
        for (micros, expected) in [
            (0, "0 s"),
            (5_500, "5.5 ms"),
            (2_000_000, "2 s"),
            (400_000, "400 ms"),
            (123_456, "123 ms"),
            (1_540_000, "1.5 s"),
            (90_000_000, "1m 30s"),
        ] {
            assert_eq!(format_duration(Duration::from_micros(micros)), expected);
        }
    }
}
