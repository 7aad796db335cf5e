//! What people are told, they are told by the log, by `watch` and by `status`: each trouble, and each event of the
//! machine that is no routine. A new one does not compile until it stands here.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Kind, RunOutcome, Token};
use ring_control::lab2::RingEvent;
use ring_control::{Health, Verdict};
use ring_host::hooks::Changes;
use ring_proto::lab2::{
    Constants, DataLimit, Difference, DropReason, Event, Grade, JobName, Reason, SilentMembers,
    Stamp, State, Terms, Trouble,
};
use ring_proto::time::{Instant, Now};
use ring_runtime::driver::Observe;

use super::health::findings;
use super::history::History;
use super::status;
use crate::system::lab2::observe::Log;

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

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn now() -> Now {
    Now {
        monotonic: Instant::from_nanos(60_000_000_000),
        wall: 1_700_000_000_000_000_000,
    }
}

/// The lines that the log prints of an event.
fn logged(event: &Event) -> String {
    let captured = Captured::default();
    let writer = captured.clone();
    let lines = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .without_time()
        .finish();
    tracing::subscriber::with_default(lines, || {
        Log::new(false, Duration::ZERO).observe(now(), event);
    });
    let bytes = captured.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

/// The name and the words that watchers get of it, and about whom it is.
fn watched(event: &Event) -> Option<(String, Option<String>, Option<String>)> {
    let mut history = History::new(now());
    let before = history.latest();
    history.observe(now(), event);
    let number = history.latest();
    let entry = history.recent().get(number).filter(|_| number > before)?;
    let message = entry.message(number);
    let head = message.head().expect("every event has one");
    let own: RingEvent = message.json().read().expect("it is a ring's");
    Some((head.event, own.reason, own.member))
}

/// The next trouble in the order of their declaration, each with something that it may say.
fn next(trouble: Option<Trouble>) -> Option<Trouble> {
    let Some(trouble) = trouble else {
        return Some(Trouble::MemberDeaf { mac: MAC });
    };
    Some(match trouble {
        Trouble::MemberDeaf { .. } => Trouble::AnswerLate {
            mac: MAC,
            after: SPAN,
        },
        Trouble::AnswerLate { .. } => Trouble::TakenLate {
            late: Some(SPAN),
            offered_to: None,
        },
        Trouble::TakenLate { .. } => Trouble::OwnerUnheard { owner: MAC },
        Trouble::OwnerUnheard { .. } => Trouble::TablesDiffer { owner: MAC },
        Trouble::TablesDiffer { .. } => Trouble::CannotSend,
        Trouble::CannotSend => Trouble::AddressShared {
            mac: MAC,
            ips: Some(([1; 16], [2; 16])),
        },
        Trouble::AddressShared { ips: Some(_), .. } => Trouble::AddressShared {
            mac: MAC,
            ips: None,
        },
        Trouble::AddressShared { ips: None, .. } => Trouble::TokenAhead {
            token: TOKEN,
            by: SPAN,
        },
        Trouble::TokenAhead { .. } => Trouble::ClockAhead { by: SPAN },
        Trouble::ClockAhead { .. } => Trouble::BroadcastsUnheard,
        Trouble::BroadcastsUnheard => Trouble::MemberUnreached { mac: MAC },
        Trouble::MemberUnreached { .. } => Trouble::Apart { mac: Some(MAC) },
        Trouble::Apart { mac: Some(_) } => Trouble::Apart { mac: None },
        Trouble::Apart { mac: None } => Trouble::NoQuorum {
            present: 1,
            ring: 4,
            expected: 3,
            silent: [MAC].into_iter().collect(),
        },
        Trouble::NoQuorum { silent, .. } if silent.count() > 0 => Trouble::NoQuorum {
            present: 1,
            ring: 3,
            expected: 3,
            silent: SilentMembers::default(),
        },
        Trouble::NoQuorum { .. } => Trouble::Unheard {
            by: [MAC].into_iter().collect(),
        },
        Trouble::Unheard { .. } => Trouble::MtuTooSmall {
            mtu: 68,
            needed: 71,
            member: Some(MAC),
        },
        Trouble::MtuTooSmall {
            member: Some(_), ..
        } => Trouble::MtuTooSmall {
            mtu: 68,
            needed: 71,
            member: None,
        },
        Trouble::MtuTooSmall { mtu: 68, .. } => Trouble::MtuTooSmall {
            mtu: 1_500,
            needed: 71,
            member: None,
        },
        Trouble::MtuTooSmall { .. } => Trouble::DataDropped {
            len: 1_000,
            limit: LIMIT,
        },
        Trouble::DataDropped { .. } => return None,
    })
}

/// The event of a trouble, the event of its end, if it lasts, and some of its words.
fn names(trouble: Trouble) -> (&'static str, Option<&'static str>, &'static str) {
    match trouble {
        Trouble::MemberDeaf { .. } => ("member_deaf", Some("member_hears"), "hears nobody"),
        Trouble::AnswerLate { .. } => ("answer_late", None, "raise --take-timeout"),
        Trouble::TakenLate { .. } => ("taken_late", None, "another may hold it"),
        Trouble::OwnerUnheard { .. } => ("owner_unheard", Some("owner_heard"), "does not hear it"),
        Trouble::TablesDiffer { .. } => (
            "tables_differ",
            Some("tables_agree"),
            "have differed for long",
        ),
        Trouble::CannotSend => ("cannot_send", Some("can_send"), "can send nothing"),
        Trouble::AddressShared { ips: Some(_), .. } => {
            ("address_shared", None, "two stations have the MAC")
        }
        Trouble::AddressShared { ips: None, .. } => ("address_shared", None, "has this node's MAC"),
        Trouble::TokenAhead { .. } => (
            "token_ahead",
            Some("token_not_ahead"),
            "2 h ahead of this machine's clock",
        ),
        Trouble::ClockAhead { .. } => ("clock_ahead", None, "is it right?"),
        Trouble::BroadcastsUnheard => (
            "broadcasts_unheard",
            Some("broadcasts_heard"),
            "only frames to this node alone reach it",
        ),
        Trouble::MemberUnreached { .. } => (
            "member_unreached",
            Some("member_reached"),
            "only frames to it alone reach it",
        ),
        Trouble::MtuTooSmall { mtu: 1_500, .. } => (
            "mtu_too_small",
            Some("mtu_large_enough"),
            "refuses a heartbeat or a PING as too long",
        ),
        Trouble::MtuTooSmall { .. } => (
            "mtu_too_small",
            Some("mtu_large_enough"),
            "has an MTU of 68, and a promise needs 71",
        ),
        Trouble::Apart { mac: Some(_) } => (
            "constants_apart",
            Some("constants_near"),
            "the times of member",
        ),
        Trouble::Apart { mac: None } => (
            "constants_apart",
            Some("constants_near"),
            "neither elects nor owns",
        ),
        Trouble::NoQuorum { silent, .. } if silent.count() > 0 => (
            "no_quorum",
            Some("quorum_possible"),
            "1 of 4 members are there, 3 are needed; silent: 02:",
        ),
        Trouble::NoQuorum { .. } => (
            "no_quorum",
            Some("quorum_possible"),
            "start the missing ones of the 3",
        ),
        Trouble::Unheard { .. } => ("unheard", Some("heard"), "not heard by 02:"),
        Trouble::DataDropped { .. } => (
            "data_dropped",
            None,
            "dropped the token's data (1,000 bytes)",
        ),
    }
}

#[test]
fn every_trouble_is_told_in_the_log_to_watchers_and_in_the_status_in_the_same_words() {
    let mut all = next(None);
    while let Some(trouble) = all {
        let (begins, ends, words) = names(trouble);
        let told = Event::Trouble {
            trouble,
            over: false,
        };
        let shown = status::trouble(trouble);
        assert!(shown.contains(words), "{shown}");
        let line = logged(&told);
        assert!(line.contains("WARN") && line.contains(&shown), "{line}");
        let (event, reason, member) = watched(&told).expect("an event");
        assert_eq!((event.as_str(), reason), (begins, Some(shown)));
        let is_about_one = format!("{trouble:?}").contains("MacAddr") && begins != "token_ahead";
        assert!(
            !is_about_one || member == Some(MAC.to_string()),
            "{member:?}"
        );
        if let Some(ends) = ends {
            let over = Event::Trouble {
                trouble,
                over: true,
            };
            let (event, reason, _) = watched(&over).expect("an event");
            assert_eq!(event, ends);
            let (line, reason) = (logged(&over), reason.expect("words"));
            assert!(line.contains("INFO") && line.contains(&reason), "{line}");
        }
        all = next(Some(trouble));
    }
}

/// Who is told of an event, and in what words.
enum Told {
    /// Nobody, unless they ask for routine or debugging.
    Nobody,
    /// Who reads the log. `status` counts it, or the client that has asked is told.
    Log(&'static str),
    /// Who watches as well, by this name.
    All(&'static str, &'static str),
    /// The same; the words are in the tests of what prints them.
    News(&'static str),
}

fn told(event: &Event) -> Told {
    match event {
        // Troubles are in the other test.
        Event::Trouble { .. }
        | Event::Received { .. }
        | Event::Transmitted { .. }
        | Event::TransmitFailed { .. }
        | Event::Dropped { .. }
        | Event::HandedOver { .. } => Told::Nobody,
        Event::StateChanged { .. } => Told::News("state_changed"),
        Event::OwnerChanged { .. } => Told::News("owner_changed"),
        Event::GradeChanged { .. } => Told::News("grade_changed"),
        Event::HandOverFailed { .. } => Told::All("hand_over_failed", "did not take the token"),
        Event::ProgressExhausted => Told::Log("it cannot be handed over"),
        Event::DataRefused { .. } => Told::Log("bytes of data refused"),
        Event::StorageChanged { failed: true } => {
            Told::All("state_not_stored", "owns nothing until")
        }
        Event::StorageChanged { failed: false } => Told::All("state_stored", "may own the token"),
        Event::HearingChanged { deaf: true, .. } => Told::All("deaf", "hears"),
        Event::HearingChanged { deaf: false, .. } => Told::All("hears", "hears others"),
        Event::FitnessChanged { unfit: true } => Told::All("unfit", "no member takes the token"),
        Event::FitnessChanged { unfit: false } => Told::All("fit", "may own the token again"),
        Event::TooLong { .. } => Told::All("too_long", "a PING was not sent: it is longer than"),
        Event::RunStamped { .. } => Told::Log("about to run"),
        Event::MemberAdded { .. } => Told::All("member_added", "added"),
        Event::MemberMoved { .. } => Told::All("member_moved", "has ip"),
        Event::MemberLeft { .. } => Told::All("member_left", "is leaving"),
        Event::MemberDiffers { .. } => Told::All("member_differs", "waits 4s for a silent owner"),
        Event::MemberAgrees { .. } => Told::All("member_agrees", "has the constants of this node"),
        Event::MemberSilent { .. } => Told::All("member_silent", "is silent"),
        Event::MemberAlive { .. } => Told::All("member_alive", "is heard again"),
        Event::MemberForgotten { .. } => Told::All("member_forgotten", "is forgotten"),
        Event::TableFull { .. } => Told::Log("is not remembered"),
    }
}

/// One of each kind.
fn events() -> Vec<Event> {
    let terms = |seconds| Terms {
        patience: Duration::from_secs(seconds),
        take_timeout: SPAN,
        expect: None,
    };
    let difference = Difference {
        theirs: terms(4),
        ours: terms(1),
    };
    let (mac, kind, members, others) = (MAC, Kind::Ping, 4, 0);
    let reason = DropReason::Truncated;
    let stamp = Stamp {
        name: JobName::new("nightly").expect("a name"),
        progress: 1,
        run: 1,
        runner: MAC,
        outcome: RunOutcome::Begun,
        period: SPAN,
    };
    let (len, may_use, limit) = (1_000, true, LIMIT);
    vec![
        Event::Received { kind },
        Event::Transmitted { kind },
        Event::TransmitFailed { kind },
        Event::Dropped { reason },
        Event::HandedOver {
            to: MAC,
            latency: SPAN,
        },
        Event::StateChanged {
            from: State::Looser,
            to: State::Waiter,
            reason: Reason::TokenHeard,
            token: Some(TOKEN),
        },
        Event::OwnerChanged {
            owner: Some(MAC),
            token: Some(TOKEN),
        },
        Event::GradeChanged {
            grade: Grade::Quorum,
            token: TOKEN,
        },
        Event::HandOverFailed {
            to: MAC,
            in_a_row: 1,
            minted: Some(TOKEN),
        },
        Event::ProgressExhausted,
        Event::DataRefused {
            len,
            may_use,
            limit,
        },
        Event::StorageChanged { failed: true },
        Event::StorageChanged { failed: false },
        Event::HearingChanged {
            deaf: true,
            heard_before: true,
        },
        Event::HearingChanged {
            deaf: true,
            heard_before: false,
        },
        Event::HearingChanged {
            deaf: false,
            heard_before: true,
        },
        Event::FitnessChanged { unfit: true },
        Event::FitnessChanged { unfit: false },
        Event::TooLong { kind, mtu: 1_500 },
        Event::RunStamped { stamp },
        Event::MemberAdded { mac, members },
        Event::MemberMoved { mac, ip: [1; 16] },
        Event::MemberLeft { mac },
        Event::MemberDiffers { mac, difference },
        Event::MemberAgrees { mac },
        Event::MemberSilent {
            mac,
            quiet: SPAN,
            others,
        },
        Event::MemberAlive { mac, others },
        Event::MemberForgotten { mac, members },
        Event::TableFull { author: MAC },
    ]
}

#[test]
fn what_is_no_routine_is_told_in_the_log_and_to_watchers() {
    for event in events() {
        let (line, watched) = (logged(&event), watched(&event));
        let name = watched.map(|(name, ..)| name);
        match told(&event) {
            Told::Nobody => assert_eq!((line.as_str(), name), ("", None), "{event:?}"),
            Told::Log(words) => {
                assert!(line.contains(words), "{event:?}: {line}");
                assert_eq!(name, None, "{event:?}");
            }
            Told::All(expected, words) => {
                assert!(line.contains(words), "{event:?}: {line}");
                assert_eq!(name.as_deref(), Some(expected));
            }
            Told::News(expected) => {
                assert!(!line.is_empty(), "{event:?}");
                assert_eq!(name.as_deref(), Some(expected));
            }
        }
    }
}

#[test]
fn a_monitor_sees_every_trouble_and_slight_lateness_is_none() {
    let constants = Constants::default();
    let all = std::iter::successors(next(None), |&trouble| next(Some(trouble)));
    for trouble in all {
        let found = findings([trouble].into_iter(), &constants);
        let verdict = Verdict::of(found.collect());
        assert!(verdict.health > Health::Healthy, "{trouble:?}");
        assert_eq!(verdict.troubles, [status::trouble(trouble)]);
    }
    let late = |after| Trouble::AnswerLate { mac: MAC, after };
    let quarter = constants.waiter_timeout() / 4;
    let below = quarter.saturating_sub(Duration::from_nanos(1));
    let found = findings([late(below), late(quarter)].into_iter(), &constants);
    assert_eq!(found.count(), 1);
}
