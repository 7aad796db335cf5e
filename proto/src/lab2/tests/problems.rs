//! Tests of reports about assumptions that do not hold.

use std::time::Duration;

use ring_codec::lab2::{Digest, Message, NO_IP, Profile};

use super::data::frame_with_profile;
use super::rig::*;
use crate::LinkState;
use crate::lab2::{Diagnostic, Event, Presence, State};

/// The time without a frame after which a node is deaf.
const EARSHOT: Duration = Duration::from_millis(500);

/// Returns the reports. A flag in each report states whether the problem ended. Omits reports about missing broadcasts,
/// because the rig sends no broadcasts.
fn reports(rig: &Rig) -> Vec<(Diagnostic, bool)> {
    let trouble = |event: &Event| match *event {
        Event::DiagnosticChanged {
            trouble: Diagnostic::BroadcastsUnheard,
            ..
        } => None,
        Event::DiagnosticChanged { trouble, over } => Some((trouble, over)),
        _ => None,
    };
    rig.events.iter().filter_map(trouble).collect()
}

fn troubles(rig: &Rig) -> Vec<Diagnostic> {
    let troubles = rig.machine.problems();
    troubles
        .filter(|&trouble| trouble != Diagnostic::BroadcastsUnheard)
        .collect()
}

/// Receives a broadcast PING of n7 that announces whether n7 is deaf.
fn hear_deafness_of_n7(rig: &mut Rig, deaf: bool) {
    let profile = Profile {
        flags: if deaf { Profile::DEAF } else { 0 },
        ..rig.machine.profile()
    };
    let bytes = frame_with_profile(7, ping(NO_IP), profile);
    rig.hear_bytes(&bytes, Duration::ZERO);
}

#[test]
fn a_deaf_member_is_reported_once_and_when_it_hears() {
    let mut rig = Rig::waiter();
    hear_deafness_of_n7(&mut rig, true);
    rig.pass_time(EARSHOT - ms(1));
    hear_deafness_of_n7(&mut rig, true);
    assert_eq!((reports(&rig), troubles(&rig)), (vec![], vec![]));
    assert_eq!(rig.presence_of(7), Presence::Alive);
    rig.pass_time(ms(1));
    let deaf = Diagnostic::MemberDeaf { mac: mac(7) };
    for _ in 0..3 {
        hear_deafness_of_n7(&mut rig, true);
        assert_eq!(
            (reports(&rig), troubles(&rig)),
            (vec![(deaf, false)], vec![deaf])
        );
    }
    assert_eq!(rig.presence_of(7), Presence::Deaf);
    hear_deafness_of_n7(&mut rig, false);
    assert_eq!(reports(&rig), [(deaf, false), (deaf, true)]);
    assert_eq!(troubles(&rig), []);
    assert_eq!(rig.presence_of(7), Presence::Alive);
}

/// When the link goes down, the node also reports the end of each reported problem.
#[test]
fn lasting_problems_end_with_the_link() {
    let mut rig = Rig::waiter();
    hear_deafness_of_n7(&mut rig, true);
    rig.pass_time(EARSHOT);
    hear_deafness_of_n7(&mut rig, true);
    rig.refuse = |_| true;
    rig.pass_time(WAITER_TIMEOUT * 4);
    let deaf = Diagnostic::MemberDeaf { mac: mac(7) };
    let unsent = Diagnostic::CannotSend;
    assert_eq!(reports(&rig), [(deaf, false), (unsent, false)]);
    rig.link(LinkState::Down);
    assert_eq!(reports(&rig)[2..], [(unsent, true), (deaf, true)]);
    assert_eq!(troubles(&rig), []);
}

/// The new member has heard no other member yet, so its first frame announces that it is deaf.
#[test]
fn a_member_that_was_alone_before_its_greeting_is_not_reported() {
    let mut rig = Rig::waiter();
    for _ in 0..3 {
        hear_deafness_of_n7(&mut rig, true);
        hear_deafness_of_n7(&mut rig, false);
        rig.pass_time(EARSHOT);
    }
    assert_eq!(reports(&rig), []);
}

