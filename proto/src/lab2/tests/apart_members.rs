//! Tests of members that are apart (`docs/reference/lab2/faults.md X1` to X8).

use std::time::Duration;

use ring_codec::lab2::{Message, NO_IP, Profile};

use super::constants::{heartbeat, profile_of};
use super::data::frame_with_profile;
use super::grade::{
    beat, constants_expecting_three, heartbeat_with_beat, message_with_promise, owner, promise,
};
use super::rig::*;
use crate::LinkState;
use crate::lab2::{Command, Constants, Diagnostic, Event, Grade, Reason, State};
use crate::machine::Machine;

const SILENCE: Duration = Duration::from_millis(128 * 100);

fn hear_of(rig: &mut Rig, from: u8, profile: Profile) -> Vec<String> {
    rig.hear_bytes(
        &frame_with_profile(from, Message::WhereIsToken, profile),
        Duration::ZERO,
    )
}

/// Returns an OWNER whose heartbeat period is `millis`. The OWNER knows three members that have the default period.
fn owner_among_default_members(millis: u64) -> Rig {
    let mut rig = Rig::owner_with(heartbeat(millis));
    for n in [3, 7, 9] {
        hear_of(&mut rig, n, profile_of(&constants()));
    }
    rig
}

fn reports(rig: &Rig) -> Vec<(Option<u8>, bool)> {
    let of = |event: &Event| match *event {
        Event::DiagnosticChanged {
            trouble: Diagnostic::Apart { mac },
            over,
        } => Some((mac.map(|mac| mac.0[5]), over)),
        _ => None,
    };
    rig.events.iter().filter_map(of).collect()
}

/// Returns the reports about this node itself.
fn own_reports(rig: &Rig) -> Vec<bool> {
    let own = reports(rig).into_iter().filter(|(of, _)| of.is_none());
    own.map(|(_, over)| over).collect()
}

/// Whether the last frame announces that the node is paused.
fn announces_pause(rig: &Rig) -> bool {
    let last = rig.frames.last().map(|frame| decode(frame).message);
    matches!(last, Some(Message::Ping { paused: true, .. }))
}

#[test]
fn a_node_that_is_apart_gives_up_the_token_and_neither_elects_nor_owns() {
    for millis in [1, 5_000] {
        let mut rig = owner_among_default_members(millis);
        assert_eq!(rig.state(), State::Looser, "{millis} ms");
        let lets_go = |event: &Event| {
            matches!(
                event,
                Event::StateChanged {
                    reason: Reason::Apart,
                    ..
                }
            )
        };
        assert!(rig.events.iter().any(lets_go));
        assert!(rig.machine.is_apart());
        assert_eq!(own_reports(&rig), [false]);
        // The node announces that it is paused, and asks as often as the ring's timeouts require.
        assert_eq!(rig.pass_time(Duration::ZERO), ["PING to all"]);
        assert!(announces_pause(&rig));
        let sent = rig.timeline(ms(1_000));
        let asks = sent
            .iter()
            .filter(|(_, line)| line == "WHERE_IS_TOKEN to all");
        assert_eq!(asks.count(), 5, "{sent:?}");
        rig.hear_all(3, generating(token_of(30, 3, 2)));
        assert_eq!(rig.state(), State::Looser);
        // A token that is offered to the node stays with the giver.
        assert_eq!(rig.hear(3, take(token(40))), ["PING to n3"]);
        assert!(announces_pause(&rig));
        // The node relies on a token for as long as the other members.
        rig.hear_all(3, here(token(50)));
        assert_eq!(rig.state(), State::Waiter);
        rig.pass_time(WAITER_TIMEOUT - ms(1));
        assert_eq!(rig.state(), State::Waiter);
        rig.pass_time(ms(1));
        assert_eq!(rig.state(), State::Looser);
    }
}

#[test]
fn a_factor_of_ten_is_not_apart() {
    for millis in [10, 1_000] {
        let rig = owner_among_default_members(millis);
        assert_eq!(
            (rig.state(), reports(&rig)),
            (State::Owner, vec![]),
            "{millis} ms"
        );
    }
}

