//! The reports of nodes. A report is a text for people, and no rule depends on it.

use std::time::Duration;

use ring_codec::lab2::card::shorten;
use ring_codec::lab2::{NodeReport, REPORT_LEN_BESIDE_TEXTS, TROUBLES_LEN_MAX, Work};

use super::data::{HostReport, NodeHealth, ReceivedReport, ReportData};
use crate::lab2::machine::Context;
use crate::lab2::members::Members;
use crate::lab2::{Grade, HolderProgram, State};
use crate::time::{Instant, nanos};

/// Maximum number of troubles in a report.
const TROUBLES_MAX: usize = 3;
/// The character that replaces the end of a long text.
const CUT: char = '…';

/// Creates the report of this node. The texts fit into a frame that every member can receive.
pub(crate) fn create_report(
    context: &Context,
    members: &Members,
    (state, grade): (State, Grade),
    holder: Option<&HolderProgram>,
    host: &HostReport,
) -> ReportData {
    let holder = holder.map(|work| {
        let since = context.now().since(work.since);
        (shorten(&work.program).to_owned(), since)
    });
    let holder_len = holder.as_ref().map_or(0, |(program, _)| program.len());
    let (mtu, _) = members.smallest_mtu(context);
    let room = mtu.saturating_sub(REPORT_LEN_BESIDE_TEXTS + holder_len);
    ReportData {
        up: host.up,
        wall: context.clock().wall,
        lateness: host.lateness,
        holder,
        state,
        grade,
        health: host.health,
        busy: false,
        required_grade: host.required_grade,
        trouble_count: u8::try_from(host.troubles.len()).unwrap_or(u8::MAX),
        troubles: lines(&host.troubles, room.min(TROUBLES_LEN_MAX)),
    }
}

pub(super) fn encode(data: &ReportData, busy: bool) -> NodeReport<'_> {
    NodeReport {
        up: nanos(data.up),
        wall: data.wall,
        lateness: nanos(data.lateness),
        holder: data.holder.as_ref().map(|(program, since)| Work {
            held: nanos(*since).min(u64::MAX - 1),
            program,
        }),
        state: data.state as u8,
        grade: data.grade as u8,
        health: data.health as u8,
        busy,
        required_grade: data.required_grade as u8,
        trouble_count: data.trouble_count,
        troubles: &data.troubles,
    }
}

pub(super) fn decode(report: &NodeReport<'_>) -> ReportData {
    let holder = report.holder.map(|work| {
        let since = Duration::from_nanos(work.held);
        (work.program.to_owned(), since)
    });
    ReportData {
        up: Duration::from_nanos(report.up),
        wall: report.wall,
        lateness: Duration::from_nanos(report.lateness),
        holder,
        // The decoder has checked the numbers.
        state: State::ALL[usize::from(report.state) % State::ALL.len()],
        grade: grade(report.grade),
        health: match report.health {
            0 => NodeHealth::Healthy,
            1 => NodeHealth::Degraded,
            _ => NodeHealth::Critical,
        },
        busy: report.busy,
        required_grade: grade(report.required_grade),
        trouble_count: report.trouble_count,
        troubles: report.troubles.to_owned(),
    }
}

const fn grade(number: u8) -> Grade {
    match number {
        0 => Grade::Alone,
        1 => Grade::AllHeard,
        _ => Grade::Quorum,
    }
}

/// Creates the report that arrived at the time `at`, in answer to a question at the time `asked`.
pub(super) fn receive_report(
    data: ReportData,
    context: &Context,
    asked: Instant,
    at: Instant,
) -> ReceivedReport {
    let after = at.since(asked);
    let clock = context.clock();
    // The member read its clock between the question and the report, so the middle is the best estimate.
    let own = clock
        .wall
        .saturating_sub(nanos(clock.monotonic.since(at).saturating_add(after / 2)));
    ReceivedReport {
        after,
        clock_offset: data.wall.wrapping_sub(own).cast_signed(),
        data,
    }
}

/// Joins the first texts to lines. All lines together have at most `room` bytes, and each text gets an equal part.
fn lines(texts: &[String], room: usize) -> String {
    let texts = &texts[..texts.len().min(TROUBLES_MAX)];
    let Some(part) = room.checked_div(texts.len()) else {
        return String::new();
    };
    let lines = texts.iter().map(|text| {
        // The newline of the line counts too.
        let part = part.saturating_sub(1);
        let text: String = text.chars().map(without_control).collect();
        if text.len() <= part {
            return text;
        }
        let room = part.saturating_sub(CUT.len_utf8());
        let is_end = |at: &usize| text.is_char_boundary(*at);
        let end = (0..=room).rev().find(is_end).unwrap_or_default();
        if end == 0 {
            return String::new();
        }
        format!("{}{CUT}", &text[..end])
    });
    // A newline between two empty lines would need room, too.
    let lines = lines.filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

fn without_control(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn lines_fit_their_room_and_are_cut_between_characters() {
        let texts = |texts: &[&str]| texts.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
        assert_eq!(lines(&texts(&["one", "two"]), 700), "one\ntwo");
        assert_eq!(lines(&texts(&["a\tb\nc"]), 700), "a b c");
        assert_eq!(lines(&texts(&["1", "2", "3", "4"]), 700), "1\n2\n3");
        assert_eq!(lines(&[], 700), "");
        let long = texts(&["ä".repeat(500).as_str(), "short"]);
        for room in 0..1100 {
            let text = lines(&long, room);
            assert!(text.len() <= room, "{room}: {}", text.len());
        }
        let cut = lines(&long, 700);
        assert!(cut.ends_with("ä…\nshort"), "{cut}");
    }
}
