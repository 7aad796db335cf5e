//! What people are told of assumptions that do not hold.

use std::time::Duration;

use ring_codec::lab2::{Digest, Message, NO_IP, Profile};

use super::data::introduced;
use super::rig::*;
use crate::LinkState;
use crate::lab2::{Event, Presence, State, Trouble};

/// After so long without a frame a node is deaf.
const EARSHOT: Duration = Duration::from_millis(500);

/// What was told, and whether it is over; but for frames to all, which the rig leaves out.
fn told(rig: &Rig) -> Vec<(Trouble, bool)> {
    let trouble = |event: &Event| match *event {
        Event::Trouble {
            trouble: Trouble::BroadcastsUnheard,
            ..
        } => None,
        Event::Trouble { trouble, over } => Some((trouble, over)),
        _ => None,
    };
    rig.events.iter().filter_map(trouble).collect()
}

fn troubles(rig: &Rig) -> Vec<Trouble> {
    let troubles = rig.machine.troubles();
    troubles
        .filter(|&trouble| trouble != Trouble::BroadcastsUnheard)
        .collect()
}

/// A PING of n7 to all, which says whether n7 is deaf.
fn n7_says(rig: &mut Rig, deaf: bool) {
    let profile = Profile {
        flags: if deaf { Profile::DEAF } else { 0 },
        ..rig.machine.profile()
    };
    let bytes = introduced(7, ping(NO_IP), profile);
    rig.hear_bytes(&bytes, Duration::ZERO);
}

#[test]
fn a_deaf_member_is_reported_once_and_when_it_hears() {
    let mut rig = Rig::waiter();
    n7_says(&mut rig, true);
    rig.pass_time(EARSHOT - ms(1));
    n7_says(&mut rig, true);
    assert_eq!((told(&rig), troubles(&rig)), (vec![], vec![]));
    assert_eq!(rig.presence_of(7), Presence::Alive);
    rig.pass_time(ms(1));
    let deaf = Trouble::MemberDeaf { mac: mac(7) };
    for _ in 0..3 {
        n7_says(&mut rig, true);
        assert_eq!(
            (told(&rig), troubles(&rig)),
            (vec![(deaf, false)], vec![deaf])
        );
    }
    assert_eq!(rig.presence_of(7), Presence::Deaf);
    n7_says(&mut rig, false);
    assert_eq!(told(&rig), [(deaf, false), (deaf, true)]);
    assert_eq!(troubles(&rig), []);
    assert_eq!(rig.presence_of(7), Presence::Alive);
}

/// Whoever counts what was told finds an end to each.
#[test]
fn lasting_problems_end_with_the_link() {
    let mut rig = Rig::waiter();
    n7_says(&mut rig, true);
    rig.pass_time(EARSHOT);
    n7_says(&mut rig, true);
    rig.refuse = |_| true;
    rig.pass_time(WAITER_TIMEOUT * 4);
    let deaf = Trouble::MemberDeaf { mac: mac(7) };
    let unsent = Trouble::CannotSend;
    assert_eq!(told(&rig), [(deaf, false), (unsent, false)]);
    rig.link(LinkState::Down);
    assert_eq!(told(&rig)[2..], [(unsent, true), (deaf, true)]);
    assert_eq!(troubles(&rig), []);
}

/// It has heard nobody, and so its first frame says so.
#[test]
fn a_member_that_was_alone_before_its_greeting_is_not_reported() {
    let mut rig = Rig::waiter();
    for _ in 0..3 {
        n7_says(&mut rig, true);
        n7_says(&mut rig, false);
        rig.pass_time(EARSHOT);
    }
    assert_eq!(told(&rig), []);
}

/// A giver to n7 that has given it up.
fn given_up() -> Rig {
    let mut rig = Rig::giver();
    rig.pass_time(HAND_OVER);
    assert_eq!(rig.token(), "13-n5-1");
    rig
}

#[test]
fn a_late_answer_is_reported_once_in_a_while() {
    let mut rig = given_up();
    rig.pass_time(ms(2));
    rig.hear(7, here(token(12)));
    let late = Trouble::AnswerLate {
        mac: mac(7),
        after: HAND_OVER + ms(2),
    };
    assert_eq!(
        (told(&rig), troubles(&rig)),
        (vec![(late, false)], vec![late])
    );
    rig.hear(7, here(token(12)));
    assert_eq!(told(&rig).len(), 1);
    rig.pass_time(WAITER_TIMEOUT * 130);
    assert!(!troubles(&rig).contains(&late));
}

#[test]
fn other_frames_are_no_late_answers() {
    let mut rig = given_up();
    rig.hear(3, here(token(12)));
    rig.hear_all(7, here(token(12)));
    rig.hear(7, here(token_of(9, 7, 4)));
    // It has heard of the chain before it was offered.
    rig.hear(7, was_here(token(11), 3));
    assert_eq!(told(&rig), []);
    let mut rig = Rig::giver();
    rig.pass_time(TAKE_TIMEOUT);
    rig.hear(7, here(token(12)));
    assert_eq!((rig.state(), told(&rig)), (State::Waiter, vec![]));
}

