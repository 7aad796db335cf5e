//! Parsers for the values of options. The errors of a parser contain the cause and an example.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use ring_client::token::CLIENT_TIMEOUT_MIN;
use ring_control::LABEL_LEN_MAX;
use ring_proto::lab2::PauseReason;
use ring_text::{format_duration, parse_duration_or_seconds, truncate_to_bytes};

use super::Error;

const WAIT_MAX: Duration = Duration::from_secs(1_000_000_000);

pub(super) fn parse_wait(text: &str) -> Result<Duration, String> {
    match parse_duration_or_seconds(text) {
        Ok(wait) if wait <= WAIT_MAX => Ok(wait),
        Ok(_) => Err("too long: leave the option out to wait without a limit".to_owned()),
        Err(why) => Err(why),
    }
}

/// Parses the period of a job. The period is at least 1 ms, because a request contains it in whole milliseconds.
pub(super) fn parse_period(text: &str) -> Result<Duration, String> {
    let zero = "a period cannot be 0: give 1ms or more, as in 20h";
    parse_at_least_1ms(text, zero)
}

/// Parses the maximum time to hold a lock. The time is at least 1 ms, because a request contains it in whole
/// milliseconds.
pub(super) fn parse_max_hold(text: &str) -> Result<Duration, String> {
    let zero = "the time cannot be 0: give 1ms or more, as in 30s";
    parse_at_least_1ms(text, zero)
}

/// Parses the duration of a pause. The duration is at least 1 s: a shorter pause could end before it is complete.
pub(super) fn parse_pause(text: &str) -> Result<Duration, String> {
    match parse_wait(text) {
        Ok(lasts) if lasts < Duration::from_secs(1) => {
            Err("a pause cannot be shorter than 1s: give a longer time, as in 2h".to_owned())
        }
        Ok(lasts) => Ok(lasts),
        Err(why) => Err(why.replace("wait without a limit", "pause until ringctl resume")),
    }
}

/// Parses the reason of a pause.
pub(super) fn parse_pause_reason(text: &str) -> Result<String, String> {
    let reason = PauseReason::new(text).map(|_| text.to_owned());
    reason.ok_or_else(|| "a reason has at most 64 bytes and no control characters".to_owned())
}

/// Parses a client timeout. The timeout must be long enough for a renewal of the session.
pub(super) fn parse_client_timeout(text: &str) -> Result<Duration, String> {
    let timeout = parse_duration_or_seconds(text)?;
    if timeout < CLIENT_TIMEOUT_MIN {
        let least = format_duration(CLIENT_TIMEOUT_MIN);
        return Err(format!(
            "the timeout cannot be below {least}: give the servers' timeout, as in 15s"
        ));
    }
    Ok(timeout)
}

fn parse_at_least_1ms(text: &str, zero: &str) -> Result<Duration, String> {
    match parse_duration_or_seconds(text)? {
        duration if duration < Duration::from_millis(1) => Err(zero.to_owned()),
        duration => Ok(duration),
    }
}

pub(super) fn parse_exit_code(text: &str) -> Result<u8, String> {
    text.parse()
        .map_err(|_| "not an exit code: give a whole number from 0 to 255".to_owned())
}

pub(super) fn parse_pid(text: &str) -> Result<i32, String> {
    let number = text.parse().ok().filter(|&number: &i32| number > 0);
    number.ok_or_else(|| "not the number of a process: give a positive number, as in $$".to_owned())
}

pub(super) fn parse_event_number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "not the number of an event: give a number that watch prints".to_owned())
}

pub(super) fn parse_label(text: &str) -> Result<String, String> {
    match text.len() {
        0..=LABEL_LEN_MAX => Ok(text.to_owned()),
        len => Err(format!(
            "{len} bytes are too many: a label has at most {LABEL_LEN_MAX} bytes"
        )),
    }
}

/// Returns the longest beginning of a name that fits into a label.
pub(super) fn truncate_label(name: &str) -> &str {
    truncate_to_bytes(name, LABEL_LEN_MAX)
}

/// Returns the program's name without its directory.
pub(super) fn program_name(command: &[OsString]) -> Cow<'_, str> {
    let program = command.first().map(Path::new);
    let name = program.map(|program| program.file_name().unwrap_or(program.as_os_str()));
    name.unwrap_or_default().to_string_lossy()
}

/// Reads up to `most` + 1 bytes from standard input. If the result has more than `most` bytes, the data are too long.
pub(super) fn read_data(most: usize) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most + 1).unwrap_or(u64::MAX);
    let read = io::stdin().lock().take(limit).read_to_end(&mut bytes);
    read.map_err(Error::Input)?;
    Ok(bytes)
}

pub(super) fn duration_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{
        parse_client_timeout, parse_event_number, parse_exit_code, parse_max_hold, parse_period,
        parse_pid, parse_wait, truncate_label,
    };
    use ring_text::parse_duration_or_seconds;

    #[test]
    fn a_wait_is_a_duration_or_seconds_and_never_negative() {
        assert_eq!(parse_wait("2.5"), Ok(Duration::from_millis(2500)));
        assert_eq!(parse_wait("2500ms"), Ok(Duration::from_millis(2500)));
        assert_eq!(parse_wait("1d"), parse_wait("24h"));
        assert_eq!(parse_wait("0"), Ok(Duration::ZERO));
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
            let error = parse_wait(wrong).expect_err(wrong);
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn all_times_may_be_seconds_without_a_unit() {
        let parsers = [
            parse_wait,
            parse_max_hold,
            parse_period,
            parse_duration_or_seconds,
            parse_client_timeout,
        ];
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
        for parse in [parse_max_hold, parse_period] {
            assert!(parse("0").unwrap_err().contains("cannot be 0"));
        }
        let error = parse_client_timeout("0.199").unwrap_err();
        assert!(error.contains("cannot be below 200 ms"), "{error}");
    }

    #[test]
    fn numbers_are_whole_and_within_their_range() {
        assert_eq!(
            (parse_exit_code("0"), parse_exit_code("255")),
            (Ok(0), Ok(255))
        );
        assert_eq!((parse_pid("1"), parse_event_number("0")), (Ok(1), Ok(0)));
        for wrong in ["256", "-1", "1.5", "x", ""] {
            assert!(parse_exit_code(wrong).is_err(), "{wrong}");
        }
        for wrong in ["0", "-1", "1.5", "x", "", "99999999999"] {
            assert!(parse_pid(wrong).is_err(), "{wrong}");
        }
        for wrong in ["-1", "1.5", "x", ""] {
            assert!(parse_event_number(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_is_cut_to_a_label_between_two_characters() {
        assert_eq!(truncate_label(&"é".repeat(200)), "é".repeat(127));
        assert_eq!(truncate_label("é"), "é");
    }
}
