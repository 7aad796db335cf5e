use ring_control::TrustStatus;
use ring_control::lab2::{
    ClientStatus, ConstantsStatus, Counters, Grade, HolderStatus, LockTotals, MemberStatus,
    PauseStatus, PendingReason, QuorumStatus, Status, TokenStatus,
};
use ring_control::{
    ConfigStatus, EventHead, EventMessage, Health, NodeStatus, OptionSource, OptionStatus,
};

use super::super::view::View;
use super::page::write_status;
use super::{RingView, event_text};

fn member(last: u8) -> MemberStatus {
    MemberStatus {
        mac: format!("02:00:00:00:00:{last:02x}"),
        name: (last == 2).then(|| "lab2".to_owned()),
        ip: (last == 2).then(|| "10.0.0.2".to_owned()),
        state: if last == 3 { "silent" } else { "alive" }.to_owned(),
        penalty: u32::from(last) - 1,
        paused: false,
        pause: None,
        preference: 0,
        last_seen_ns: (last != 3).then_some(1_250_000),
        differs: (last == 3).then(|| "expects 5 members, this node 3".to_owned()),
        version: Some(if last == 3 { "0.2.0" } else { "0.1.0" }.to_owned()),
        key: None,
    }
}

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
        pause: None,
        owner: Some("02:00:00:00:00:02".to_owned()),
        owner_name: None,
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
        missing_limits: Vec::new(),
        trust: TrustStatus {
            keys: Vec::new(),
            accepts_unsigned: true,
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
        config: ConfigStatus {
            file: Some("/etc/ringd/ringd.toml".to_owned()),
            options: [
                option("heartbeat", OptionSource::Default, None),
                option("idle-hold", OptionSource::CommandLine, None),
                option("ring-size", OptionSource::File, Some(7)),
            ]
            .into(),
        },
        counters,
    }
}

