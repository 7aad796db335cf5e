//! Tests of grades (`docs/reference/lab2/grades.md G1` to G20): how safe a tenure is, and for how long.

use std::time::Duration;

use ring_codec::lab2::{Message, NO_IP, Promise, Token};

use super::rig::{
    BLANK, HEARTBEAT, Rig, SAME, WAITER_TIMEOUT, constants, decode, here, ms, ping, take, token,
    token_of,
};
use crate::lab2::{Command, Constants, Event, Grade, State};

/// Constants of a ring of three that expects three members.
pub(super) fn constants_expecting_three() -> Constants {
    Constants {
        expect: Some(3),
        ..constants()
    }
}

/// Returns how long a holder relies on a promise. The holder does not rely on the whole time, because clocks may run at
/// different rates.
pub(super) fn reliable_part(promised: Duration) -> Duration {
    promised - promised / 32
}

pub(super) fn heartbeat_with_beat(token: Token, beat: u32) -> Message<'static> {
    Message::TokenIsHere {
        token,
        digest: SAME,
        data: b"",
        beat: Some(beat),
    }
}

pub(super) fn message_with_promise(token: Token, beat: u32) -> Message<'static> {
    message_with_promise_for(token, beat, WAITER_TIMEOUT)
}

pub(super) fn message_with_promise_for(
    token: Token,
    beat: u32,
    lasts: Duration,
) -> Message<'static> {
    let lasts = crate::time::nanos(lasts);
    Message::Ping {
        digest: SAME,
        ip: NO_IP,
        promise: Some(Promise { token, beat, lasts }),
        paused: false,
    }
}

/// Returns an OWNER of 11-n3-1 with work. The OWNER knows n3 and n7. The OWNER has run for long enough to count its own
/// vote. The OWNER has just asked the members for promises.
pub(super) fn owner(constants: Constants) -> Rig {
    let (mut rig, _) = Rig::start(constants, BLANK);
    rig.hear(7, ping(NO_IP));
    rig.hear_all(3, here(token(9)));
    rig.pass_time(WAITER_TIMEOUT - ms(1));
    rig.hear_all(3, here(token(10)));
    rig.pass_time(ms(50));
    rig.command(Command::WantToken);
    rig.hear(3, take(token(11)));
    assert_eq!(
        rig.command(Command::Confirm),
        ["TOKEN_IS_HERE 11-n3-1 to all"]
    );
    assert_eq!(rig.state(), State::Owner);
    rig.events.clear();
    rig
}

/// Returns the number of the last heartbeat.
pub(super) fn beat(rig: &Rig) -> u32 {
    let last = rig.frames.last().expect("a frame was sent");
    match decode(last).message {
        Message::TokenIsHere { beat, .. } => beat.expect("a heartbeat has a number"),
        other => panic!("no heartbeat: {other:?}"),
    }
}

/// Returns the promise in the last frame, if there is one.
pub(super) fn promise(rig: &Rig) -> Option<Promise> {
    rig.frames
        .iter()
        .find_map(|frame| match decode(frame).message {
            Message::Ping { promise, .. } => promise,
            _ => None,
        })
}

/// Returns a WAITER that knows the token 10-n3-1 at n3. The WAITER has run for as long as a promise lasts.
pub(super) fn member() -> Rig {
    let mut rig = Rig::waiter_with(constants_expecting_three());
    for _ in 0..4 {
        rig.pass_time(HEARTBEAT);
        rig.hear_all(3, here(token(10)));
    }
    rig
}

#[test]
fn promises_of_a_majority_make_a_quorum_until_they_end() {
    let mut rig = owner(constants_expecting_three());
    assert_eq!(rig.machine.grade(), Grade::Alone);
    let (asked, number) = (rig.now.monotonic, beat(&rig));
    rig.pass_time(ms(3));
    rig.hear(3, message_with_promise(token(11), number));
    assert_eq!(
        rig.machine.grade(),
        Grade::Quorum,
        "this node and n3 of three"
    );
    let until = asked + reliable_part(WAITER_TIMEOUT);
    assert_eq!(
        rig.machine.grade_until(),
        Some(until),
        "the time counts from the heartbeat"
    );
    rig.hear(7, message_with_promise(token(11), number));
    rig.stall(until.since(rig.now.monotonic) - ms(1));
    assert_eq!(rig.machine.grade(), Grade::Quorum);
    rig.stall(ms(1));
    rig.wake();
    assert_eq!(rig.machine.grade(), Grade::Alone);
    let grades = rig.events.iter().filter_map(|event| match event {
        Event::GradeChanged { grade, .. } => Some(*grade),
        _ => None,
    });
    assert!(grades.eq([Grade::Quorum, Grade::Alone]));
}

