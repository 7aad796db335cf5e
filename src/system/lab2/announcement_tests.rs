//! Compares the announcements of each event with `announcements.txt`: counters, log lines, messages for watchers and
//! variables for hooks. For each new event, add an example to this file. If RINGD_WRITE_ANNOUNCEMENTS=1 is set, the
//! test writes `announcements.txt`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, RunOutcome, Token};
use ring_control::{Health, Verdict};
use ring_host::hooks::{Change as _, Changes};
use ring_host::observe::{LogTarget, Style};
use ring_proto::lab2::{
    Constants, DataLimit, Diagnostic, Difference, DropReason, Event, Grade, HostName, JobName,
    MemberOptions, PauseReason, Reason, SilentMembers, Stamp, State,
};
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::Observe;
use serde_json::Value;

use super::health::findings;
use super::history::History;
use super::hook_change::Change;
use crate::system::lab2::observe::{Log, Tally, captured, describe_trouble};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 7]);
const TOKEN: Token = Token {
    progress: 17,
    author: MAC,
    number: 3,
};
const LIMIT: DataLimit = DataLimit {
    len: 485,
    mtu: 576,
    member: Some(MAC),
};
const SPAN: Duration = Duration::from_secs(7_200);
const FAILURE_TIMEOUT: Duration = Duration::from_millis(400);

/// Returns all troubles, including all variants of each trouble.
fn troubles() -> Vec<Diagnostic> {
    let (mac, owner, after) = (MAC, MAC, SPAN);
    let one: SilentMembers = [MAC].into_iter().collect();
    let ips = Some(([1; 16], [2; 16]));
    let late = |late, offered_to| Diagnostic::TakenLate { late, offered_to };
    let no_quorum = |ring, silent| Diagnostic::NoQuorum {
        present: 1,
        ring,
        expected: 3,
        silent,
    };
    let small = |mtu, member| Diagnostic::MtuTooSmall {
        mtu,
        needed: 71,
        member,
    };
    let dropped = |member| Diagnostic::DataDropped {
        len: 1_000,
        limit: DataLimit { member, ..LIMIT },
    };
    vec![
        Diagnostic::MemberDeaf { mac },
        Diagnostic::AnswerLate { mac, after },
        late(Some(SPAN), None),
        late(None, Some(MAC)),
        Diagnostic::OwnerUnheard { owner },
        Diagnostic::TablesDiffer { owner },
        Diagnostic::CannotSend,
        Diagnostic::AddressShared { mac, ips },
        Diagnostic::AddressShared { mac, ips: None },
        Diagnostic::TokenAhead {
            token: TOKEN,
            by: SPAN,
        },
        Diagnostic::ClockAhead { by: SPAN },
        Diagnostic::BroadcastsUnheard,
        Diagnostic::MemberUnreached { mac },
        Diagnostic::Apart { mac: Some(MAC) },
        Diagnostic::Apart { mac: None },
        no_quorum(4, one),
        no_quorum(3, SilentMembers::default()),
        Diagnostic::NotHeardBy { by: one },
        Diagnostic::PreferredRefuses { mac, in_a_row: 3 },
        small(68, Some(MAC)),
        small(68, None),
        small(1_500, None),
        dropped(Some(MAC)),
        dropped(None),
    ]
}

/// Returns the events of a rotating token, in an order in which each routine event repeats an earlier event.
fn rotation_events() -> Vec<Event> {
    let kind = Kind::Ping;
    let owned = |progress, number| Event::OwnerChanged {
        owner: Some(MAC),
        token: Some(Token {
            progress,
            number,
            ..TOKEN
        }),
    };
    let graded = |grade| Event::GradeChanged {
        grade,
        token: TOKEN,
    };
    let changed = |from, to, reason| Event::StateChanged {
        from,
        to,
        reason,
        token: None,
    };
    let failed = |in_a_row, minted| Event::HandoverFailed {
        to: MAC,
        in_a_row,
        minted,
    };
    vec![
        Event::Received { kind },
        Event::Transmitted { kind },
        Event::TransmitFailed { kind },
        Event::Dropped {
            reason: DropReason::Truncated,
        },
        changed(State::Looser, State::Waiter, Reason::TokenHeard),
        Event::MemberNamed {
            mac: MAC,
            name: HostName::new("db1").expect("a legal host name"),
        },
        Event::MemberAdded {
            mac: MAC,
            members: 4,
        },
        Event::MemberForgotten {
            mac: MAC,
            members: 1,
        },
        owned(17, 3),
        owned(18, 3),
        owned(1_700_000_000_000_000_000, 4),
        changed(State::Waiter, State::Owner, Reason::TokenTaken),
        changed(State::Generating, State::Owner, Reason::Elected),
        owned(17, 3),
        graded(Grade::Quorum),
        graded(Grade::Quorum),
        graded(Grade::AllHeard),
        failed(1, None),
        failed(2, None),
        failed(1, Some(TOKEN)),
        changed(State::Owner, State::Waiter, Reason::StrongerToken),
        Event::OwnerChanged {
            owner: None,
            token: None,
        },
        Event::HandedOver {
            to: MAC,
            latency: SPAN,
        },
        Event::ProgressExhausted,
    ]
}

