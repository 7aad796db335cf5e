//! Tests of frames that do not arrive: broadcasts and long frames.

use std::time::Duration;

use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Kind, Message, NO_IP, PROMISE_LEN, Profile};

use super::data::{frame_with_profile, profile};
use super::grade::heartbeat_with_beat;
use super::rig::*;
use crate::lab2::{Command, Diagnostic, DropReason, Event};
use crate::{LinkState, Machine, SendOutcome, Transmit};

const RECENT_TIME: Duration = Duration::from_millis(1_600);

fn reports(rig: &Rig) -> Vec<(Diagnostic, bool)> {
    let trouble = |event: &Event| match *event {
        Event::DiagnosticChanged { trouble, over } => Some((trouble, over)),
        _ => None,
    };
    rig.events.iter().filter_map(trouble).collect()
}

fn with_mtu(rig: &mut Rig, mtu: usize) -> Vec<String> {
    rig.link(LinkState::Up {
        mac: mac(ME),
        ip: ip(ME),
        mtu,
    })
}

/// Lets this time pass. The node receives only unicast frames, from a holder that hears this node's questions.
fn hear_only_unicasts(rig: &mut Rig, time: Duration) {
    let end = rig.now.monotonic + time;
    while rig.now.monotonic < end {
        rig.hear(3, here(token(10)));
        rig.pass_time(3 * HEARTBEAT);
    }
    rig.hear(3, here(token(10)));
}

#[test]
fn a_node_that_hears_only_unicasts_announces_it_until_it_hears_a_broadcast() {
    let mut rig = Rig::waiter();
    let unheard = Diagnostic::BroadcastsUnheard;
    hear_only_unicasts(&mut rig, RECENT_TIME - 3 * HEARTBEAT);
    assert_eq!(reports(&rig), []);
    hear_only_unicasts(&mut rig, 6 * HEARTBEAT);
    assert_eq!(reports(&rig), [(unheard, false)]);
    hear_only_unicasts(&mut rig, RECENT_TIME);
    assert_eq!(reports(&rig).len(), 1, "once");
    assert!(rig.machine.problems().eq([unheard]));
    assert!(rig.machine.profile().is_unreached());
    rig.hear_all(7, ping(NO_IP));
    assert_eq!(reports(&rig)[1..], [(unheard, true)]);
    assert!(!rig.machine.profile().is_unreached());
}

#[test]
fn a_node_without_members_no_longer_announces_it() {
    let mut rig = Rig::waiter();
    hear_only_unicasts(&mut rig, RECENT_TIME + 6 * HEARTBEAT);
    assert_eq!(reports(&rig), [(Diagnostic::BroadcastsUnheard, false)]);
    rig.pass_time(2 * 2 * 128 * HEARTBEAT);
    assert_eq!(reports(&rig)[1], (Diagnostic::BroadcastsUnheard, true));
    assert!(!rig.machine.profile().is_unreached());
}

/// The answers to an owner's heartbeats are unicast. But each member also broadcasts from time to time, so the owner
/// notices the lack of broadcasts.
#[test]
fn an_owner_announces_it_after_each_member_should_have_broadcast() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    let mut at = Duration::ZERO;
    while reports(&rig).is_empty() {
        rig.hear(7, ping(NO_IP));
        rig.pass_time(HEARTBEAT);
        at += HEARTBEAT;
        assert!(at < 2 * 128 * HEARTBEAT);
    }
    assert_eq!(reports(&rig), [(Diagnostic::BroadcastsUnheard, false)]);
    assert!(at >= 128 * HEARTBEAT, "{at:?}");
}

#[test]
fn a_member_that_broadcasts_do_not_reach_is_reported() {
    let mut rig = Rig::waiter();
    let says = |rig: &mut Rig, flags| {
        let profile = Profile {
            flags,
            ..rig.machine.profile()
        };
        rig.hear_bytes(&frame_with_profile(7, ping(NO_IP), profile), Duration::ZERO);
    };
    let unreached = Diagnostic::MemberUnreached { mac: mac(7) };
    for _ in 0..3 {
        says(&mut rig, Profile::UNREACHED);
        rig.hear(7, here(token(10)));
    }
    assert_eq!(reports(&rig), [(unreached, false)]);
    assert!(rig.machine.problems().eq([unreached]));
    says(&mut rig, 0);
    assert_eq!(reports(&rig)[1..], [(unreached, true)]);
    says(&mut rig, Profile::UNREACHED);
    rig.hear_all(7, Message::Leaving);
    assert_eq!(reports(&rig)[3..], [(unreached, true)]);
}