#[test]
fn every_answer_to_a_heartbeat_extends_the_quorum() {
    let mut rig = owner(constants_expecting_three());
    rig.hear(3, message_with_promise(token(11), beat(&rig)));
    let first = rig.machine.grade_until().expect("a quorum");
    assert_eq!(rig.pass_time(HEARTBEAT), ["TOKEN_IS_HERE 11-n3-1 to all"]);
    let sent = rig.now.monotonic;
    rig.hear(3, message_with_promise(token(11), 1));
    assert_eq!(
        rig.machine.grade_until(),
        Some(sent + reliable_part(WAITER_TIMEOUT))
    );
    rig.hear(3, message_with_promise(token(11), 0));
    assert!(
        rig.machine.grade_until() > Some(first),
        "an old answer does not shorten the promise"
    );
}

#[test]
fn only_later_confirmations_count_at_the_end_of_a_grade() {
    let mut rig = owner(constants_expecting_three());
    rig.hear(3, message_with_promise(token(11), beat(&rig)));
    rig.pass_time(HEARTBEAT);
    let votes = (rig.machine.votes(), rig.machine.votes_at_grade_end());
    assert_eq!((votes.0.confirmed, votes.1.confirmed), (2, 1));
    rig.hear(7, message_with_promise(token(11), 1));
    assert_eq!(rig.machine.votes().confirmed, 3);
    assert_eq!(
        rig.machine.votes_at_grade_end().confirmed,
        1,
        "n7 made the quorum longer, and its confirmation ends with the quorum"
    );
}

#[test]
fn promises_for_other_tenures_do_not_count() {
    let mut rig = owner(constants_expecting_three());
    let number = beat(&rig);
    rig.hear(3, ping(NO_IP));
    rig.hear(3, message_with_promise(token(10), number));
    rig.hear(3, message_with_promise(token_of(11, 7, 1), number));
    rig.hear(3, message_with_promise(token(11), number + 1));
    rig.hear(3, message_with_promise(token(11), number.wrapping_sub(1)));
    rig.hear(
        3,
        message_with_promise_for(token(11), number, Duration::ZERO),
    );
    assert_eq!(rig.machine.grade(), Grade::Alone);
    rig.hear_all(7, Message::WantToken);
    rig.command(Command::WorkDone);
    assert_eq!(rig.machine.grade(), Grade::Alone, "an offered token");
    rig.hear(3, message_with_promise(token(11), number));
    assert_eq!(rig.machine.grade(), Grade::Alone);
}

#[test]
fn a_recently_started_node_asks_for_no_promise() {
    let mut rig = Rig::owner_with(constants_expecting_three());
    rig.command(Command::WantToken);
    assert_eq!(rig.command(Command::Confirm), [""; 0]);
    let heartbeat = rig.pass_time(HEARTBEAT);
    assert_eq!(heartbeat, ["TOKEN_IS_HERE 11-n3-1 to all"]);
    let last = rig.frames.last().expect("a frame was sent");
    let Message::TokenIsHere { beat, .. } = decode(last).message else {
        panic!("no heartbeat");
    };
    assert_eq!(
        beat, None,
        "the application may work under an earlier tenure"
    );
    rig.hear(3, message_with_promise(token(11), 0));
    rig.hear(7, message_with_promise(token(11), 0));
    assert_eq!(rig.machine.grade(), Grade::Alone);
}

#[test]
fn unexpected_members_make_the_majority_larger() {
    let mut rig = owner(constants_expecting_three());
    let number = beat(&rig);
    rig.hear(8, ping(NO_IP));
    rig.hear(3, message_with_promise(token(11), number));
    assert_eq!(rig.machine.grade(), Grade::Alone, "two of four");
}

#[test]
fn a_quorum_ends_when_new_members_make_it_a_minority() {
    let mut rig = owner(constants_expecting_three());
    rig.hear(3, message_with_promise(token(11), beat(&rig)));
    assert_eq!(rig.machine.grade(), Grade::Quorum, "two of three");
    rig.hear(8, ping(NO_IP));
    assert_eq!(rig.machine.grade(), Grade::Alone, "two of four");
}