fn others() -> Vec<Event> {
    let terms = |seconds| MemberOptions {
        waiter_timeout: Duration::from_secs(seconds),
        take_timeout: SPAN,
        expect: None,
    };
    let difference = Difference {
        theirs: terms(4),
        ours: terms(1),
    };
    let (mac, kind, author) = (MAC, Kind::Ping, MAC);
    let stamp = Stamp {
        name: JobName::new("nightly").expect("a name"),
        progress: 1,
        run: 1,
        runner: MAC,
        outcome: RunOutcome::Begun,
        period: SPAN,
    };
    let refused = |may_use, len, member| Event::DataRefused {
        len: 1_000,
        may_use,
        limit: DataLimit {
            len,
            mtu: 576,
            member,
        },
    };
    let hearing = |deaf, heard_before| Event::HearingChanged { deaf, heard_before };
    let silent = |others| Event::MemberSilent {
        mac,
        quiet: SPAN,
        others,
    };
    let late = |ms| Event::DiagnosticChanged {
        trouble: Diagnostic::AnswerLate {
            mac,
            after: Duration::from_millis(ms),
        },
        over: false,
    };
    vec![
        refused(false, 485, None),
        refused(true, 1_024, None),
        refused(true, 485, None),
        refused(true, 485, Some(MAC)),
        Event::StorageChanged { failed: true },
        Event::StorageChanged { failed: false },
        hearing(true, true),
        hearing(true, false),
        hearing(false, true),
        Event::FitnessChanged { unfit: true },
        Event::FitnessChanged { unfit: false },
        Event::TooLong { kind, mtu: 1_500 },
        Event::RunStamped { stamp },
        Event::MemberMoved { mac, ip: [1; 16] },
        Event::MemberMoved { mac, ip: [0; 16] },
        Event::MemberPaused {
            mac,
            left: Some(SPAN),
            reason: PauseReason::new("new disk").expect("a legal reason"),
        },
        Event::MemberPaused {
            mac,
            left: None,
            reason: PauseReason::NONE,
        },
        Event::MemberResumed { mac },
        Event::MemberLeft { mac },
        Event::MemberDiffers { mac, difference },
        Event::MemberAgrees { mac },
        silent(0),
        silent(1),
        Event::MemberAlive { mac, others: 7 },
        Event::TableFull { author },
        late(99),
        late(100),
    ]
}

fn counts(tally: &Tally) -> BTreeSet<String> {
    let json = serde_json::to_value(tally.counters(0)).expect("it is JSON");
    let groups = json.as_object().into_iter().flatten();
    let counts = groups.flat_map(|(name, value)| match value {
        Value::Object(group) => group
            .iter()
            .map(|(key, count)| (format!("{name}.{key}"), count))
            .collect(),
        count => vec![(name.clone(), count)],
    });
    let some = counts.filter(|(_, count)| count.as_u64() != Some(0));
    some.map(|(name, count)| format!("{name}={count}"))
        .collect()
}

#[test]
fn each_event_is_announced_as_in_the_file() {
    let now = Now {
        monotonic: Instant::from_nanos(60_000_000_000),
        wall: 1_700_000_000_000_000_000,
    };
    let style = Style {
        json: true,
        target: LogTarget::Stream,
    };
    let mut log = Log::new(true, FAILURE_TIMEOUT);
    let (mut history, mut tally) = (History::new(now), Tally::new());
    let mut actual = String::new();
    let troubles = troubles().into_iter();
    let troubles = troubles
        .flat_map(|trouble| [false, true].map(|over| Event::DiagnosticChanged { trouble, over }));
    for event in rotation_events()
        .into_iter()
        .chain(others())
        .chain(troubles)
    {
        writeln!(actual, "{event:?}").expect("a string takes all");
        if let Event::DiagnosticChanged {
            trouble,
            over: false,
        } = event
        {
            let kind = describe_trouble(trouble, false).trouble;
            let health = kind.expect("it is no end").health.name();
            writeln!(actual, "  health  {health}").expect("a string takes all");
        }
        let counted = counts(&tally);
        tally.observe(now, &event);
        let counted: Vec<_> = counts(&tally).difference(&counted).cloned().collect();
        if !counted.is_empty() {
            writeln!(actual, "  counts  {}", counted.join(" ")).expect("a string takes all");
        }
        for line in captured(style, true, || log.observe(now, &event)) {
            let (_, line) = line.split_once(',').expect("it begins with the time");
            writeln!(actual, "  log     {line}").expect("a string takes all");
        }
        let before = history.latest();
        history.observe(now, &event);
        for number in before + 1..=history.latest() {
            let entry = history.recent().get(number).expect("it is there");
            let message = entry.message(0);
            writeln!(actual, "  watch   {}", message.json().text()).expect("a string takes all");
            if let Some(change) = history.change(number) {
                // Each event has a new log and history, so that a new event does not change the lines of later events.
                let change = Change {
                    number: 0,
                    ..change
                };
                let set: Vec<_> = change
                    .variables()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                writeln!(actual, "  hooks   {}", set.join(" ")).expect("a string takes all");
            }
        }
    }
    if std::env::var_os("RINGD_WRITE_ANNOUNCEMENTS").is_some() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/system/lab2/announcements.txt"
        );
        std::fs::write(file, &actual).expect("the file is written");
        return;
    }
    let expected = include_str!("announcements.txt");
    for (actual, expected) in actual.lines().zip(expected.lines()) {
        assert_eq!(actual, expected);
    }
    assert_eq!(actual.len(), expected.len());
}

#[test]
fn every_trouble_is_a_finding_except_slight_lateness() {
    let constants = Constants::default();
    for trouble in troubles() {
        let found = findings([trouble].into_iter(), &constants);
        let verdict = Verdict::from_findings(found.collect());
        assert!(verdict.health > Health::Healthy, "{trouble:?}");
        assert_eq!(verdict.troubles, [describe_trouble(trouble, false).text]);
    }
    let late = |after| Diagnostic::AnswerLate { mac: MAC, after };
    let quarter = constants.waiter_timeout() / 4;
    let below = quarter.saturating_sub(Duration::from_nanos(1));
    let found = findings([late(below), late(quarter)].into_iter(), &constants);
    assert_eq!(found.count(), 1);
}
