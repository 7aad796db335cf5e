//! The output of the history: a table or JSON.

use std::io::{self, Write};
use std::time::SystemTime;

use humantime::format_rfc3339_seconds;
use ring_control::{RawJson, escape_control_characters};

use super::super::render;
use super::holds::{Hold, Outcome};
use super::{time_ms, time_of};

/// Writes all holds as one JSON array.
pub(super) fn write_json(holds: &[Hold], out: &mut impl Write) -> io::Result<()> {
    render::write_json(&RawJson::encode(&holds), out)
}

/// Writes one line per hold. Without holds, writes nothing.
pub(super) fn write_table(holds: &[Hold], now: SystemTime, out: &mut impl Write) -> io::Result<()> {
    let Some(first) = holds.first() else {
        return Ok(());
    };
    let has_nodes = holds.iter().any(|hold| hold.node != first.node);
    let ring = |text: String| has_nodes.then_some(text);
    let head = [
        "FROM", "HELD FOR", "LOCK", "MEMBER", "PROGRAM", "PID", "USER", "RESULT",
    ];
    let head = ring("RING".to_owned())
        .into_iter()
        .chain(head.map(str::to_owned));
    let mut table = render::new_table(head.collect::<Vec<_>>());
    for hold in holds {
        let cells = ring(escape_control_characters(&hold.node))
            .into_iter()
            .chain(row(hold, now));
        table.add_row(cells.collect::<Vec<_>>());
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim())?;
    }
    Ok(())
}

fn row(hold: &Hold, now: SystemTime) -> [String; 8] {
    let held_ns = match hold.outcome {
        Outcome::Held => Some(time_ms(now).saturating_sub(hold.from_ms) * 1_000_000),
        _ => hold.held_ns,
    };
    let escaped = |text: &Option<String>| text.as_deref().map(escape_control_characters);
    let unknown = || "-".to_owned();
    [
        format_rfc3339_seconds(time_of(hold.from_ms)).to_string(),
        held_ns.map_or_else(unknown, render::short_duration),
        escaped(&hold.lock).unwrap_or_else(|| "(token)".to_owned()),
        member(hold),
        Some(escape_control_characters(&hold.program))
            .filter(|program| !program.is_empty())
            .unwrap_or_else(unknown),
        hold.pid.map_or_else(unknown, |pid| pid.to_string()),
        escaped(&hold.user).unwrap_or_else(unknown),
        result(hold),
    ]
}

fn member(hold: &Hold) -> String {
    let Some(mac) = &hold.member else {
        return "this machine".to_owned();
    };
    let mac = escape_control_characters(mac);
    match hold.member_name.as_deref().map(escape_control_characters) {
        Some(name) => format!("{mac} ({name})"),
        None => mac,
    }
}

fn result(hold: &Hold) -> String {
    match (hold.outcome, hold.exit, &hold.reason) {
        (Outcome::Held, _, _) => "still held".to_owned(),
        (Outcome::Released, Some(code), _) => format!("exit code {code}"),
        (Outcome::Released, None, _) => "released".to_owned(),
        (Outcome::Lost, _, Some(reason)) => format!("lost: {}", escape_control_characters(reason)),
        (Outcome::Lost, _, None) => "lost".to_owned(),
        (Outcome::Unknown, _, _) if hold.member.is_none() => "unknown".to_owned(),
        (Outcome::Ended | Outcome::Unknown, _, _) => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Hold, Outcome, time_of, write_table};

    fn hold(outcome: Outcome) -> Hold {
        Hold {
            node: "eth0".to_owned(),
            lock: Some("backup".to_owned()),
            member: None,
            member_name: None,
            program: "tar".to_owned(),
            job: None,
            pid: Some(42),
            uid: Some(0),
            user: Some("root".to_owned()),
            fencing: None,
            from_ms: 1_000,
            held_ns: Some(2_000_000_000),
            outcome,
            exit: None,
            reason: None,
        }
    }

    fn lines(holds: &[Hold]) -> Vec<String> {
        let mut page = Vec::new();
        write_table(holds, time_of(61_000), &mut page).expect("a vector takes all");
        let page = String::from_utf8(page).expect("it is text");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        page.lines().map(words).collect()
    }

    #[test]
    fn each_hold_is_one_line() {
        let released = Hold {
            exit: Some(3),
            ..hold(Outcome::Released)
        };
        let lost = Hold {
            lock: None,
            program: "rm\u{1b}".to_owned(),
            reason: Some("lease".to_owned()),
            ..hold(Outcome::Lost)
        };
        let other = Hold {
            member: Some("02:00:00:00:00:07".to_owned()),
            member_name: Some("north".to_owned()),
            pid: None,
            user: None,
            ..hold(Outcome::Ended)
        };
        let held = Hold {
            held_ns: None,
            ..hold(Outcome::Held)
        };
        let unknown = Hold {
            program: String::new(),
            held_ns: None,
            ..hold(Outcome::Unknown)
        };
        let expected = [
            "FROM HELD FOR LOCK MEMBER PROGRAM PID USER RESULT",
            "1970-01-01T00:00:01Z 2s backup this machine tar 42 root exit code 3",
            "1970-01-01T00:00:01Z 2s (token) this machine rm\\u{1b} 42 root lost: lease",
            "1970-01-01T00:00:01Z 2s backup 02:00:00:00:00:07 (north) tar - - -",
            "1970-01-01T00:00:01Z 1m backup this machine tar 42 root still held",
            "1970-01-01T00:00:01Z - backup this machine - 42 root unknown",
        ];
        assert_eq!(lines(&[released, lost, other, held, unknown]), expected);
    }

    #[test]
    fn the_ring_is_a_column_if_there_are_several() {
        let other = Hold {
            node: "eth1".to_owned(),
            ..hold(Outcome::Released)
        };
        let found = lines(&[hold(Outcome::Released), other]);
        assert!(
            found[0].starts_with("RING FROM") && found[2].starts_with("eth1 "),
            "{found:?}"
        );
        assert_eq!(lines(&[]), Vec::<String>::new());
    }
}
