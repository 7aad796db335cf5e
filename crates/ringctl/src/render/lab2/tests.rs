use ring_control::Health;
use ring_control::lab2::{
    ClientStatus, ConstantsStatus, Counters, Grade, HolderStatus, LockTotals, MemberStatus,
    PendingReason, QuorumStatus, Status, TokenStatus,
};

use super::page::status;

fn member(last: u8) -> MemberStatus {
    MemberStatus {
        mac: format!("02:00:00:00:00:{last:02x}"),
        name: (last == 2).then(|| "lab2".to_owned()),
        ip: (last == 2).then(|| "10.0.0.2".to_owned()),
        state: if last == 3 { "silent" } else { "alive" }.to_owned(),
        penalty: u32::from(last) - 1,
        paused: false,
        last_seen_ns: (last != 3).then_some(1_250_000),
        differs: (last == 3).then(|| "expects 5 members, this node 3".to_owned()),
        version: Some(if last == 3 { "0.2.0" } else { "0.1.0" }.to_owned()),
    }
}

/// A member of a ring of three, and all that is shown of it.
pub(crate) fn example() -> Status {
    let mut counters = Counters {
        hand_overs: 12,
        ..Counters::default()
    };
    counters.received.insert("PING".to_owned(), 7);
    counters.received.insert("LEAVING".to_owned(), 0);
    counters.hand_over_latency.p50_ns = 37_400;
    Status {
        ringd: "0.1.0".to_owned(),
        started_ms: 1_000,
        up_ns: 185_400_000_000,
        interface: "eth0".to_owned(),
        mac: "02:00:00:00:00:01".to_owned(),
        link: "up".to_owned(),
        state: "WAITER".to_owned(),
        token: Some(TokenStatus {
            progress: 17,
            author: "02:00:00:00:00:01".to_owned(),
            number: 3,
            fencing: "17-02:00:00:00:00:01-3".to_owned(),
        }),
        grade: "alone".to_owned(),
        paused: false,
        deaf: false,
        unfit: false,
        apart: false,
        health: Health::Degraded,
        quorum: QuorumStatus {
            present: 2,
            needed: 2,
            ring: 3,
        },
        troubles: vec!["this node does not hear the owner".to_owned()],
        stored: true,
        pausing: None,
        owner: Some("02:00:00:00:00:02".to_owned()),
        holder: None,
        heard_about_token_ns: Some(12_345_678),
        members: (1..=3).map(member).collect(),
        ring_hash: "00000000deadbeef".to_owned(),
        runs: Vec::new(),
        clients: vec![client("backup", true), client("report", false)],
        locks: LockTotals {
            granted: 12,
            lost: [("lease".to_owned(), 0), ("yield".to_owned(), 2)].into(),
            refused: [("timeout".to_owned(), 0)].into(),
        },
        constants: ConstantsStatus {
            heartbeat_ns: 100_000_000,
            waiter_timeout_ns: 400_000_000,
            looser_timeout_ns: 200_000_000,
            looser_answer_timeout_ns: 100_000_000,
            take_timeout_ns: 5_000_000,
            take_attempts: 3,
            idle_hold_ns: Some(10_000_000),
            ethertype: "0x88b5".to_owned(),
            max_members: 4096,
            expect: Some(3),
            forget_after_ns: None,
        },
        counters,
    }
}

fn client(label: &str, holds: bool) -> ClientStatus {
    ClientStatus {
        label: label.to_owned(),
        pid: Some(4711),
        holds,
        since_ns: 12_345_678,
        require: (!holds).then_some(Grade::Quorum),
    }
}

#[test]
fn what_the_promises_miss_is_a_warning() {
    let warning = "Warning: this node does not hear the owner\n";
    assert_eq!(text(&example()).matches(warning).count(), 1);
    let mut healthy = example();
    healthy.troubles.clear();
    assert!(!text(&healthy).contains("Warning: this"));
}

#[test]
fn who_holds_the_token_here_and_who_waits_for_it_is_listed_in_order() {
    let text = text(&example());
    let [holds, waits] = ["holds for 12.3ms", "waits for 12.3ms"]
        .map(|what| text.lines().position(|line| line.contains(what)));
    assert!(holds.is_some() && holds < waits, "{text}");
    assert!(text.contains("4711") && text.contains("backup") && text.contains("report"));
    assert!(text.contains(", requires quorum"), "{text}");
    let mut nobody = example();
    nobody.clients.clear();
    assert!(!self::text(&nobody).contains("Clients"));
}