/// Makes the link refuse the next frame of this kind as too long.
fn refuse_once(rig: &mut Rig, kind: Kind) {
    let mut buf = [0; FRAME_LEN_MAX];
    while let Some(Transmit { len, ticket, .. }) = rig.machine.poll_transmit(&mut buf) {
        let frame = Frame::decode(&buf[..len]).expect("a frame");
        let sent = if frame.message.kind() == kind {
            SendOutcome::TooLong
        } else {
            SendOutcome::Accepted
        };
        rig.machine.handle_sent(rig.now, ticket, sent);
        while rig.machine.poll_durable().is_some() {
            rig.machine
                .handle_stored(rig.now, crate::StoreOutcome::Done);
        }
    }
    while let Some(event) = rig.machine.poll_event() {
        rig.events.push(event);
    }
}

#[test]
fn a_heartbeat_refused_as_too_long_is_sent_without_data_and_reported() {
    let mut rig = Rig::owner();
    rig.command(Command::SetData(vec![1; 500]));
    let now = rig.now;
    rig.machine
        .handle_command(now, Command::SetData(vec![1; 600]));
    refuse_once(&mut rig, Kind::TokenIsHere);
    assert_eq!(rig.machine.data(), b"", "shortened");
    let too_long = Event::TooLong {
        kind: Kind::TokenIsHere,
        mtu: 1_500,
    };
    assert!(rig.events.contains(&too_long), "{:?}", rig.events);
    let dropped =
        |trouble: &Diagnostic| matches!(trouble, Diagnostic::DataDropped { len: 600, .. });
    assert!(rig.machine.problems().any(|trouble| dropped(&trouble)));
    assert_eq!(
        rig.machine.problems().count(),
        1,
        "dropping the data suffices"
    );
    // The node has no data left to drop.
    for _ in 0..3 {
        rig.stall(HEARTBEAT);
        let now = rig.now;
        rig.machine.handle_timeout(now);
        refuse_once(&mut rig, Kind::TokenIsHere);
    }
    let small =
        |&(trouble, _): &(Diagnostic, bool)| matches!(trouble, Diagnostic::MtuTooSmall { .. });
    assert_eq!(reports(&rig).into_iter().filter(small).count(), 1);
    let said = rig.events.iter().filter(|event| **event == too_long);
    assert_eq!(said.count(), 1, "not each time");
    with_mtu(&mut rig, 1_400);
    rig.pass_time(2 * WAITER_TIMEOUT);
    assert!(!rig.machine.problems().any(|it| small(&(it, false))));
}

#[test]
fn an_mtu_too_small_for_a_promise_is_reported_once() {
    let mut rig = Rig::waiter();
    assert_eq!(
        with_mtu(&mut rig, 68),
        ["WHERE_IS_TOKEN to all"],
        "the question announces the MTU"
    );
    rig.stall(WAITER_TIMEOUT);
    for beat in 0..20 {
        rig.hear_all(3, heartbeat_with_beat(token(10), beat));
        let longest = rig.frames.iter().map(Vec::len).max();
        assert!(longest <= Some(14 + 68), "{longest:?}");
        rig.pass_time(HEARTBEAT);
    }
    let small = Diagnostic::MtuTooSmall {
        mtu: 68,
        needed: PROMISE_LEN,
        member: None,
    };
    assert_eq!(reports(&rig), [(small, false)]);
    with_mtu(&mut rig, 1_500);
    rig.pass_time(WAITER_TIMEOUT);
    assert_eq!(reports(&rig)[1..], [(small, true)]);
}

/// After a split heals, members of the other side do not know this node's small MTU. Their heartbeats do not reach this
/// node.
#[test]
fn an_mtu_too_small_for_ping_is_announced_every_waiter_timeout() {
    let mut rig = Rig::owner();
    with_mtu(&mut rig, 68);
    let said = rig.pass_time(4 * WAITER_TIMEOUT);
    let again = said.iter().filter(|line| *line == "WHERE_IS_TOKEN to all");
    assert!((3..=4).contains(&again.count()), "{said:?}");
}