/// Returns a giver after its offer to n7 failed.
fn failed_giver() -> Rig {
    let mut rig = Rig::giver();
    rig.pass_time(HAND_OVER);
    assert_eq!(rig.token(), "13-n5-1");
    rig
}

#[test]
fn a_late_answer_is_reported_once_in_a_while() {
    let mut rig = failed_giver();
    rig.pass_time(ms(2));
    rig.hear(7, here(token(12)));
    let late = Diagnostic::AnswerLate {
        mac: mac(7),
        after: HAND_OVER + ms(2),
    };
    assert_eq!(
        (reports(&rig), troubles(&rig)),
        (vec![(late, false)], vec![late])
    );
    rig.hear(7, here(token(12)));
    assert_eq!(reports(&rig).len(), 1);
    rig.pass_time(WAITER_TIMEOUT * 130);
    assert!(!troubles(&rig).contains(&late));
}

#[test]
fn other_frames_are_no_late_answers() {
    let mut rig = failed_giver();
    rig.hear(3, here(token(12)));
    rig.hear_all(7, here(token(12)));
    rig.hear(7, here(token_of(9, 7, 4)));
    // n7 heard of the chain before the token was offered to it.
    rig.hear(7, was_here(token(11), 3));
    assert_eq!(reports(&rig), []);
    let mut rig = Rig::giver();
    rig.pass_time(TAKE_TIMEOUT);
    rig.hear(7, here(token(12)));
    assert_eq!((rig.state(), reports(&rig)), (State::Waiter, vec![]));
}

#[test]
fn an_owner_that_only_others_hear_is_reported_once_and_when_it_is_heard() {
    let mut rig = Rig::waiter();
    let heard = rig.now.monotonic;
    let mut named = None;
    let owner = Diagnostic::OwnerUnheard { owner: mac(9) };
    while rig.now.monotonic.since(heard) < 8 * WAITER_TIMEOUT {
        let asks = rig.pass_time(ms(10));
        if asks.contains(&"WHERE_IS_TOKEN to all".to_owned()) {
            rig.hear(3, was_here(token(10), 9));
            let now = rig.now.monotonic;
            let first = *named.get_or_insert(now);
            let late = now.since(first) >= 4 * WAITER_TIMEOUT;
            assert_eq!(reports(&rig).len(), usize::from(late));
        }
    }
    assert_eq!(
        (reports(&rig), troubles(&rig)),
        (vec![(owner, false)], vec![owner])
    );
    rig.hear_all(3, here(token(11)));
    assert_eq!(troubles(&rig), [owner]);
    rig.hear_all(9, here(token(12)));
    assert_eq!(reports(&rig), [(owner, false), (owner, true)]);
    assert_eq!(troubles(&rig), []);
}

/// The token moves among members that this node does not hear.
#[test]
fn several_owners_that_only_others_hear_are_one_problem() {
    let mut rig = Rig::waiter();
    let start = rig.now.monotonic;
    let mut turns = 0;
    while rig.now.monotonic.since(start) < 60 * WAITER_TIMEOUT {
        let asks = rig.pass_time(ms(10));
        if asks.contains(&"WHERE_IS_TOKEN to all".to_owned()) {
            turns += 1;
            rig.hear(
                3,
                was_here(token(10 + turns), 7 + u8::try_from(turns % 3).expect("few")),
            );
        }
    }
    assert!(turns > 50);
    let unheard = |n| Diagnostic::OwnerUnheard { owner: mac(n) };
    assert_eq!(reports(&rig).len(), 1, "{:?}", reports(&rig));
    let mut named = troubles(&rig);
    named.sort_unstable_by_key(|trouble| format!("{trouble:?}"));
    assert_eq!(named, [unheard(7), unheard(8), unheard(9)]);
    for n in 7..=9 {
        assert_eq!(reports(&rig).len(), 1);
        rig.hear_all(n, here(token(1_000 + u64::from(n))));
    }
    assert_eq!(reports(&rig)[1..], [(unheard(9), true)]);
    assert_eq!(troubles(&rig), []);
}

