use std::collections::HashSet;

use super::{Collector, Hold, LockChoice, Outcome, Record};

fn record(time_ms: u64, event: &str, token: &str) -> Record {
    Record {
        time_ms,
        node: "eth0".to_owned(),
        event: event.to_owned(),
        label: Some("tar".to_owned()),
        token: Some(token.to_owned()),
        ..Record::default()
    }
}

fn ended(time_ms: u64, event: &str, token: &str, held_ms: u64) -> Record {
    Record {
        held_ns: Some(held_ms * 1_000_000),
        ..record(time_ms, event, token)
    }
}

fn of_member(record: Record) -> Record {
    Record {
        mac: Some("02:00:00:00:00:07".to_owned()),
        ..record
    }
}

fn collector(choice: LockChoice, since_ms: u64, limit: usize) -> Collector {
    Collector::new(choice, since_ms, limit, HashSet::new())
}

/// Collects records. They are in the order of the log: the oldest first.
fn collect(limit: usize, records: &[Record]) -> Vec<Hold> {
    collect_since(0, limit, records)
}

fn collect_since(since_ms: u64, limit: usize, records: &[Record]) -> Vec<Hold> {
    let mut collector = collector(LockChoice::All, since_ms, limit);
    for record in records.iter().rev() {
        if !collector.add(record.clone()) {
            break;
        }
    }
    collector.into_holds()
}

fn summary(holds: &[Hold]) -> Vec<(u64, Outcome)> {
    holds
        .iter()
        .map(|hold| (hold.from_ms, hold.outcome))
        .collect()
}

#[test]
fn two_lines_are_one_hold() {
    let found = collect(
        9,
        &[
            record(100, "lock_granted", "1"),
            ended(200, "lock_released", "1", 100),
            record(300, "lock_granted", "2"),
            ended(350, "lock_lost", "2", 51),
            record(400, "lock_granted", "3"),
        ],
    );
    let expected = [
        (100, Outcome::Released),
        (299, Outcome::Lost),
        (400, Outcome::Held),
    ];
    assert_eq!(summary(&found), expected);
}

#[test]
fn a_later_grant_of_the_token_shows_that_a_hold_is_over() {
    let named = |record| Record {
        name: Some("index".to_owned()),
        ..record
    };
    let other_node = Record {
        node: "eth1".to_owned(),
        ..record(90, "lock_granted", "1")
    };
    let found = collect(
        9,
        &[
            named(record(80, "lock_granted", "1")),
            other_node,
            record(100, "lock_granted", "1"),
            record(200, "lock_granted", "1"),
            record(300, "lock_granted", "1"),
            ended(400, "lock_released", "1", 100),
            named(ended(500, "lock_released", "2", 50)),
        ],
    );
    // Several programs may share a named lock.
    let expected = [
        (80, Outcome::Held),
        (90, Outcome::Held),
        (100, Outcome::Unknown),
        (200, Outcome::Unknown),
        (300, Outcome::Released),
        (450, Outcome::Released),
    ];
    assert_eq!(summary(&found), expected);
}

#[test]
fn a_hold_that_lasts_is_found_before_the_beginning_and_beyond_the_limit() {
    let other = Record {
        node: "eth1".to_owned(),
        ..record(60, "lock_granted", "8")
    };
    let records = [
        record(10, "lock_granted", "0"),
        record(20, "started", ""),
        ended(50, "lock_released", "1", 10),
        other,
        record(80, "lock_granted", "2"),
        ended(150, "lock_released", "2", 70),
        of_member(record(160, "member_holds", "3")),
        ended(400, "lock_released", "4", 50),
        ended(600, "lock_released", "5", 550),
        ended(700, "lock_released", "6", 50),
    ];
    let held = [(60, Outcome::Held), (160, Outcome::Held)];
    let spanning = (50, Outcome::Released);
    let newest = (650, Outcome::Released);
    let expected = [spanning, held[0], held[1], newest];
    assert_eq!(summary(&collect_since(500, 9, &records)), expected);
    assert_eq!(
        summary(&collect_since(0, 3, &records)),
        [held[0], held[1], newest]
    );
    assert_eq!(summary(&collect_since(0, 1, &records)), [held[1]]);
}