fn option(name: &str, source: OptionSource, line: Option<usize>) -> (String, OptionStatus) {
    let value = Some("3\u{7}".to_owned());
    let option = OptionStatus {
        value,
        source,
        line,
    };
    (name.to_owned(), option)
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
fn the_holder_on_another_machine_is_shown() {
    let mut shown = example();
    assert!(
        !text(&shown).contains("Held by"),
        "no program holds the token"
    );
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
fn a_line_names_the_limits_that_the_kernel_does_not_support() {
    let mut shown = example();
    assert!(!text(&shown).contains("Sandbox"));
    shown.missing_limits = vec!["access to files".to_owned(), "system calls".to_owned()];
    let line = "\nSandbox      does not limit access to files, system calls\n";
    assert!(text(&shown).contains(line), "{}", text(&shown));
}

#[test]
fn the_keys_of_the_node_and_of_the_members_are_shown() {
    let mut shown = example();
    let page = text(&shown);
    assert!(
        !page.contains("Keys") && !page.contains("unsigned"),
        "{page}"
    );
    shown.trust = TrustStatus {
        keys: vec![20_261_130, 7],
        accepts_unsigned: false,
    };
    shown.members[1].key = Some(7);
    let page = text(&shown);
    let line = "\nKeys         signs with 20261130, drops unsigned frames, also verifies with 7\n";
    assert!(page.contains(line), "{page}");
    let remark = |mac: &str| {
        let mut lines = page.lines();
        let row = lines.find(|line| line.trim_start().starts_with(mac));
        row.unwrap_or_default().to_owned()
    };
    assert!(remark("02:00:00:00:00:01").ends_with("this node"), "{page}");
    assert!(
        remark("02:00:00:00:00:02").ends_with("owner, key 7"),
        "{page}"
    );
    assert!(remark("02:00:00:00:00:03").ends_with("unsigned"), "{page}");
    shown.trust.accepts_unsigned = true;
    shown.trust.keys.truncate(1);
    let page = text(&shown);
    assert!(
        page.contains("signs with 20261130, accepts unsigned frames\n"),
        "{page}"
    );
}

#[test]
fn control_characters_of_a_label_are_escaped() {
    let mut shown = example();
    shown.clients = vec![client("it's\u{1b}[2J\n", true)];
    let text = text(&shown);
    assert!(text.contains(r"it's\u{1b}[2J\n"), "{text}");
}

fn text(shown: &Status) -> String {
    let mut out = Vec::new();
    write_status(shown, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_end_and_the_reason_of_a_pause_are_shown_for_this_node_and_for_members() {
    let mut paused = example();
    assert!(!text(&paused).contains("Pause"));
    let pause = |left_ns, reason: Option<&str>| {
        Some(PauseStatus {
            left_ns,
            reason: reason.map(str::to_owned),
        })
    };
    let two_hours = Some(7_200_000_000_000);
    paused.pause = pause(two_hours, Some("new\u{1b}disk"));
    paused.members[1].pause = pause(None, Some("cable"));
    paused.members[2].pause = pause(two_hours, None);
    let shown = text(&paused);
    for expected in [
        "Pause        ends in 2h: new\\u{1b}disk\n",
        "owner, cable\n",
        "ringd 0.2.0, ends in 2h\n",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    paused.pause = pause(None, None);
    assert!(!text(&paused).contains("Pause"));
}

#[test]
fn a_pause_is_shown_with_its_obstacle() {
    let mut paused = example();
    paused.paused = true;
    assert!(text(&paused).contains("WAITER, paused: does not own the token\n"));
    paused.state = "OWNER".to_owned();
    paused.pausing = Some(PendingReason::Token);
    let text = text(&paused);
    assert!(
        text.contains("pausing: no other member has taken the token"),
        "{text}"
    );
}

#[test]
fn the_page_shows_everything_but_counters_of_0() {
    let page = text(&example());
    let lines: Vec<_> = page.lines().map(str::trim_end).collect();
    let expected = "\
Daemon       ringd 0.1.0, started 1970-01-01T00:00:01Z, 3m 5s ago
Interface    eth0, MAC 02:00:00:00:00:01
Health       degraded
State        WAITER
Quorum       2 of 3 members needed, 2 present (--ring-size 3)
Token        17-02:00:00:00:00:01-3
Owner        02:00:00:00:00:02 (lab2)
Token heard  12.3ms ago
Ring hash    00000000deadbeef

Members (3)
  MAC                IP        NAME  STATE   PENALTY  LAST SEEN
  02:00:00:00:00:01  -         -     alive   -        now         this node
  02:00:00:00:00:02  10.0.0.2  lab2  alive   1 turn   1.25ms ago  owner
  02:00:00:00:00:03  -         -     silent  2 turns  never       ringd 0.2.0
  Warning: this node does not hear the owner

Clients (2)
  holds for 12.3ms, process 4711 backup
  waits for 12.3ms, process 4711 report, requires quorum

Locks
  granted 12, lost 2 (yield 2), refused 0

Constants
  heartbeat 100ms, waiter timeout 400ms, looser timeout 200ms, answer timeout 100ms
  take timeout 5ms, take attempts 3, idle hold 10ms, EtherType 0x88b5, max members 4096, expect 3

Options (those that are not the default)
  idle-hold 3\\u{7} (command line)
  ring-size 3\\u{7} (/etc/ringd/ringd.toml, line 7)

Counters (those that are not 0)
  handovers 12, failed 0
  handover latency: min 0, p50 37.4us, p90 0, p99 0, max 0
  received      PING                               7";
    assert_eq!(lines.join("\n"), expected);
}

#[test]
fn missing_values_are_left_out_or_named() {
    let mut shown = example();
    (shown.token, shown.owner, shown.heard_about_token_ns) = (None, None, None);
    (shown.constants.expect, shown.constants.idle_hold_ns) = (None, None);
    shown.link = "has no carrier".to_owned();
    shown.members.clear();
    shown.clients.clear();
    shown.troubles.clear();
    let text = text(&shown);
    for words in [
        "none known",
        "unknown",
        "never",
        "(eth0 has no carrier)",
        "idle hold forever",
        "expect -\n",
        "2 of 3 members needed, 2 present (no --ring-size: counted)\n",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    assert!(!text.contains("Clients") && !text.contains("Warning: this"));
}

#[test]
fn names_of_others_are_escaped_in_events_and_summaries() {
    let mut status = example();
    for member in &mut status.members {
        member.name = Some("a\u{1b}[2J".to_owned());
    }
    status.owner = Some("02:00:00:00:00:02".to_owned());
    let view = RingView::new(&NodeStatus::from(&status)).expect("a status");
    let head = EventHead {
        number: 1,
        time_ms: 0,
        event: "member_silent".to_owned(),
        text: None,
    };
    let keys = serde_json::json!({
        "state": "WAITER", "token": null, "owner": "02:00:00:00:00:02", "grade": "alone",
    });
    let event = EventMessage::new(&head, &keys);
    let shown = [
        event_text(&event, |mac| view.name_of(mac)).expect("a ring's event"),
        view.summary(),
    ];
    for text in shown {
        assert!(text.contains(r"(a\u{1b}[2J)"), "{text}");
    }
}
