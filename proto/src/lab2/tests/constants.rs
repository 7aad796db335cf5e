//! Tests of members with different constants (`docs/reference/lab2/membership.md F14` to F22).

use std::time::Duration;

use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Message, Profile};

use super::data::{frame_with_profile, profile};
use super::rig::*;
use crate::lab2::{Constants, Event, Grade, State};

/// Returns the constants that follow from this heartbeat, in milliseconds.
pub(super) fn heartbeat(millis: u64) -> Constants {
    Constants {
        idle_hold: ms(60_000),
        ..Constants::for_heartbeat(ms(millis))
    }
}

/// Returns the profile of a member with these constants.
pub(super) fn profile_of(constants: &Constants) -> Profile {
    let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).expect("short");
    let waiter_timeout = nanos(constants.waiter_timeout());
    Profile {
        constants: constants.digest(),
        patience: waiter_timeout,
        shortest: waiter_timeout,
        take: nanos(constants.take_timeout),
        expect: constants
            .expect
            .map_or(0, |n| u32::try_from(n).expect("few")),
        ..profile(1_500)
    }
}

/// Makes the node receive a broadcast from n9 with this profile.
fn hear_profile_of_n9(rig: &mut Rig, profile: Profile) {
    let bytes = frame_with_profile(9, Message::WantToken, profile);
    rig.hear_bytes(&bytes, Duration::ZERO);
}

/// Returns an OWNER with work and a heartbeat of a second.
fn slow_owner() -> Rig {
    let mut rig = Rig::owner_with(heartbeat(1_000));
    rig.command(crate::lab2::Command::WantToken);
    rig.pass_time(ms(20));
    rig
}

fn lease(rig: &Rig) -> Duration {
    let until = rig.machine.lease_until().expect("a lease");
    until.since(rig.now.monotonic)
}

#[test]
fn an_owner_uses_the_shortest_known_waiter_timeout() {
    let mut rig = slow_owner();
    assert!(lease(&rig) > ms(3_000));
    hear_profile_of_n9(&mut rig, profile_of(&heartbeat(100)));
    assert_eq!(lease(&rig), ms(400));
    let sent = rig.timeline(ms(1_000));
    let beats = sent
        .iter()
        .filter(|(_, line)| line.starts_with("TOKEN_IS_HERE"));
    assert!((9..=11).contains(&beats.count()), "{sent:?}");
    assert_eq!(rig.state(), State::Owner);
    assert!(lease(&rig) <= ms(400));
}

#[test]
fn a_shortest_waiter_timeout_that_a_member_passes_on_counts() {
    let mut rig = slow_owner();
    let told = Profile {
        shortest: 400_000_000,
        ..profile_of(&heartbeat(1_000))
    };
    hear_profile_of_n9(&mut rig, told);
    assert_eq!(lease(&rig), ms(400));
    // The node does not repeat timeouts that others have repeated: no member would ever forget them.
    rig.pass_time(ms(100));
    let beat = rig.frames.last().expect("a heartbeat");
    assert_eq!(
        decode(beat).profile.expect("a profile").shortest,
        4_000_000_000
    );
}

#[test]
fn an_owner_uses_its_own_waiter_timeout_again_when_the_shorter_one_is_gone() {
    let mut rig = slow_owner();
    hear_profile_of_n9(&mut rig, profile_of(&heartbeat(100)));
    hear_profile_of_n9(&mut rig, profile_of(&heartbeat(1_000)));
    rig.pass_time(ms(200));
    assert!(lease(&rig) > ms(3_000), "{:?}", lease(&rig));
}

#[test]
fn an_owner_beside_a_member_ten_times_as_fast_keeps_its_token() {
    let mut rig = slow_owner();
    hear_profile_of_n9(&mut rig, profile_of(&heartbeat(100)));
    let sent = rig.pass_time(ms(1_000));
    assert!((9..=11).contains(&sent.len()), "{} frames", sent.len());
    assert_eq!(rig.state(), State::Owner);
}

/// The silent member may be on the other side of a split. So the number of members that the silent member expects still
/// counts.
#[test]
fn of_a_silent_member_only_the_expected_number_counts() {
    let mut rig = slow_owner();
    let sent = Profile {
        mtu: 576,
        expect: 4,
        ..profile_of(&heartbeat(100))
    };
    hear_profile_of_n9(&mut rig, sent);
    let data = |rig: &Rig| rig.machine.data_limit().len;
    assert_eq!((rig.machine.expected_members(), data(&rig)), (4, 576 - 91));
    for _ in 0..257 {
        rig.hear(3, ping(ring_codec::lab2::NO_IP));
        rig.pass_time(ms(500));
    }
    assert_eq!(rig.machine.shortest_waiter_timeout(), ms(4_000));
    assert!(lease(&rig) > ms(3_000), "{:?}", lease(&rig));
    assert_eq!((rig.machine.expected_members(), data(&rig)), (4, 1_024));
    hear_profile_of_n9(&mut rig, sent);
    assert_eq!((lease(&rig), data(&rig)), (ms(400), 576 - 91));
}

