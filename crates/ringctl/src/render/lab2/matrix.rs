//! The measurements of a survey, as tables.

use std::io::{self, Write};

use comfy_table::Table;
use ring_control::escape_control_characters;
use ring_control::lab2::{PairMeasurement, SurveyReport, SurveyedMember};

use super::super::text::{ROWS_MAX, new_table, short_duration};

/// Maximum number of members in a matrix. With this maximum, the matrix fits into 80 columns.
const MATRIX_MEMBERS_MAX: usize = 8;
/// Maximum length of a name in a matrix. With this maximum, the matrix fits into 80 columns.
const NAME_LEN_MAX: usize = 10;
/// Maximum number of pairs in a list.
const PAIRS_MAX: usize = 10;
/// The cell of a value that was not measured.
const NO_VALUE: &str = "-";

/// Returns the text of a pair's cell.
type Cell = fn(&PairMeasurement) -> String;

/// Writes the members, and the measurements of each ordered pair of members.
pub(crate) fn write_survey(survey: &SurveyReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Members ({})", survey.members.len())?;
    write_table(&member_table(survey), out)?;
    if let Some(more @ 1..) = survey.members.len().checked_sub(ROWS_MAX) {
        writeln!(out, "  and {more} more: ringctl doctor --json lists all")?;
    }
    if survey.limited {
        writeln!(out, "The ring is large, so only some members measured.")?;
    }
    if survey.pairs.is_empty() {
        return Ok(());
    }
    if measured(survey).count() > MATRIX_MEMBERS_MAX {
        writeln!(out, "\nThe worst pairs of {}", survey.pairs.len())?;
        return write_table(&worst_pairs(survey), out);
    }
    let matrices: [(&str, Cell); 3] = [
        ("Lost frames", loss),
        ("Round trip (mean)", mean),
        ("Jitter", jitter),
    ];
    for (title, cell) in matrices {
        writeln!(
            out,
            "\n{title}, from the member of the line to the member of the column"
        )?;
        write_table(&matrix(survey, cell), out)?;
    }
    writeln!(out)
}

fn write_table(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    table
        .lines()
        .try_for_each(|line| writeln!(out, "{}", line.trim_end()))
}

fn member_table(survey: &SurveyReport) -> Table {
    let mut table = new_table([" #", "NAME", "MAC", "UP", "LATE", "CLOCK", ""]);
    for (index, member) in survey.members.iter().enumerate().take(ROWS_MAX) {
        table.add_row(member_row(survey, index, member));
    }
    table
}

fn member_row(survey: &SurveyReport, index: usize, member: &SurveyedMember) -> [String; 7] {
    let is_surveyor = member.mac == survey.surveyor;
    let report = member.report.as_ref();
    let late = member.measured.map(|it| short_duration(it.lateness_ns));
    let clock = report.map(|report| {
        let offset = short_duration(report.clock_offset_ns.unsigned_abs());
        match report.clock_offset_ns {
            0 => offset,
            1.. => format!("+{offset}"),
            _ => format!("-{offset}"),
        }
    });
    let remark = match report {
        _ if is_surveyor => "this node",
        None => "no answer",
        Some(report) if report.busy => "busy with another measurement",
        Some(_) => "",
    };
    let or_none = |text: Option<String>| text.unwrap_or_else(|| NO_VALUE.to_owned());
    [
        format!(" {}", index + 1),
        or_none(member.name.as_deref().map(escape_control_characters)),
        member.mac.clone(),
        or_none(report.map(|it| short_duration(it.up_ns))),
        or_none(late),
        or_none(clock.filter(|_| !is_surveyor)),
        remark.to_owned(),
    ]
}

/// Returns the members for which there are measurements, with their numbers in the table of members.
fn measured(survey: &SurveyReport) -> impl Iterator<Item = (usize, &SurveyedMember)> {
    let members = survey.members.iter().enumerate();
    members.filter(|(_, member)| {
        survey
            .pairs
            .iter()
            .any(|it| it.from == member.mac || it.to == member.mac)
    })
}

fn matrix(survey: &SurveyReport, cell: Cell) -> Table {
    let numbers = measured(survey).map(|(index, _)| (index + 1).to_string());
    let header: Vec<String> = [String::new()].into_iter().chain(numbers).collect();
    let mut table = new_table(header);
    for (index, from) in measured(survey) {
        let cells = measured(survey).map(|(_, to)| {
            let mut pairs = survey.pairs.iter();
            let pair = pairs.find(|pair| pair.from == from.mac && pair.to == to.mac);
            pair.map_or_else(String::new, cell)
        });
        let label = format!(" {} {}", index + 1, short_name(from));
        table.add_row([label].into_iter().chain(cells));
    }
    table
}

/// Returns the start of the name, or the end of the address if the member has no name.
fn short_name(member: &SurveyedMember) -> String {
    match &member.name {
        Some(name) => escape_control_characters(name)
            .chars()
            .take(NAME_LEN_MAX)
            .collect(),
        None => member.mac.chars().skip("02:00:00:".len()).collect(),
    }
}