#[test]
fn without_a_majority_all_recently_heard_members_make_a_view() {
    let mut rig = owner(Constants {
        expect: Some(9),
        ..constants()
    });
    let number = beat(&rig);
    rig.hear(7, ping(NO_IP));
    rig.hear(3, message_with_promise(token(11), number));
    assert_eq!(
        rig.machine.grade(),
        Grade::Alone,
        "n7 was heard, but has not confirmed"
    );
    rig.hear(7, message_with_promise(token(11), number));
    assert_eq!(rig.machine.grade(), Grade::AllHeard);
    let told = |rig: &Rig| {
        let is_told = |event: &&Event| matches!(event, Event::GradeChanged { .. });
        rig.events.iter().filter(is_told).count()
    };
    rig.pass_time(HEARTBEAT / 4 - ms(1));
    assert_eq!(told(&rig), 0, "other members may still answer");
    rig.pass_time(ms(1));
    assert_eq!(told(&rig), 1);
    // From now on n7 is silent.
    for number in 1..8 {
        rig.pass_time(HEARTBEAT);
        rig.hear(3, message_with_promise(token(11), number));
        assert_eq!(
            rig.machine.grade(),
            Grade::AllHeard,
            "after {number} heartbeats"
        );
    }
}

#[test]
fn a_lone_node_is_alone_unless_it_expects_only_itself() {
    for (expect, grade) in [
        (None, Grade::Alone),
        (Some(1), Grade::Quorum),
        (Some(2), Grade::Alone),
    ] {
        let constants = Constants {
            expect,
            ..constants()
        };
        let (mut rig, _) = Rig::start(constants, BLANK);
        rig.pass_time(2 * WAITER_TIMEOUT);
        assert_eq!(rig.state(), State::Owner);
        assert_eq!(rig.machine.grade(), grade, "{expect:?}");
    }
}

#[test]
fn a_member_promises_after_it_has_run_for_a_promises_length() {
    let mut rig = Rig::waiter_with(constants_expecting_three());
    assert_eq!(
        rig.hear_all(3, heartbeat_with_beat(token(10), 4)),
        ["PING to n3"]
    );
    assert_eq!(
        promise(&rig),
        None,
        "the node may have promised before its start"
    );
    let mut rig = member();
    assert_eq!(
        rig.hear_all(3, heartbeat_with_beat(token(10), 4)),
        ["PING to n3"]
    );
    let lasts = crate::time::nanos(WAITER_TIMEOUT);
    let token = token(10);
    assert_eq!(
        promise(&rig),
        Some(Promise {
            token,
            beat: 4,
            lasts
        })
    );
}

#[test]
fn a_member_makes_no_other_promise_until_its_promise_ends() {
    let other = token_of(20, 7, 1);
    let mut rig = member();
    rig.hear_all(3, heartbeat_with_beat(token(10), 0));
    rig.pass_time(WAITER_TIMEOUT - ms(1));
    assert_eq!(
        rig.hear_all(7, heartbeat_with_beat(other, 0)),
        ["PING to n7"]
    );
    assert_eq!(promise(&rig), None);
    rig.pass_time(ms(1));
    rig.hear_all(7, heartbeat_with_beat(other, 1));
    assert!(promise(&rig).is_some());
}

#[test]
fn a_holder_that_hands_over_frees_its_members() {
    let next = [
        ("the chain has moved on", 7, token(11)),
        ("the holder has minted", 3, token_of(12, 3, 2)),
    ];
    for (why, holder, next) in next {
        let mut rig = member();
        rig.hear_all(3, heartbeat_with_beat(token(10), 0));
        rig.hear_all(holder, heartbeat_with_beat(next, 0));
        assert!(promise(&rig).is_some(), "{why}");
        rig.hear_all(9, heartbeat_with_beat(token_of(30, 9, 1), 0));
        assert_eq!(
            promise(&rig),
            None,
            "{why}: the promise is for the new tenure"
        );
    }
}

#[test]
fn an_owner_that_loses_its_token_keeps_its_vote_until_the_promises_end() {
    // Two of five members are no quorum. A quorum would outbid the other owner.
    let mut rig = owner(Constants {
        expect: Some(5),
        ..constants()
    });
    let asked = rig.now.monotonic;
    rig.hear(3, message_with_promise(token(11), beat(&rig)));
    let other = token_of(50, 7, 1);
    rig.hear_all(7, heartbeat_with_beat(other, 0));
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(promise(&rig), None);
    let end = asked + reliable_part(WAITER_TIMEOUT);
    rig.pass_time(end.since(rig.now.monotonic));
    rig.hear_all(7, heartbeat_with_beat(other, 1));
    assert!(promise(&rig).is_some());
}

#[test]
fn an_owner_that_hands_over_may_confirm_its_successor_at_once() {
    let mut rig = owner(constants_expecting_three());
    rig.hear(3, message_with_promise(token(11), beat(&rig)));
    rig.hear_all(7, Message::WantToken);
    assert_eq!(rig.command(Command::WorkDone), ["TAKE_TOKEN 12-n3-1 to n7"]);
    rig.hear_all(7, heartbeat_with_beat(token(12), 0));
    assert_eq!(rig.state(), State::Waiter);
    assert!(promise(&rig).is_some());
}
