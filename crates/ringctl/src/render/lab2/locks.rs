//! The table of named locks.

use std::io::{self, Write};

use ring_control::escape_control_characters;
use ring_control::lab2::NamedLockStatus;

use super::super::text::{new_table, short_duration};

/// Writes one line per program that holds a lock or waits for it. Without locks, writes nothing.
pub(crate) fn write_locks(locks: &[NamedLockStatus], out: &mut dyn Write) -> io::Result<()> {
    if locks.is_empty() {
        return Ok(());
    }
    let mut table = new_table([
        "NAME", "MEMBER", "MODE", "GRADE", "STATE", "SINCE", "TOKEN", "PROGRAM",
    ]);
    for lock in locks {
        table.add_row(row(lock));
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim())?;
    }
    Ok(())
}

fn row(lock: &NamedLockStatus) -> [String; 8] {
    let state = match lock.place {
        None if lock.held => "held".to_owned(),
        Some(place) => format!("waiting, place {place}"),
        None => "waiting".to_owned(),
    };
    [
        escape_control_characters(&lock.name),
        member(lock),
        lock.mode.name().to_owned(),
        lock.grade.name().to_owned(),
        state,
        format!("{} ago", short_duration(lock.since_ns)),
        lock.fencing.clone().unwrap_or_else(|| "-".to_owned()),
        escape_control_characters(&lock.program),
    ]
}

fn member(lock: &NamedLockStatus) -> String {
    let name = lock.member_name.as_deref().map(escape_control_characters);
    let here = lock.is_here.then(|| "this machine".to_owned());
    let remarks: Vec<String> = name.into_iter().chain(here).collect();
    if remarks.is_empty() {
        lock.member.clone()
    } else {
        format!("{} ({})", lock.member, remarks.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use ring_control::lab2::{Grade, LockMode, NamedLockStatus};

    use super::write_locks;

    fn lock(held: bool) -> NamedLockStatus {
        NamedLockStatus {
            name: "backup".to_owned(),
            member: "02:00:00:00:00:01".to_owned(),
            member_name: held.then(|| "left".to_owned()),
            is_here: held,
            mode: LockMode::Exclusive,
            grade: Grade::Quorum,
            held,
            place: (!held).then_some(1),
            since_ns: 3_000_000_000,
            fencing: held.then(|| "7-02:00:00:00:00:01-3".to_owned()),
            session: "00000000000000ff".to_owned(),
            program: if held { "tar" } else { "rm\u{1b}" }.to_owned(),
        }
    }

    fn page(locks: &[NamedLockStatus]) -> Vec<String> {
        let mut page = Vec::new();
        write_locks(locks, &mut page).expect("a vector takes all");
        let page = String::from_utf8(page).expect("it is text");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        page.lines().map(words).collect()
    }

    #[test]
    fn each_program_is_one_line() {
        assert_eq!(page(&[]), Vec::<String>::new());
        let lines = page(&[lock(true), lock(false)]);
        let expected = [
            "NAME MEMBER MODE GRADE STATE SINCE TOKEN PROGRAM",
            "backup 02:00:00:00:00:01 (left, this machine) exclusive quorum held 3s ago 7-02:00:00:00:00:01-3 tar",
            "backup 02:00:00:00:00:01 exclusive quorum waiting, place 1 3s ago - rm\\u{1b}",
        ];
        assert_eq!(lines, expected);
    }
}
