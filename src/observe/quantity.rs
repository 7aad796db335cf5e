//! Durations and numbers of bytes as sentences have them.

use std::time::Duration;

/// Formats a duration for a sentence: `2 s`, `5.5 ms`, `3m 5s`.
#[must_use]
pub fn spoken(duration: Duration) -> String {
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

/// Formats a number of bytes for a sentence: `1 byte`, `1,100 bytes`.
#[must_use]
pub fn spoken_bytes(count: usize) -> String {
    match (count / 1_000, count % 1_000) {
        (0, 1) => "1 byte".to_owned(),
        (0, few) => format!("{few} bytes"),
        (thousands, rest) => format!("{thousands},{rest:03} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::{spoken, spoken_bytes};
    use std::time::Duration;

    #[test]
    fn durations_are_spoken_in_their_largest_unit() {
        for (micros, expected) in [
            (0, "0 s"),
            (5_500, "5.5 ms"),
            (2_000_000, "2 s"),
            (400_000, "400 ms"),
            (123_456, "123 ms"),
            (1_540_000, "1.5 s"),
            (90_000_000, "1m 30s"),
        ] {
            assert_eq!(spoken(Duration::from_micros(micros)), expected);
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        let spoken = [0, 1, 999, 1_000, 1_024].map(spoken_bytes);
        let expected = [
            "0 bytes",
            "1 byte",
            "999 bytes",
            "1,000 bytes",
            "1,024 bytes",
        ];
        assert_eq!(spoken, expected);
    }
}