#[test]
fn reading_ends_at_the_start_of_each_node() {
    let nodes = ["eth0", "eth1"].map(str::to_owned);
    let mut collector = Collector::new(LockChoice::All, 500, 9, HashSet::from(nodes));
    let other = Record {
        node: "eth1".to_owned(),
        ..record(200, "started", "")
    };
    assert!(collector.add(record(600, "started", "")));
    assert!(collector.add(record(400, "lock_granted", "1")));
    assert!(!collector.add(other));
    assert_eq!(collector.into_holds().len(), 0);
}

#[test]
fn a_clock_that_was_set_back_keeps_the_end_of_a_hold() {
    let found = collect(
        9,
        &[
            record(5_000, "lock_granted", "1"),
            ended(1_000, "lock_released", "1", 100),
            of_member(ended(6_000, "member_holds", "2", 10)),
            of_member(ended(2_000, "member_held", "2", 100)),
        ],
    );
    assert_eq!(
        summary(&found),
        [(900, Outcome::Released), (1_900, Outcome::Ended)]
    );
    assert_eq!(found[1].held_ns, Some(100_000_000));
}

#[test]
fn a_hold_of_a_member_continues_after_a_gap_without_an_owner() {
    let records = [
        of_member(ended(2_000, "member_holds", "1", 1_000)),
        of_member(ended(5_000, "member_held", "1", 4_000)),
        of_member(ended(9_000, "member_holds", "1", 8_010)),
        of_member(ended(9_500, "member_held", "1", 8_500)),
    ];
    let found = collect(9, &records);
    assert_eq!(summary(&found), [(990, Outcome::Ended)]);
    assert_eq!(found[0].held_ns, Some(8_510_000_000));
    assert_eq!(summary(&collect(9, &records[..3])), [(990, Outcome::Held)]);
    let later = of_member(ended(13_000, "member_held", "1", 1_000));
    assert_eq!(
        summary(&collect(9, &[&records[..2], &[later]].concat())),
        [(1_000, Outcome::Ended), (12_000, Outcome::Ended)]
    );
}

#[test]
fn the_end_of_a_hold_during_a_restart_is_unknown() {
    let other = Record {
        node: "eth1".to_owned(),
        ..record(110, "lock_granted", "1")
    };
    let found = collect(
        9,
        &[
            record(100, "lock_granted", "1"),
            other,
            record(150, "started", ""),
        ],
    );
    assert_eq!(
        summary(&found),
        [(100, Outcome::Unknown), (110, Outcome::Held)]
    );
}

#[test]
fn a_restarted_daemon_continues_the_hold_of_another_machine() {
    let begun = |at| of_member(ended(at, "member_holds", "1", 10));
    let found = collect(
        9,
        &[
            begun(110),
            record(150, "started", ""),
            begun(210),
            of_member(ended(300, "member_held", "1", 100)),
        ],
    );
    assert_eq!(summary(&found), [(100, Outcome::Ended)]);
    assert_eq!(found[0].held_ns, Some(200_000_000));
    assert_eq!(summary(&collect(9, &[begun(110)])), [(100, Outcome::Held)]);
}

#[test]
fn the_newest_holds_of_the_chosen_lock_count() {
    let named = |at| Record {
        name: Some("backup".to_owned()),
        ..ended(at, "lock_released", "1", 1)
    };
    let records = [
        named(100),
        ended(150, "lock_released", "2", 1),
        named(200),
        named(300),
    ];
    let found = collect(2, &records);
    assert_eq!(
        found.iter().map(|it| it.from_ms).collect::<Vec<_>>(),
        [199, 299]
    );
    for (choice, expected) in [
        (LockChoice::Token, vec![149]),
        (LockChoice::Named("backup".to_owned()), vec![99, 199, 299]),
        (LockChoice::Named("token".to_owned()), vec![]),
    ] {
        let mut collector = collector(choice, 0, 9);
        assert!(
            records
                .iter()
                .rev()
                .all(|record| collector.add(record.clone()))
        );
        let found = collector.into_holds();
        assert_eq!(
            found.iter().map(|it| it.from_ms).collect::<Vec<_>>(),
            expected
        );
    }
}