#[test]
fn the_program_that_holds_the_token_on_another_machine_is_shown() {
    let mut shown = example();
    assert!(!text(&shown).contains("Held by"), "nobody holds it");
    shown.holder = Some(HolderStatus {
        program: "nightly\n".to_owned(),
        since_ns: 60_000_000_000,
    });
    let text = text(&shown);
    assert!(
        text.contains("\nHeld by      nightly\\n for 1m\n"),
        "{text}"
    );
}

#[test]
fn a_member_of_another_version_is_visible() {
    let text = text(&example());
    let of = |mac: &str| {
        text.lines()
            .find(|line| line.contains(mac) && line.contains("ago"))
    };
    assert_eq!(text.matches("ringd 0.2.0").count(), 1, "{text}");
    assert!(
        of("00:02").is_some_and(|line| !line.contains("ringd")),
        "{text}"
    );
}

#[test]
fn what_a_client_calls_itself_is_shown_and_not_obeyed() {
    let mut shown = example();
    shown.clients = vec![client("it's\u{1b}[2J\n", true)];
    let text = text(&shown);
    assert!(text.contains(r"it's\u{1b}[2J\n"), "{text}");
}

fn text(shown: &Status) -> String {
    let mut out = Vec::new();
    status(shown, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_head_says_state_token_and_owner() {
    let text = text(&example());
    for line in [
        "Interface    eth0, MAC 02:00:00:00:00:01\n",
        "State        WAITER\n",
        "Daemon       ringd 0.1.0, started 1970-01-01T00:00:01Z, 3m 5s ago\n",
        "Token        17-02:00:00:00:00:01-3\n",
        "Owner        02:00:00:00:00:02 (lab2)\n",
        "Token heard  12.3ms ago\n",
        "Ring hash    00000000deadbeef\n",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn it_is_told_what_has_become_of_locks_and_how_many_members_are_expected() {
    let text = text(&example());
    assert!(
        text.contains("\nLocks\n  granted 12, lost 2 (yield 2), refused 0\n"),
        "{text}"
    );
    assert!(
        text.contains("idle hold 10ms") && text.contains("expect 3\n"),
        "{text}"
    );
    let mut other = example();
    (other.constants.expect, other.constants.idle_hold_ns) = (None, None);
    let text = self::text(&other);
    assert!(
        text.contains("idle hold forever") && text.contains("expect -\n"),
        "{text}"
    );
}

#[test]
fn a_pause_is_shown_and_what_it_waits_for() {
    let mut paused = example();
    paused.paused = true;
    assert!(text(&paused).contains("WAITER, paused: owns nothing\n"));
    paused.state = "OWNER".to_owned();
    paused.pausing = Some(PendingReason::Token);
    let text = text(&paused);
    assert!(
        text.contains("pausing: no other member has taken the token"),
        "{text}"
    );
}

#[test]
fn a_status_without_anything_is_shown_too() {
    let mut shown = example();
    (shown.token, shown.owner, shown.heard_about_token_ns) = (None, None, None);
    shown.link = "has no carrier".to_owned();
    shown.members.clear();
    let text = text(&shown);
    for words in ["none known", "unknown", "never", "(eth0 has no carrier)"] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
}

#[test]
fn members_stand_one_a_line_with_remarks() {
    let text = text(&example());
    let line = |mac: &str| {
        let start = format!("  {mac}");
        let line = text.lines().find(|line| line.starts_with(&start)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        line("02:00:00:00:00:01"),
        "02:00:00:00:00:01 - - alive - now this node"
    );
    assert_eq!(
        line("02:00:00:00:00:02"),
        "02:00:00:00:00:02 10.0.0.2 lab2 alive 1 turn 1.25ms ago owner"
    );
    assert_eq!(
        line("02:00:00:00:00:03"),
        "02:00:00:00:00:03 - - silent 2 turns never ringd 0.2.0"
    );
}

#[test]
fn only_counters_that_count_are_shown() {
    let text = text(&example());
    assert!(text.contains("hand-overs 12, failed 0"));
    assert!(text.contains("p50 37.4us"));
    assert!(text.contains("PING"));
    for absent in ["LEAVING", "dropped", "wake-ups"] {
        assert!(!text.contains(absent), "{absent} in\n{text}");
    }
}
