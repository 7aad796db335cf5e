//! Tests of the exchange of stamps (`docs/reference/lab2/once.md J2` to J6).

use super::grade::heartbeat_with_beat;
use super::once_rig::{
    HOUR, ID, agree, name, nightly, outcome, owner_running, progress, question, stamp,
    stamps_frame, waiter, wire_stamp,
};
use super::rig::{HEARTBEAT, ME, Rig, here, mac, ms, token};
use crate::LinkState;
use crate::lab2::{Command, OnceProgress, OnceRequest, RunEnd, STAMPS_MAX, Stamp};
use ring_codec::lab2::{Purpose, RunOutcome};
use std::time::Duration;

#[test]
fn tables_become_equal_in_whatever_order_they_are_merged() {
    let all: Vec<_> = (0..4)
        .flat_map(|n| {
            let outcomes = [RunOutcome::Begun, RunOutcome::Done];
            outcomes.map(|outcome| {
                let run = Stamp {
                    run: n / 2,
                    progress: 10 + u64::from(n % 2),
                    ..stamp(if n == 3 { "b" } else { "a" }, outcome)
                };
                wire_stamp(&run, Some(ms(5)))
            })
        })
        .collect();
    let digest_of = |order: &[usize]| {
        let mut rig = waiter();
        for &at in order {
            rig.hear_all(
                3,
                stamps_frame((token(10), 1, 0), Purpose::Tell, &all[at..=at]),
            );
        }
        rig.hear_all(3, stamps_frame((token(10), 2, 0), Purpose::Ask, &[]));
        question(&rig).2
    };
    let expected = digest_of(&[0, 1, 2, 3, 4, 5, 6, 7]);
    for order in [
        [7, 6, 5, 4, 3, 2, 1, 0],
        [2, 7, 0, 5, 1, 6, 4, 3],
        [5, 3, 1, 7, 6, 4, 2, 0],
    ] {
        assert_eq!(digest_of(&order), expected, "{order:?}");
    }
}

#[test]
fn an_owner_announces_its_stamps_from_time_to_time() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    let telling = |sent: &[String]| sent.iter().filter(|line| line.contains("STAMPS")).count();
    assert_eq!(telling(&rig.pass_time(100 * HEARTBEAT)), 0);
    let mut rig = owner_running(nightly());
    rig.command(Command::EndOnce(ID, RunEnd::Done));
    assert_eq!(telling(&rig.pass_time(60 * HEARTBEAT)), 0);
    assert_eq!(telling(&rig.pass_time(10 * HEARTBEAT)), 1);
}

#[test]
fn a_member_that_knows_more_answers_an_announcement() {
    let mut rig = waiter();
    let (one, two) = (stamp("a", RunOutcome::Done), stamp("b", RunOutcome::Done));
    rig.hear_all(
        3,
        stamps_frame(
            (token(10), 1, 0),
            Purpose::Tell,
            &[wire_stamp(&one, Some(HOUR))],
        ),
    );
    rig.pass_time(HEARTBEAT);
    rig.hear_all(3, here(token(10)));
    let sent = rig.hear_all(
        3,
        stamps_frame(
            (token(10), 2, 0),
            Purpose::Tell,
            &[wire_stamp(&two, Some(HOUR))],
        ),
    );
    assert_eq!(sent, ["STAMPS Differ 2 to n3"]);
    let sent = rig.hear_all(3, stamps_frame((token(10), 3, 0), Purpose::Tell, &[]));
    assert_eq!(sent, [""; 0], "once a period");
}

#[test]
fn a_new_name_replaces_one_whose_period_is_over_or_is_refused() {
    let fill = |age| {
        let mut rig = Rig::owner();
        rig.command(Command::WantToken);
        for n in 0..STAMPS_MAX {
            let known = wire_stamp(&stamp(&format!("job-{n}"), RunOutcome::Done), Some(age));
            rig.hear_all(3, stamps_frame((token(10), 1, 0), Purpose::More, &[known]));
        }
        assert_eq!(rig.machine.runs().count(), STAMPS_MAX);
        rig.command(Command::Once(nightly()));
        let asked = question(&rig);
        agree(&mut rig, asked, &[3, 7]);
        rig
    };
    let mut rig = fill(HOUR);
    assert_eq!(progress(&rig), Some(OnceProgress::Full));
    // A run with a short period expires, so its place becomes free.
    let short = OnceRequest {
        name: name("job-7"),
        every: Duration::from_millis(1),
        ..nightly()
    };
    rig.command(Command::Once(short));
    let asked = question(&rig);
    agree(&mut rig, asked, &[3, 7]);
    rig.pass_time(ms(1));
    let asked = question(&rig);
    agree(&mut rig, asked, &[3, 7]);
    assert_eq!(progress(&rig), Some(OnceProgress::Begun));
    rig.command(Command::EndOnce(short.id, RunEnd::Done));
    rig.pass_time(ms(2));
    rig.command(Command::Once(nightly()));
    let asked = question(&rig);
    agree(&mut rig, asked, &[3, 7]);
    assert_eq!(progress(&rig), Some(OnceProgress::Asking));
    assert_eq!(outcome(&rig), RunOutcome::Begun);
    let rig = fill(21 * HOUR);
    assert_eq!(progress(&rig), Some(OnceProgress::Asking));
    assert_eq!(outcome(&rig), RunOutcome::Begun);
    assert_eq!(rig.machine.runs().count(), STAMPS_MAX);
}

#[test]
fn a_table_is_split_by_the_mtu() {
    let mut rig = Rig::owner();
    rig.link(LinkState::Up {
        mac: mac(ME),
        ip: super::rig::ip(ME),
        mtu: 576,
    });
    rig.command(Command::WantToken);
    for n in 0..10 {
        let known = wire_stamp(&stamp(&format!("job-{n}"), RunOutcome::Done), Some(HOUR));
        rig.hear_all(3, stamps_frame((token(10), 1, 0), Purpose::More, &[known]));
    }
    let sent = rig.command(Command::Once(nightly()));
    assert_eq!(sent, ["STAMPS More 7 to all", "STAMPS Ask 3 to all"]);
    assert!(rig.frames.iter().all(|frame| frame.len() <= 14 + 576));
    let mut rig = Rig::owner();
    rig.link(LinkState::Up {
        mac: mac(ME),
        ip: super::rig::ip(ME),
        mtu: 115,
    });
    assert_eq!(rig.command(Command::Once(nightly())), [""; 0]);
    assert_eq!(progress(&rig), Some(OnceProgress::TooSmall));
}

#[test]
fn a_part_that_lacks_a_known_stamp_prevents_an_agreement() {
    let mut rig = waiter();
    let newer = stamp("nightly", RunOutcome::Done);
    let older = Stamp {
        progress: 9,
        ..newer
    };
    rig.hear_all(
        3,
        stamps_frame(
            (token(10), 1, 0),
            Purpose::Tell,
            &[wire_stamp(&newer, Some(HOUR))],
        ),
    );
    rig.pass_time(HEARTBEAT);
    rig.hear_all(3, heartbeat_with_beat(token(10), 0));
    rig.hear_all(3, stamps_frame((token(10), 2, 0), Purpose::Ask, &[]));
    let digest = question(&rig).2;
    rig.hear_all(
        3,
        stamps_frame(
            (token(10), 3, digest),
            Purpose::More,
            &[wire_stamp(&older, None)],
        ),
    );
    let sent = rig.hear_all(3, stamps_frame((token(10), 3, digest), Purpose::Ask, &[]));
    assert_eq!(sent, ["STAMPS Differ 1 to n3"]);
}