#[test]
fn a_node_may_own_again_when_the_others_are_gone_or_agree() {
    let mut rig = owner_among_default_members(5_000);
    rig.pass_time(SILENCE + ms(1_000));
    assert!(!rig.machine.is_apart());
    assert_eq!(own_reports(&rig), [false, true]);
    rig.pass_time(ms(60_000));
    assert_eq!(rig.state(), State::Owner);

    let mut rig = owner_among_default_members(1);
    rig.pass_time(Duration::ZERO);
    for n in [3, 7] {
        assert!(rig.machine.is_apart());
        hear_of(&mut rig, n, profile_of(&heartbeat(1)));
    }
    assert!(!rig.machine.is_apart());
    // The node announces the change to all members.
    assert_eq!(rig.pass_time(Duration::ZERO), ["PING to all"]);
}

#[test]
fn a_node_that_is_apart_does_not_ask_while_its_link_is_down() {
    let mut rig = owner_among_default_members(5_000);
    rig.link(LinkState::Down);
    rig.stall(SILENCE + ms(1_000));
    assert!(rig.wake().is_empty());
    assert!(!rig.machine.is_apart());
    assert_eq!(rig.machine.poll_timeout(), None);
}

#[test]
fn timeouts_of_a_member_that_is_apart_bind_no_other() {
    let short = |shortest: Duration| Profile {
        shortest: crate::time::nanos(shortest),
        ..profile_of(&constants())
    };
    let take = Constants {
        take_timeout: Duration::from_micros(20),
        ..constants()
    };
    for profile in [
        profile_of(&heartbeat(1)),
        profile_of(&heartbeat(10_000)),
        short(ms(4)),
        profile_of(&take),
    ] {
        let mut rig = Rig::owner();
        rig.command(Command::WantToken);
        hear_of(&mut rig, 9, profile);
        assert_eq!(
            rig.machine.shortest_waiter_timeout(),
            WAITER_TIMEOUT,
            "{profile:?}"
        );
        let sent = rig.timeline(ms(1_000));
        let beats = sent
            .iter()
            .filter(|(_, line)| line.starts_with("TOKEN_IS_HERE"));
        assert!((9..=11).contains(&beats.count()), "{sent:?}");
        let settled = rig.machine.reliable_from().expect("the link is up");
        assert!(settled.since(rig.now.monotonic) <= WAITER_TIMEOUT * 10);
    }
}

#[test]
fn a_member_that_is_apart_is_reported_once_until_it_agrees_or_leaves() {
    let mut rig = Rig::owner();
    for _ in 0..3 {
        hear_of(&mut rig, 9, profile_of(&heartbeat(5_000)));
        rig.pass_time(ms(300));
    }
    assert_eq!(reports(&rig), [(Some(9), false)]);
    let far = Diagnostic::Apart { mac: Some(mac(9)) };
    assert!(rig.machine.problems().any(|it| it == far));
    hear_of(&mut rig, 9, profile_of(&constants()));
    hear_of(&mut rig, 9, profile_of(&heartbeat(1)));
    rig.hear_all(9, Message::Leaving);
    let all = [false, true, false, true].map(|over| (Some(9), over));
    assert_eq!(reports(&rig), all);
    assert!(!rig.machine.problems().any(|it| it == far));
}

/// All members must compute the same ring timeouts.
#[test]
fn of_two_distant_nodes_the_one_nearer_to_the_default_goes_on() {
    let mut rig = Rig::owner_with(heartbeat(5_000));
    rig.hear(7, Message::Leaving);
    hear_of(&mut rig, 3, profile_of(&constants()));
    assert!(rig.machine.is_apart());
    let mut rig = Rig::owner();
    rig.hear(7, Message::Leaving);
    hear_of(&mut rig, 3, profile_of(&heartbeat(5_000)));
    assert_eq!((rig.machine.is_apart(), rig.state()), (false, State::Owner));
    assert_eq!(reports(&rig), [(Some(3), false)]);
}