/// This node does not hear two owners. One of the two owners is gone, and members no longer name this owner.
#[test]
fn owners_that_are_no_longer_named_are_no_problem() {
    let mut rig = Rig::waiter();
    let start = rig.now.monotonic;
    while rig.now.monotonic.since(start) < 20 * WAITER_TIMEOUT {
        if rig
            .pass_time(ms(10))
            .contains(&"WHERE_IS_TOKEN to all".to_owned())
        {
            rig.hear(3, was_here(token(10), 9));
        }
    }
    assert_eq!(reports(&rig).len(), 1);
    hear_heartbeats(&mut rig, SAME, 130 * WAITER_TIMEOUT);
    let unheard = Diagnostic::OwnerUnheard { owner: mac(9) };
    assert_eq!(reports(&rig), [(unheard, false), (unheard, true)]);
}

/// Receives heartbeats of n3 with this digest.
fn hear_heartbeats(rig: &mut Rig, digest: Digest, time: Duration) {
    let end = rig.now.monotonic + time;
    while rig.now.monotonic < end {
        rig.pass_time(HEARTBEAT);
        let beat = Message::TokenIsHere {
            token: token(10),
            digest,
            data: b"",
            beat: None,
        };
        rig.hear_all(3, beat);
    }
}

#[test]
fn tables_that_differ_for_long_are_reported_once_and_when_they_agree() {
    let mut rig = Rig::waiter();
    let long = 64 * WAITER_TIMEOUT;
    hear_heartbeats(&mut rig, OTHER, long);
    hear_heartbeats(&mut rig, SAME, HEARTBEAT);
    hear_heartbeats(&mut rig, OTHER, long);
    assert_eq!(reports(&rig), [], "the tables were equal in the meantime");
    hear_heartbeats(&mut rig, OTHER, long);
    let differ = Diagnostic::TablesDiffer { owner: mac(3) };
    assert_eq!(
        (reports(&rig), troubles(&rig)),
        (vec![(differ, false)], vec![differ])
    );
    hear_heartbeats(&mut rig, SAME, HEARTBEAT);
    assert_eq!(reports(&rig), [(differ, false), (differ, true)]);
    assert_eq!(troubles(&rig), []);
}

/// The tables may have been equal for a while between the observed differences.
#[test]
fn tables_that_differ_now_and_then_are_no_problem() {
    let mut rig = Rig::waiter();
    for _ in 0..100 {
        hear_heartbeats(&mut rig, OTHER, HEARTBEAT);
        rig.stall(WAITER_TIMEOUT);
    }
    assert_eq!(reports(&rig), []);
}

#[test]
fn a_member_that_has_left_is_no_problem() {
    let mut rig = Rig::waiter();
    hear_deafness_of_n7(&mut rig, true);
    rig.pass_time(EARSHOT);
    hear_deafness_of_n7(&mut rig, true);
    assert_eq!(troubles(&rig).len(), 1);
    rig.hear_all(7, Message::Leaving);
    assert_eq!(troubles(&rig), []);
    let deaf = Diagnostic::MemberDeaf { mac: mac(7) };
    assert_eq!(reports(&rig), [(deaf, false), (deaf, true)]);
}

/// The node resumes, and a member's answer arrives before the owner's heartbeat.
#[test]
fn an_owner_not_heard_by_a_stalled_node_is_no_problem() {
    let mut rig = Rig::waiter();
    rig.stall(100 * WAITER_TIMEOUT);
    rig.wake();
    rig.hear(3, was_here(token(10), 9));
    rig.hear_all(9, here(token(11)));
    assert_eq!(reports(&rig), []);
}

#[test]
fn a_link_that_goes_down_ends_all_problems() {
    let mut rig = Rig::waiter();
    hear_heartbeats(&mut rig, OTHER, 65 * WAITER_TIMEOUT);
    assert_eq!(troubles(&rig).len(), 1);
    rig.link(LinkState::Down);
    assert_eq!(troubles(&rig), []);
}
