use ring_host::observe::{LogTarget, Style};
use ring_proto::lab2::{Difference, DropReason, Event, Grade, MemberOptions, Reason, State};
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::Observe;

use super::super::captured;
use super::Log;
use ring_codec::MacAddr;
use ring_codec::lab2::Token;
use std::time::Duration;

const ONE: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const TWO: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

/// Returns the lines for events at these times. The times are in milliseconds.
fn lines(style: Style, verbose: bool, events: &[(u64, Event)]) -> Vec<String> {
    captured(style, verbose, || {
        let mut log = Log::new(verbose, Duration::from_millis(400));
        for (ms, event) in events {
            let monotonic = Instant::from_nanos((60_000 + ms) * 1_000_000);
            log.observe(Now { monotonic, wall: 0 }, event);
        }
    })
}

fn text(verbose: bool, events: &[(u64, Event)]) -> Vec<String> {
    let style = Style {
        json: false,
        target: LogTarget::Stream,
    };
    let without_time = |line: String| line.split_once(' ').unwrap().1.trim().to_owned();
    lines(style, verbose, events)
        .into_iter()
        .map(without_time)
        .collect()
}

fn token(progress: u64) -> Token {
    Token {
        progress,
        author: ONE,
        number: 3,
    }
}

fn state_changed(from: State, to: State, reason: Reason, progress: u64) -> Event {
    let token = Some(token(progress));
    Event::StateChanged {
        from,
        to,
        reason,
        token,
    }
}

/// Returns turns of routine rotation: every 10 ms, the node takes the token, and hands it over 5 ms later.
fn rotation(turns: u64) -> Vec<(u64, Event)> {
    (0..turns)
        .flat_map(|turn| {
            let (taken, over) = (Reason::TokenTaken, Reason::TokenHandedOver);
            [
                (
                    turn * 10,
                    state_changed(State::Waiter, State::Owner, taken, 2 * turn),
                ),
                (
                    turn * 10 + 5,
                    state_changed(State::Owner, State::Waiter, over, 2 * turn + 1),
                ),
            ]
        })
        .collect()
}

#[test]
fn routine_rotation_is_logged_in_full_or_not_at_all() {
    assert_eq!(text(false, &rotation(250)), [""; 0]);
    let shown = text(true, &rotation(250));
    assert_eq!(shown.len(), 500);
    assert!(shown[0].starts_with("DEBUG WAITER -> OWNER: took the token; token 0-"));
}

#[test]
fn a_grade_that_no_later_tenure_reaches_is_logged() {
    let grade = Grade::Quorum;
    let kind = ring_codec::lab2::Kind::TokenIsHere;
    let mut events = vec![
        (
            0,
            state_changed(State::Generating, State::Owner, Reason::Elected, 1),
        ),
        (
            1,
            Event::GradeChanged {
                grade,
                token: token(1),
            },
        ),
    ];
    let minted = token(3);
    events.push((
        500,
        Event::HandoverFailed {
            to: TWO,
            in_a_row: 1,
            minted: Some(minted),
        },
    ));
    events.extend((6..30).map(|beat| (beat * 100, Event::Transmitted { kind })));
    let shown = text(false, &events);
    assert_eq!(shown.len(), 4, "{shown:#?}");
    assert!(
        shown[3].contains("grade is alone: no member has confirmed the token for 1s"),
        "{}",
        shown[3]
    );
}

#[test]
fn the_journal_gets_a_priority_for_each_line_and_no_time() {
    let events = [
        (0, Event::MemberLeft { mac: TWO }),
        (
            1,
            state_changed(State::Owner, State::Waiter, Reason::StrongerToken, 9),
        ),
    ];
    let style = |json| Style {
        json,
        target: LogTarget::Journal,
    };
    let sentences = lines(style(false), false, &events);
    assert!(sentences[0].starts_with("<6>member 02:"), "{sentences:?}");
    assert!(
        sentences[1].starts_with("<4>OWNER -> WAITER: "),
        "{sentences:?}"
    );
    for (line, priority) in lines(style(true), false, &events)
        .iter()
        .zip(["<6>", "<4>"])
    {
        let line: serde_json::Value =
            serde_json::from_str(line.strip_prefix(priority).unwrap()).unwrap();
        assert!(
            line["event"].is_string() && line["timestamp"].is_null(),
            "{line}"
        );
    }
}

#[test]
fn the_journal_s_socket_gets_the_fields_of_each_line() {
    let events = [(0, Event::MemberLeft { mac: TWO })];
    let style = Style {
        json: false,
        target: LogTarget::Entries,
    };
    let mut entry = lines(style, false, &events);
    entry.sort_unstable();
    let expected = [
        "MESSAGE=member 02:00:00:00:00:02 is leaving",
        "PRIORITY=6",
        "RINGD_EVENT=member_left",
        "RINGD_MAC=02:00:00:00:00:02",
    ];
    assert_eq!(entry, expected);
}

#[test]
fn a_storm_of_changes_is_limited() {
    let moved = Event::MemberMoved {
        mac: TWO,
        ip: std::net::Ipv4Addr::new(10, 0, 0, 1)
            .to_ipv6_mapped()
            .octets(),
    };
    let events: Vec<_> = (0..10_000).map(|at| (at / 100, moved)).collect();
    let shown = text(false, &events);
    assert_eq!(shown.len(), 20);
    assert_eq!(shown[0], "INFO member 02:00:00:00:00:02 has IP 10.0.0.1");
}

#[test]
fn dropped_frames_are_shown_only_if_verbose_and_never_many() {
    let dropped = Event::Dropped {
        reason: DropReason::Truncated,
    };
    let events: Vec<_> = (0..3000).map(|ms| (ms, dropped)).collect();
    assert!(text(false, &events).is_empty());
    let shown = text(true, &events);
    assert_eq!(
        shown,
        [
            "DEBUG dropped a frame: shorter than its kind needs",
            "DEBUG dropped a frame: shorter than its kind needs (and 999 more like this were not shown)",
            "DEBUG dropped a frame: shorter than its kind needs (and 999 more like this were not shown)",
        ]
    );
}

/// Returns the event of a member that expects this number of members, on a node that expects three.
fn expects(last: u8, members: usize) -> Event {
    let options = |expect| MemberOptions {
        waiter_timeout: Duration::from_millis(400),
        take_timeout: Duration::from_millis(5),
        expect: Some(expect),
    };
    let mac = MacAddr([2, 0, 0, 0, 0, last]);
    let difference = Difference {
        theirs: options(members),
        ours: options(3),
    };
    Event::MemberDiffers { mac, difference }
}

#[test]
fn a_ring_of_30_that_gets_a_new_number_causes_one_warning() {
    let agrees = |last| Event::MemberAgrees {
        mac: MacAddr([2, 0, 0, 0, 0, last]),
    };
    let growth = (2..=30).map(|last| (0, expects(last, 30)));
    let end = (2..=30).map(|last| (0, agrees(last)));
    let events: Vec<_> = growth.chain(end).collect();
    let lines = text(false, &events);
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].starts_with("WARN member 02:00:00:00:00:02 expects 30 members"));
    assert!(lines[1].starts_with("INFO member 02:00:00:00:00:1e has the same constants"));
    let again: Vec<_> = events.into_iter().chain([(0, expects(2, 40))]).collect();
    assert_eq!(text(false, &again).len(), 3, "a later difference is news");
    assert_eq!(text(true, &again).len(), again.len(), "--verbose logs all");
}
