//! Parsers for the values of options, with errors in plain words.

use std::time::Duration;

use crate::control::MAX_LABEL;
use crate::text::parse_duration;

/// Maximum wait: 30 years.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// Parses how long to wait: a duration, or a number of seconds without a unit, as flock(1) takes it.
pub(super) fn wait(text: &str) -> Result<Duration, String> {
    let wait = match text.parse() {
        Ok(seconds) => from_seconds(seconds)?,
        Err(_) => parse_duration(text).map_err(|why| format!("{why}, or seconds, as in 0.5"))?,
    };
    if wait > LONGEST {
        return Err(TOO_LONG.to_owned());
    }
    Ok(wait)
}

const TOO_LONG: &str = "too long: leave the option out to wait without end";

fn from_seconds(seconds: f64) -> Result<Duration, String> {
    if seconds.is_nan() {
        return Err("not a number".to_owned());
    }
    if seconds < 0.0 {
        return Err("a time to wait cannot be negative: give one as in 5s or 0.5".to_owned());
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| TOO_LONG.to_owned())
}

/// Parses the period of a job, which is sent in whole milliseconds.
pub(super) fn period(text: &str) -> Result<Duration, String> {
    let period = parse_duration(text)?;
    if period < Duration::from_millis(1) {
        return Err("a period cannot be 0: give a duration of 1ms or more, as in 20h".to_owned());
    }
    Ok(period)
}

/// Parses for how long a lock is held at the most, which is sent in whole milliseconds.
pub(super) fn max_hold(text: &str) -> Result<Duration, String> {
    let most = parse_duration(text)?;
    if most < Duration::from_millis(1) {
        return Err("it cannot be 0: give a duration of 1ms or more, as in 30s".to_owned());
    }
    Ok(most)
}

/// Parses a process's exit code.
pub(super) fn exit_code(text: &str) -> Result<u8, String> {
    text.parse()
        .map_err(|_| "not an exit code: give a whole number from 0 to 255".to_owned())
}

/// Parses the number of a process.
pub(super) fn process(text: &str) -> Result<i32, String> {
    let number = text.parse().ok().filter(|&number: &i32| number > 0);
    number.ok_or_else(|| "not the number of a process, as in $$".to_owned())
}

/// Parses the number of an event.
pub(super) fn event(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        "not the number of an event: give a whole number, as watch shows it".to_owned()
    })
}

/// Parses a label, which everybody who looks at the ring may see.
pub(super) fn label(text: &str) -> Result<String, String> {
    match text.len() {
        0..=MAX_LABEL => Ok(text.to_owned()),
        len => Err(format!(
            "{len} bytes are too many: a label has at most {MAX_LABEL}"
        )),
    }
}

/// Cuts a name to the length of a label.
pub(super) fn shortened(name: &str) -> &str {
    let ends = (0..=MAX_LABEL.min(name.len())).rev();
    let end = { ends }.find(|&end| name.is_char_boundary(end));
    &name[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{event, exit_code, process, shortened, wait};

    #[test]
    fn a_wait_is_a_duration_or_seconds_and_never_negative() {
        assert_eq!(wait("2.5"), Ok(Duration::from_millis(2500)));
        assert_eq!(wait("2500ms"), Ok(Duration::from_millis(2500)));
        assert_eq!(wait("1d"), wait("24h"));
        assert_eq!(wait("0"), Ok(Duration::ZERO));
        for (wrong, why) in [
            ("x", "unknown unit 'x'"),
            ("", "or seconds, as in 0.5"),
            ("5y", "or seconds, as in 0.5"),
            ("-1", "cannot be negative"),
            ("-1s", "cannot be negative"),
            ("-inf", "cannot be negative"),
            ("1e10", "too long"),
            ("2000w", "too long"),
            ("inf", "too long"),
            ("NaN", "not a number"),
        ] {
            let said = wait(wrong).expect_err(wrong);
            assert!(said.contains(why), "{wrong}: {said}");
        }
    }

    #[test]
    fn numbers_are_whole_and_within_their_range() {
        assert_eq!((exit_code("0"), exit_code("255")), (Ok(0), Ok(255)));
        assert_eq!((process("1"), event("0")), (Ok(1), Ok(0)));
        for wrong in ["256", "-1", "1.5", "x", ""] {
            assert!(exit_code(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0", "-1", "1.5", "x", "", "99999999999"] {
            assert!(process(wrong).is_err(), "{wrong}");
        }
        for wrong in ["-1", "1.5", "x", ""] {
            assert!(event(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_is_cut_to_a_label_between_two_characters() {
        assert_eq!(shortened(&"é".repeat(200)), "é".repeat(127));
        assert_eq!(shortened("é"), "é");
    }
}
