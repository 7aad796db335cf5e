//! The table of all members, from a survey.

use std::io::{self, Write};

use ring_control::escape_control_characters;
use ring_control::lab2::{MemberReport, SurveyReport, SurveyedMember};

use super::super::text::{ROWS_MAX, new_table, short_duration, write_more};

/// The longest text of a trouble in a row, in characters.
const TROUBLE_LEN_MAX: usize = 48;

/// Writes one row per member.
pub(crate) fn write_members(report: &SurveyReport, out: &mut dyn Write) -> io::Result<()> {
    let mut table = new_table([
        "MEMBER", "VERSION", "UP", "STATE", "GRADE", "HEALTH", "HOLDER", "TROUBLES",
    ]);
    for member in report.members.iter().take(ROWS_MAX) {
        table.add_row(row(member, member.mac == report.surveyor));
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim())?;
    }
    write_more(report.members.len(), out)
}

fn row(member: &SurveyedMember, is_here: bool) -> [String; 8] {
    let name = member.name.as_deref().map(escape_control_characters);
    let here = is_here.then(|| "this machine".to_owned());
    let remarks: Vec<String> = name.into_iter().chain(here).collect();
    let member_text = if remarks.is_empty() {
        member.mac.clone()
    } else {
        format!("{} ({})", member.mac, remarks.join(", "))
    };
    let version = member.version.as_deref().unwrap_or("-");
    let version = escape_control_characters(version);
    let Some(report) = &member.report else {
        let why = match member.presence.as_str() {
            "silent" => "not heard for a long time",
            "left" => "has left the ring",
            _ => "no answer: ringd is busy, or too old",
        };
        let [up, state, grade, health, holder] = ["-"; 5].map(str::to_owned);
        return [
            member_text,
            version,
            up,
            state,
            grade,
            health,
            holder,
            why.to_owned(),
        ];
    };
    let paused = member.presence == "paused";
    let state = escape_control_characters(&report.state);
    let holds = report.state == "OWNER";
    [
        member_text,
        version,
        // Round to whole seconds: for a short run, the nanoseconds are not useful.
        short_duration(report.up_ns / 1_000_000_000 * 1_000_000_000),
        if paused {
            format!("{state}, paused")
        } else {
            state
        },
        if holds {
            escape_control_characters(&report.grade)
        } else {
            "-".to_owned()
        },
        report.health.name().to_owned(),
        holder(report),
        troubles(report),
    ]
}

fn holder(report: &MemberReport) -> String {
    report.holder.as_ref().map_or_else(
        || "-".to_owned(),
        |holder| {
            let program = escape_control_characters(&holder.program);
            format!("{program} for {}", short_duration(holder.since_ns))
        },
    )
}

/// Returns the worst trouble, shortened, and the number of further troubles.
fn troubles(report: &MemberReport) -> String {
    let Some(worst) = report.troubles.first() else {
        return if report.trouble_count == 0 {
            "-".to_owned()
        } else {
            report.trouble_count.to_string()
        };
    };
    let mut text: String = worst.chars().take(TROUBLE_LEN_MAX).collect();
    if text.len() < worst.len() {
        text.push('…');
    }
    let text = escape_control_characters(&text);
    match report.trouble_count.saturating_sub(1) {
        0 => text,
        more => format!("{text} (and {more} more)"),
    }
}

#[cfg(test)]
mod tests {
    use ring_control::Health;
    use ring_control::lab2::{HolderStatus, MemberReport, SurveyReport, SurveyedMember};

    use super::write_members;

    fn member(last: u8, presence: &str, report: Option<MemberReport>) -> SurveyedMember {
        SurveyedMember {
            mac: format!("02:00:00:00:00:{last:02x}"),
            name: (last == 1).then(|| "db1".to_owned()),
            ip: None,
            presence: presence.to_owned(),
            version: (last < 3).then(|| "0.1.0".to_owned()),
            report,
            measured: None,
        }
    }

    fn owner() -> MemberReport {
        MemberReport {
            up_ns: 185_400_000_000,
            state: "OWNER".to_owned(),
            grade: "quorum".to_owned(),
            health: Health::Healthy,
            trouble_count: 0,
            troubles: Vec::new(),
            holder: Some(HolderStatus {
                program: "rm\u{1b}".to_owned(),
                since_ns: 2_000_000_000,
            }),
            lateness_ns: 0,
            answer_ns: 0,
            clock_offset_ns: 0,
            clock_error_ns: 0,
            busy: false,
            require: None,
        }
    }

    #[test]
    fn each_member_is_one_row_also_without_an_answer() {
        let ill = MemberReport {
            state: "WAITER".to_owned(),
            health: Health::Degraded,
            trouble_count: 3,
            troubles: vec!["x".repeat(60), "y".to_owned()],
            holder: None,
            ..owner()
        };
        let report = SurveyReport {
            surveyor: "02:00:00:00:00:01".to_owned(),
            took_ns: 1,
            members: vec![
                member(1, "alive", Some(owner())),
                member(2, "paused", Some(ill)),
                member(3, "alive", None),
                member(4, "silent", None),
            ],
            pairs: Vec::new(),
            limited: false,
        };
        let mut page = Vec::new();
        write_members(&report, &mut page).expect("a vector takes all");
        let page = String::from_utf8(page).expect("it is text");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<_> = page.lines().map(words).collect();
        let cut = format!("{}…", "x".repeat(48));
        let expected = [
            "MEMBER VERSION UP STATE GRADE HEALTH HOLDER TROUBLES".to_owned(),
            "02:00:00:00:00:01 (db1, this machine) 0.1.0 3m 5s OWNER quorum healthy rm\\u{1b} for 2s -"
                .to_owned(),
            format!(
                "02:00:00:00:00:02 0.1.0 3m 5s WAITER, paused - degraded - {cut} (and 2 more)"
            ),
            "02:00:00:00:00:03 - - - - - - no answer: ringd is busy, or too old".to_owned(),
            "02:00:00:00:00:04 - - - - - - not heard for a long time".to_owned(),
        ];
        assert_eq!(lines, expected);
    }
}