#[test]
fn an_owner_that_only_others_hear_is_reported_once_and_when_it_is_heard() {
    let mut rig = Rig::waiter();
    let heard = rig.now.monotonic;
    let mut named = None;
    let owner = Trouble::OwnerUnheard { owner: mac(9) };
    while rig.now.monotonic.since(heard) < 8 * WAITER_TIMEOUT {
        let asks = rig.pass_time(ms(10));
        if asks.contains(&"WHERE_IS_TOKEN to all".to_owned()) {
            rig.hear(3, was_here(token(10), 9));
            let now = rig.now.monotonic;
            let first = *named.get_or_insert(now);
            let late = now.since(first) >= 4 * WAITER_TIMEOUT;
            assert_eq!(told(&rig).len(), usize::from(late));
        }
    }
    assert_eq!(
        (told(&rig), troubles(&rig)),
        (vec![(owner, false)], vec![owner])
    );
    rig.hear_all(3, here(token(11)));
    assert_eq!(troubles(&rig), [owner]);
    rig.hear_all(9, here(token(12)));
    assert_eq!(told(&rig), [(owner, false), (owner, true)]);
    assert_eq!(troubles(&rig), []);
}

/// The token goes on among members that this node does not hear.
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
    let unheard = |n| Trouble::OwnerUnheard { owner: mac(n) };
    assert_eq!(told(&rig).len(), 1, "{:?}", told(&rig));
    let mut named = troubles(&rig);
    named.sort_unstable_by_key(|trouble| format!("{trouble:?}"));
    assert_eq!(named, [unheard(7), unheard(8), unheard(9)]);
    for n in 7..=9 {
        assert_eq!(told(&rig).len(), 1);
        rig.hear_all(n, here(token(1_000 + u64::from(n))));
    }
    assert_eq!(told(&rig)[1..], [(unheard(9), true)]);
    assert_eq!(troubles(&rig), []);
}

/// Of two that were not heard one is gone, and nobody names it.
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
    assert_eq!(told(&rig).len(), 1);
    beats(&mut rig, SAME, 130 * WAITER_TIMEOUT);
    let unheard = Trouble::OwnerUnheard { owner: mac(9) };
    assert_eq!(told(&rig), [(unheard, false), (unheard, true)]);
}

/// Heartbeats of n3, with this digest.
fn beats(rig: &mut Rig, digest: Digest, time: Duration) {
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
    beats(&mut rig, OTHER, long);
    beats(&mut rig, SAME, HEARTBEAT);
    beats(&mut rig, OTHER, long);
    assert_eq!(told(&rig), [], "they agreed meanwhile");
    beats(&mut rig, OTHER, long);
    let differ = Trouble::TablesDiffer { owner: mac(3) };
    assert_eq!(
        (told(&rig), troubles(&rig)),
        (vec![(differ, false)], vec![differ])
    );
    beats(&mut rig, SAME, HEARTBEAT);
    assert_eq!(told(&rig), [(differ, false), (differ, true)]);
    assert_eq!(troubles(&rig), []);
}

/// Two moments are not all the time between them.
#[test]
fn tables_that_differ_now_and_then_are_no_problem() {
    let mut rig = Rig::waiter();
    for _ in 0..100 {
        beats(&mut rig, OTHER, HEARTBEAT);
        rig.sleep_through(WAITER_TIMEOUT);
    }
    assert_eq!(told(&rig), []);
}

#[test]
fn a_member_that_has_left_is_no_problem() {
    let mut rig = Rig::waiter();
    n7_says(&mut rig, true);
    rig.pass_time(EARSHOT);
    n7_says(&mut rig, true);
    assert_eq!(troubles(&rig).len(), 1);
    rig.hear_all(7, Message::Leaving);
    assert_eq!(troubles(&rig), []);
    let deaf = Trouble::MemberDeaf { mac: mac(7) };
    assert_eq!(told(&rig), [(deaf, false), (deaf, true)]);
}

/// It wakes up, and the answer of a member is faster than the owner's.
#[test]
fn an_owner_not_heard_by_a_stalled_node_is_no_problem() {
    let mut rig = Rig::waiter();
    rig.sleep_through(100 * WAITER_TIMEOUT);
    rig.wake();
    rig.hear(3, was_here(token(10), 9));
    rig.hear_all(9, here(token(11)));
    assert_eq!(told(&rig), []);
}

#[test]
fn a_link_that_goes_down_ends_all_problems() {
    let mut rig = Rig::waiter();
    beats(&mut rig, OTHER, 65 * WAITER_TIMEOUT);
    assert_eq!(troubles(&rig).len(), 1);
    rig.link(LinkState::Down);
    assert_eq!(troubles(&rig), []);
}