#[test]
fn a_lack_of_a_quorum_is_reported_once_with_the_silent_members() {
    let mut rig = Rig::owner_with(Constants {
        expect: Some(2),
        ..constants()
    });
    let quorum_reports = |rig: &Rig| {
        let of = |event: &Event| match *event {
            Event::DiagnosticChanged {
                trouble: trouble @ Diagnostic::NoQuorum { .. },
                over,
            } => Some((trouble, over)),
            _ => None,
        };
        rig.events.iter().filter_map(of).collect::<Vec<_>>()
    };
    // n3 and n7, two of the three heard members, become silent one after the other.
    for _ in 0..40 {
        rig.pass_time(SILENCE / 20);
        rig.hear(7, ping(NO_IP));
    }
    assert_eq!(quorum_reports(&rig), []);
    rig.pass_time(SILENCE + ms(500));
    let trouble = Diagnostic::NoQuorum {
        present: 1,
        ring: 3,
        expected: 2,
        silent: [mac(3), mac(7)].into_iter().collect(),
    };
    assert_eq!(quorum_reports(&rig), [(trouble, false)]);
    assert!(rig.machine.problems().any(|it| it == trouble));
    rig.hear(7, ping(NO_IP));
    rig.pass_time(ms(300));
    assert_eq!(quorum_reports(&rig), [(trouble, false), (trouble, true)]);
}

/// Returns the constants of a ring of three with this heartbeat, in milliseconds.
fn constants_of_three(millis: u64) -> Constants {
    Constants {
        expect: Some(3),
        ..heartbeat(millis)
    }
}

#[test]
fn an_owner_with_a_quorum_is_apart_only_after_its_work() {
    let mut rig = owner(constants_expecting_three());
    let number = beat(&rig);
    for n in [3, 7] {
        rig.hear(n, message_with_promise(token(11), number));
    }
    for n in [3, 7] {
        hear_of(&mut rig, n, profile_of(&constants_of_three(2_000)));
    }
    rig.pass_time(ms(200));
    assert_eq!(rig.machine.grade(), Grade::Quorum);
    assert_eq!((rig.state(), rig.machine.is_apart()), (State::Owner, false));
    rig.command(Command::WorkDone);
    rig.pass_time(ms(500));
    assert!(rig.machine.is_apart());
    assert_ne!(rig.state(), State::Owner);
}

#[test]
fn a_node_that_is_apart_promises_no_longer_than_it_waits_after_a_start() {
    let slow = profile_of(&constants_of_three(2_500));
    let mut rig = Rig::waiter_with(constants_expecting_three());
    for n in [3, 7] {
        hear_of(&mut rig, n, slow);
    }
    assert!(rig.machine.is_apart());
    for number in 0..5 {
        rig.pass_time(ms(2_500));
        rig.hear_all(3, heartbeat_with_beat(token(10), number));
    }
    let lasts = promise(&rig).expect("the node has run long enough").lasts;
    assert_eq!(Duration::from_nanos(lasts), WAITER_TIMEOUT * 10);
}

#[test]
fn a_node_that_is_apart_uses_timeouts_that_work_whatever_profiles_contain() {
    let says_nonsense = |nanos| Profile {
        patience: nanos,
        shortest: nanos,
        take: nanos,
        ..profile_of(&constants())
    };
    for (nanos, most) in [(1, 600), (u64::MAX, 1)] {
        let mut rig = Rig::looser();
        for n in [3, 7] {
            hear_of(&mut rig, n, says_nonsense(nanos));
        }
        assert!(rig.machine.is_apart());
        let sent = rig.timeline(ms(1_000));
        assert!(sent.len() <= most, "{}: {:?}", sent.len(), &sent[..most]);
        // After an hour of silence, a member does not count, whatever heartbeat it has announced.
        rig.stall(Duration::from_secs(60 * 60));
        rig.wake();
        assert!(!rig.machine.is_apart(), "{nanos} ns");
    }
}

#[test]
fn a_node_may_own_as_soon_as_the_others_have_left() {
    let mut rig = owner_among_default_members(5_000);
    for n in [3, 7, 9] {
        assert!(rig.machine.is_apart());
        rig.hear_all(n, Message::Leaving);
    }
    assert!(!rig.machine.is_apart());
}
