//! Parsers for the values of options, with errors in plain words.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use ring_client::token::MIN_CLIENT_TIMEOUT;
use ring_control::MAX_LABEL;
use ring_text::{first_bytes, format_duration, parse_duration_or_seconds};

use super::Error;

/// Maximum wait: 30 years.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// Parses how long to wait.
pub(super) fn wait(text: &str) -> Result<Duration, String> {
    match parse_duration_or_seconds(text) {
        Ok(wait) if wait <= LONGEST => Ok(wait),
        Ok(_) => Err("too long: leave the option out to wait without end".to_owned()),
        Err(why) => Err(why),
    }
}

/// Parses the period of a job, which is sent in whole milliseconds.
pub(super) fn period(text: &str) -> Result<Duration, String> {
    let zero = "a period cannot be 0: give a duration of 1ms or more, as in 20h";
    at_least_a_millisecond(text, zero)
}

/// Parses for how long a lock is held at the most, which is sent in whole milliseconds.
pub(super) fn max_hold(text: &str) -> Result<Duration, String> {
    let zero = "it cannot be 0: give a duration of 1ms or more, as in 30s";
    at_least_a_millisecond(text, zero)
}

/// Parses a client timeout, which a renewal must fit into.
pub(super) fn client_timeout(text: &str) -> Result<Duration, String> {
    let timeout = parse_duration_or_seconds(text)?;
    if timeout < MIN_CLIENT_TIMEOUT {
        let least = format_duration(MIN_CLIENT_TIMEOUT);
        return Err(format!(
            "it cannot be below {least}: give that of the servers, as in 15s"
        ));
    }
    Ok(timeout)
}

fn at_least_a_millisecond(text: &str, zero: &str) -> Result<Duration, String> {
    match parse_duration_or_seconds(text)? {
        duration if duration < Duration::from_millis(1) => Err(zero.to_owned()),
        duration => Ok(duration),
    }
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
    first_bytes(name, MAX_LABEL)
}

/// Returns a command's name without its directory.
pub(super) fn program_name(command: &[OsString]) -> Cow<'_, str> {
    let program = command.first().map(Path::new);
    let name = program.map(|program| program.file_name().unwrap_or(program.as_os_str()));
    name.unwrap_or_default().to_string_lossy()
}

/// Reads data of at most this many bytes from standard input. One byte more is enough to see that they are too many.
pub(super) fn read_data(most: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most + 1).unwrap_or(u64::MAX);
    let read = io::stdin().lock().take(limit).read_to_end(&mut bytes);
    read.map_err(Error::Input)?;
    Ok(bytes)
}

/// Returns a duration in whole milliseconds.
pub(super) fn duration_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{client_timeout, event, exit_code, max_hold, period, process, shortened, wait};
    use ring_text::parse_duration_or_seconds as grace;

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
            ("1e10", "too long: leave the option out"),
            ("2000w", "too long: leave the option out"),
            ("inf", "too long"),
            ("NaN", "not a number"),
        ] {
            let said = wait(wrong).expect_err(wrong);
            assert!(said.contains(why), "{wrong}: {said}");
        }
    }

    #[test]
    fn all_times_may_be_seconds_without_a_unit() {
        let parsers = [wait, max_hold, period, grace, client_timeout];
        for (text, millis) in [
            ("30", 30_000),
            ("2.5", 2500),
            ("30s", 30_000),
            ("1d", 86_400_000),
        ] {
            for parse in parsers {
                assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
            }
        }
        for text in ["-1", "1e30", "NaN", "5y", ""] {
            for parse in parsers {
                assert!(parse(text).is_err(), "{text}");
            }
        }
        for parse in [max_hold, period] {
            assert!(parse("0").unwrap_err().contains("cannot be 0"));
        }
        let said = client_timeout("0.199").unwrap_err();
        assert!(said.contains("cannot be below 200 ms"), "{said}");
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