/// Frames with a profile or a promise do not fit the member's MTU, so they would not arrive.
#[test]
fn a_member_with_the_smallest_mtu_is_reported_and_sent_only_frames_that_fit() {
    let mut rig = Rig::waiter();
    rig.stall(WAITER_TIMEOUT);
    let asks = frame_with_profile(3, Message::WhereIsToken, profile(68));
    rig.hear_bytes(&asks, Duration::ZERO);
    rig.hear_all(3, heartbeat_with_beat(token(10), 1));
    assert!(rig.frames.iter().all(|frame| frame.len() <= 14 + 68));
    assert!(!rig.frames.is_empty());
    let promise = rig.frames.iter().map(|frame| decode(frame).message);
    let is_one = |message| {
        matches!(
            message,
            Message::Ping {
                promise: Some(_),
                ..
            }
        )
    };
    assert!(!promise.into_iter().any(is_one));
    rig.pass_time(WAITER_TIMEOUT);
    let small = Diagnostic::MtuTooSmall {
        mtu: 68,
        needed: PROMISE_LEN,
        member: Some(mac(3)),
    };
    assert!(
        reports(&rig).contains(&(small, false)),
        "{:?}",
        reports(&rig)
    );
}

/// n7 handed the token over to this node, n5. In the order of the ring, n3 is between n7 and n5. n3 has asked for the
/// token without success.
#[test]
fn a_member_that_the_giver_passes_over_gets_the_token_first() {
    let mut rig = Rig::waiter();
    rig.hear(7, ping(NO_IP));
    rig.hear(6, ping(NO_IP));
    rig.hear_all(3, Message::WantToken);
    rig.hear_all(6, Message::WantToken);
    // n7 may have handed the token over before it heard n3.
    let said = rig.hear(7, take(token(11)));
    assert!(
        said.contains(&"TAKE_TOKEN 12-n3-1 to n6".into()),
        "{said:?}"
    );
    rig.hear(6, here(token(12)));
    rig.hear_all(6, Message::WantToken);
    let said = rig.hear(7, take(token(14)));
    assert!(
        said.contains(&"TAKE_TOKEN 15-n3-1 to n3".into()),
        "{said:?}"
    );
    // If n3 does not take the token, the round begins at the member at which it would have begun without n3.
    let said = rig.pass_time(HAND_OVER);
    assert_eq!(said.last().unwrap(), "TAKE_TOKEN 17-n5-1 to n6", "{said:?}");
}

/// The new token shows that n7 minted a token, so n7 has just offered a token to n3 without success.
#[test]
fn a_member_that_never_takes_the_token_was_not_passed_over() {
    let mut rig = Rig::waiter();
    rig.hear(7, ping(NO_IP));
    rig.hear(6, ping(NO_IP));
    let mut offered = Vec::new();
    for turn in 0..3_u32 {
        rig.hear_all(3, Message::WantToken);
        rig.hear_all(6, Message::WantToken);
        let mut said = rig.hear(7, take(token_of(20 + 10 * u64::from(turn), 7, turn)));
        let to_n3 = |line: &String| line.starts_with("TAKE_TOKEN") && line.ends_with("to n3");
        offered.push(said.iter().any(to_n3));
        if said.iter().any(to_n3) {
            said.extend(rig.pass_time(HAND_OVER));
        }
        assert!(said.last().unwrap().ends_with("to n6"), "{said:?}");
        let known = rig.machine.token().expect("known");
        let ahead = ring_codec::lab2::Token {
            progress: known.progress + 2,
            ..known
        };
        rig.hear(6, here(ahead));
    }
    assert_eq!(offered, [false; 3]);
}

/// If the MTU of a deaf member did not count, longer frames would not reach the member, and the member would stay deaf.
#[test]
fn the_mtu_of_a_deaf_member_counts() {
    let mut rig = Rig::waiter();
    let deaf = Profile {
        flags: Profile::DEAF,
        ..profile(68)
    };
    let said = frame_with_profile(7, Message::WhereIsToken, deaf);
    rig.hear_bytes(&said, Duration::ZERO);
    let told = |event: &Event| matches!(event, Event::Dropped { reason } if *reason == DropReason::AuthorDeaf);
    assert!(rig.events.iter().any(told));
    rig.pass_time(RECENT_TIME);
    let answered = rig.hear_bytes(&said, Duration::ZERO);
    let fits = |frame: &Vec<u8>| frame.len() <= 14 + 68;
    assert!(
        !answered.is_empty() && rig.frames.iter().all(fits),
        "{answered:?}"
    );
}