#[test]
fn no_profile_makes_an_owner_flood_the_segment() {
    let mut rig = slow_owner();
    let hasty = Profile {
        patience: 0,
        shortest: 0,
        ..profile_of(&heartbeat(1_000))
    };
    hear_profile_of_n9(&mut rig, hasty);
    let sent = rig.pass_time(ms(1_000));
    assert!(sent.len() <= 1_001, "{} frames", sent.len());
    assert_eq!(rig.state(), State::Owner);
}

#[test]
fn a_node_grants_nothing_for_the_longest_waiter_timeout_after_its_start() {
    let mut rig = Rig::waiter();
    let settles = |rig: &Rig| rig.machine.reliable_from().expect("the link is up");
    let before = settles(&rig);
    hear_profile_of_n9(&mut rig, profile_of(&heartbeat(1_000)));
    assert_eq!(settles(&rig).since(before), ms(3_600));
    let endless = Profile {
        patience: u64::MAX,
        ..profile_of(&heartbeat(1_000))
    };
    hear_profile_of_n9(&mut rig, endless);
    assert!(settles(&rig).since(before) < ms(400 * 10));
}

#[test]
fn a_difference_is_reported_once_and_again_when_it_changes() {
    let mut rig = Rig::waiter();
    hear_profile_of_n9(&mut rig, profile_of(&constants()));
    let named = |rig: &Rig| {
        let is_about = |event: &&Event| {
            matches!(
                event,
                Event::MemberDiffers { .. } | Event::MemberAgrees { .. }
            )
        };
        rig.events
            .iter()
            .filter(is_about)
            .copied()
            .collect::<Vec<_>>()
    };
    assert_eq!(named(&rig), []);
    for _ in 0..3 {
        hear_profile_of_n9(&mut rig, profile_of(&heartbeat(1_000)));
    }
    let [
        Event::MemberDiffers {
            mac: who,
            difference,
        },
    ] = named(&rig)[..]
    else {
        panic!("{:?}", named(&rig));
    };
    assert_eq!(who, mac(9));
    let waiter_timeout = (
        difference.theirs.waiter_timeout,
        difference.ours.waiter_timeout,
    );
    assert_eq!(waiter_timeout, (ms(4_000), ms(400)));
    let view = rig.machine.members().find(|member| member.mac == mac(9));
    assert_eq!(view.expect("a member").differs, Some(difference));
    hear_profile_of_n9(&mut rig, profile_of(&constants()));
    assert_eq!(named(&rig)[1..], [Event::MemberAgrees { mac: mac(9) }]);
}

#[test]
fn a_different_idle_hold_is_no_difference() {
    let mut rig = Rig::waiter();
    let other = Constants {
        idle_hold: ms(3),
        ..constants()
    };
    hear_profile_of_n9(&mut rig, profile_of(&other));
    let differs = rig
        .events
        .iter()
        .any(|event| matches!(event, Event::MemberDiffers { .. }));
    assert!(!differs);
}

#[test]
fn a_majority_counts_from_the_largest_expected_number() {
    let expect = |expect| Constants {
        expect,
        idle_hold: ms(60_000),
        ..constants()
    };
    for (own, theirs, grade) in [
        (Some(3), Some(3), Grade::Quorum),
        (Some(3), Some(5), Grade::AllHeard),
        (None, Some(9), Grade::AllHeard),
    ] {
        let (mut rig, _) = Rig::start(expect(own), BLANK);
        rig.pass_time(WAITER_TIMEOUT + LOOSER_TIMEOUT + 2 * ANSWER_TIMEOUT);
        assert_eq!(rig.state(), State::Owner);
        hear_profile_of_n9(&mut rig, profile_of(&expect(theirs)));
        let beat = rig.pass_time(HEARTBEAT);
        assert!(!beat.is_empty());
        let token = rig.machine.token().expect("a token");
        let number = rig
            .frames
            .iter()
            .find_map(|bytes| match decode(bytes).message {
                Message::TokenIsHere { beat, .. } => beat,
                _ => None,
            });
        let promise = ring_codec::lab2::Promise {
            token,
            beat: number.expect("a heartbeat asks for promises"),
            lasts: 400_000_000,
        };
        let ping = Message::Ping {
            digest: rig.machine.digest(),
            ip: ip(9),
            promise: Some(promise),
            paused: false,
        };
        let frame = Frame {
            destination: mac(ME),
            author: mac(9),
            message: ping,
            profile: Some(profile_of(&expect(theirs))),
            card: None,
            locks: None,
            preference: 0,
        };
        let mut bytes = [0; FRAME_LEN_MAX];
        let len = frame.encode(0x88b5, &mut bytes).expect("a legal frame");
        rig.hear_bytes(&bytes[..len], Duration::ZERO);
        assert_eq!(rig.machine.grade(), grade, "{own:?} and {theirs:?}");
    }
}

#[test]
fn an_offer_is_stale_after_its_givers_take_timeout() {
    let mut rig = Rig::waiter_with(heartbeat(1_000));
    let age = ms(20);
    hear_profile_of_n9(&mut rig, profile_of(&heartbeat(1_000)));
    hear_profile_of_n9(&mut rig, profile_of(&heartbeat(100)));
    rig.hear_late(9, take(token(20)), age);
    assert_eq!(rig.state(), State::Waiter);
    rig.hear_late(7, take(token(20)), age);
    assert_eq!(rig.state(), State::Owner);
}