fn worst_pairs(survey: &SurveyReport) -> Table {
    let mut pairs: Vec<&PairMeasurement> = survey.pairs.iter().collect();
    let longest = |pair: &PairMeasurement| pair.sender?.round_trip.map(|it| it.max_ns);
    pairs.sort_by_key(|pair| std::cmp::Reverse((lost_percent(pair), longest(pair))));
    let mut table = new_table([" FROM", "TO", "LOST", "ROUND TRIP", "LONGEST", "JITTER"]);
    for pair in pairs.into_iter().take(PAIRS_MAX) {
        table.add_row([
            format!(" {}", name(survey, &pair.from)),
            name(survey, &pair.to),
            loss(pair),
            mean(pair),
            longest(pair).map_or_else(|| NO_VALUE.to_owned(), short_duration),
            jitter(pair),
        ]);
    }
    table
}

/// Returns the name of the member, or its address if it has no name.
fn name(survey: &SurveyReport, mac: &str) -> String {
    let member = survey.members.iter().find(|member| member.mac == mac);
    let name = member.and_then(|member| member.name.as_deref());
    escape_control_characters(name.unwrap_or(mac))
}

fn loss(pair: &PairMeasurement) -> String {
    lost_percent(pair).map_or_else(|| NO_VALUE.to_owned(), |lost| format!("{lost}%"))
}

/// Returns the percentage of all frames of a pair that were lost, rounded up. So the result is 0 only if no frame was
/// lost.
fn lost_percent(pair: &PairMeasurement) -> Option<u32> {
    let (sender, receiver) = (pair.sender?, pair.receiver?);
    let sum = |counts: [u8; 3]| counts.into_iter().map(u32::from).sum::<u32>();
    let sent = sum([sender.sent, sender.large_sent, sender.broadcasts_sent]);
    let arrived = sum([
        receiver.arrived,
        receiver.large_arrived,
        receiver.broadcasts_arrived,
    ]);
    (sent > 0).then(|| (sent.saturating_sub(arrived) * 100).div_ceil(sent))
}

fn mean(pair: &PairMeasurement) -> String {
    let trip = pair.sender.and_then(|sender| sender.round_trip);
    trip.map_or_else(|| NO_VALUE.to_owned(), |trip| short_duration(trip.mean_ns))
}

fn jitter(pair: &PairMeasurement) -> String {
    let trip = pair.sender.and_then(|sender| sender.round_trip);
    trip.map_or_else(
        || NO_VALUE.to_owned(),
        |trip| short_duration(trip.jitter_ns),
    )
}

#[cfg(test)]
mod tests {
    use super::super::survey_fixtures::{pair, report};
    use super::{SurveyReport, write_survey};

    fn page(survey: &SurveyReport) -> String {
        let mut page = Vec::new();
        write_survey(survey, &mut page).expect("a vector takes all");
        String::from_utf8(page).expect("it is text")
    }

    #[test]
    fn a_matrix_has_one_line_and_one_column_per_member() {
        let mut survey = report(3);
        pair(&mut survey, 1, 2)
            .receiver
            .as_mut()
            .expect("it reported")
            .arrived = 0;
        pair(&mut survey, 3, 1).sender = None;
        survey.members[2].report = None;
        let expected = "\
Members (3)
 #  NAME  MAC                UP  LATE  CLOCK
 1  lab1  02:00:00:00:00:01  1s  1ms   -      this node
 2  lab2  02:00:00:00:00:02  1s  1ms   +1ms
 3  lab3  02:00:00:00:00:03  -   1ms   -      no answer

Lost frames, from the member of the line to the member of the column
         1   2    3
 1 lab1      60%  0%
 2 lab2  0%       0%
 3 lab3  -   0%

Round trip (mean), from the member of the line to the member of the column
";
        let found = page(&survey);
        let flat = |text: &str| -> Vec<String> {
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            text.lines().map(words).collect()
        };
        assert!(flat(&found).starts_with(&flat(expected)), "{found}");
    }

    #[test]
    fn a_matrix_of_eight_members_fits_into_80_columns() {
        let mut survey = report(8);
        for member in &mut survey.members {
            member.name = Some("a-long-name-of-a-machine".to_owned());
        }
        for pair in &mut survey.pairs {
            let sender = pair.sender.as_mut().expect("it reported");
            sender.round_trip.as_mut().expect("it measured").mean_ns = 99_900;
            pair.receiver = pair.receiver.map(|_| ring_control::lab2::PairReceiver {
                arrived: 0,
                large_arrived: 0,
                broadcasts_arrived: 0,
            });
        }
        let found = page(&survey);
        let widest = found.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{found}");
    }

    #[test]
    fn a_larger_ring_shows_only_the_worst_pairs() {
        let mut survey = report(9);
        pair(&mut survey, 8, 3)
            .receiver
            .as_mut()
            .expect("it reported")
            .arrived = 0;
        let found = page(&survey);
        let mut lines = found
            .lines()
            .skip_while(|line| !line.starts_with("The worst pairs of 72"));
        let first = lines.nth(2).expect("a row");
        let words: Vec<_> = first.split_whitespace().collect();
        assert_eq!(words, ["lab8", "lab3", "60%", "200us", "500us", "30us"]);
        assert_eq!(lines.count(), 9);
    }
}
