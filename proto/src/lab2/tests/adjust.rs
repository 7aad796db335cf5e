//! Tests of constants that change while the node runs (`docs/reference/lab2/membership.md F1`, F23).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::card::Card;
use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Message, Version};

use super::constants::profile_of;
use super::grade::{beat, constants_expecting_three, message_with_promise, owner};
use super::rig::{Rig, constants, decode, mac, ms, token};
use crate::lab2::{Adjustment, Command, Constants, Event, FOREVER, Grade, State};

fn adjust(rig: &mut Rig, adjustment: Adjustment) -> Vec<String> {
    rig.command(Command::Adjust(adjustment))
}

/// Returns an adjustment that changes only the expected number of members.
fn expecting(rig: &Rig, members: usize) -> Adjustment {
    let constants = rig.machine.constants();
    Adjustment {
        preference: 0,
        idle_hold: constants.idle_hold,
        expect: Some(members),
        forget: constants.forget,
        host_name: None,
    }
}

/// Receives a broadcast of n3 with the profile of these constants, and with a card.
fn hear_profile_and_card(rig: &mut Rig, constants: &Constants) {
    let version = Version {
        major: 1,
        minor: 0,
        patch: 0,
    };
    let frame = Frame {
        destination: MacAddr::BROADCAST,
        author: mac(3),
        message: Message::WantToken,
        profile: Some(profile_of(constants)),
        card: Some(Card {
            version,
            unheard: None,
            work: None,
            host_name: None,
            pause: None,
        }),
        locks: None,
        preference: 0,
    };
    let mut bytes = [0; FRAME_LEN_MAX];
    let len = frame.encode(0x88b5, &mut bytes).expect("a legal frame");
    rig.hear_bytes(&bytes[..len], Duration::ZERO);
}

/// Returns an OWNER with the promise of one other member, and the grade that follows.
fn owner_with_promise(constants: Constants) -> (Rig, Grade) {
    let mut rig = owner(constants);
    let number = beat(&rig);
    rig.hear(3, message_with_promise(token(11), number));
    let grade = rig.machine.grade();
    (rig, grade)
}

#[test]
fn a_larger_number_is_announced_and_counts_at_once() {
    let (mut rig, grade) = owner_with_promise(constants_expecting_three());
    assert_eq!(grade, Grade::Quorum, "two of three");
    let adjustment = expecting(&rig, 5);
    assert_eq!(adjust(&mut rig, adjustment), ["PING to all"]);
    let announced = decode(rig.frames.last().expect("a frame")).profile;
    assert_eq!(announced.map(|profile| profile.expect), Some(5));
    assert_eq!(rig.state(), State::Owner);
    assert_ne!(rig.machine.grade(), Grade::Quorum, "two of five");
}

#[test]
fn a_smaller_number_counts_when_the_other_members_have_it() {
    let of = |members| Constants {
        expect: Some(members),
        ..constants()
    };
    let (mut rig, _) = owner_with_promise(of(5));
    hear_profile_and_card(&mut rig, &of(5));
    let adjustment = expecting(&rig, 3);
    adjust(&mut rig, adjustment);
    assert_eq!(rig.machine.votes().ring, 5, "n3 still expects five members");
    let differs =
        |event: &Event| matches!(event, Event::MemberDiffers { mac: it, .. } if *it == mac(3));
    assert!(rig.events.iter().any(differs), "{:?}", rig.events);
    hear_profile_and_card(&mut rig, &of(3));
    assert_eq!(rig.machine.votes().ring, 3);
}

#[test]
fn a_shorter_idle_hold_ends_the_present_one() {
    let mut rig = Rig::owner_with(Constants {
        idle_hold: FOREVER,
        ..constants()
    });
    assert!(
        !rig.pass_time(ms(200)).join(" ").contains("TAKE_TOKEN"),
        "the owner keeps the token"
    );
    let adjustment = Adjustment {
        idle_hold: ms(100),
        expect: None,
        forget: None,
        preference: 0,
        host_name: None,
    };
    assert_eq!(adjust(&mut rig, adjustment), [""; 0]);
    assert_eq!(rig.state(), State::Owner);
    let sent = rig.pass_time(ms(150)).join(" ");
    assert!(sent.contains("TAKE_TOKEN"), "{sent}");
}
