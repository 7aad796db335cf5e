//! Tests of cards (`docs/reference/lab2/membership.md E1` to E4).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::card::{Card, Version, Work};
use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Message};

use super::data::profile;
use super::rig::*;
use crate::lab2::{self, Command, Diagnostic};

const OWN: Version = Version {
    major: 1,
    minor: 2,
    patch: 3,
};
const OTHER: Version = Version { patch: 4, ..OWN };

fn with_version(mut rig: Rig) -> Rig {
    rig.machine = rig.machine.with_version(OWN);
    rig
}

/// Receives a broadcast heartbeat of the owner n3 with this card.
fn hear_owner<'a>(rig: &mut Rig, card: impl Into<Option<Card<'a>>>) {
    let frame = Frame {
        destination: MacAddr::BROADCAST,
        author: mac(3),
        message: here(token(10)),
        profile: Some(profile(1500)),
        card: card.into(),
        locks: None,
        preference: 0,
    };
    let mut bytes = [0; FRAME_LEN_MAX];
    let len = frame.encode(0x88b5, &mut bytes).expect("a legal frame");
    rig.hear_bytes(&bytes[..len], Duration::ZERO);
}

fn card(version: Version, program: Option<&str>) -> Card<'_> {
    let work = program.map(|program| Work {
        held: 1_000_000_000,
        program,
    });
    Card {
        version,
        unheard: None,
        work,
        host_name: None,
        pause: None,
    }
}

fn version_of(rig: &Rig, n: u8) -> Option<Version> {
    let mut members = rig.machine.members();
    members.find(|it| it.mac == mac(n))?.version
}

#[test]
fn members_know_the_program_that_the_owner_announces() {
    let mut rig = with_version(Rig::waiter());
    hear_owner(&mut rig, card(OWN, Some("backup")));
    let work = rig.machine.work().expect("the work was announced").clone();
    assert_eq!(work.program, "backup");
    let held = rig.now.monotonic.since(work.since);
    assert_eq!(held, Duration::from_secs(1));
    hear_owner(&mut rig, card(OWN, None));
    assert_eq!(rig.machine.work(), None);
    // The card no longer fits a heartbeat.
    hear_owner(&mut rig, card(OWN, Some("backup")));
    hear_owner(&mut rig, None);
    assert_eq!(rig.machine.work(), None);
    // This node no longer knows an owner.
    hear_owner(&mut rig, card(OWN, Some("backup")));
    rig.pass_time(constants().waiter_timeout() * 2);
    assert_eq!(rig.machine.work(), None);
}

#[test]
fn the_first_card_announces_the_version() {
    let mut rig = with_version(Rig::waiter());
    hear_owner(&mut rig, None);
    assert_eq!(version_of(&rig, 3), None);
    for version in [OWN, OTHER, OWN] {
        hear_owner(&mut rig, card(version, None));
        assert_eq!(version_of(&rig, 3), Some(version));
    }
    assert_eq!(version_of(&rig, ME), Some(OWN));
}

/// Returns the card of the last broadcast heartbeat.
fn last_card(rig: &Rig) -> Option<(Version, Option<(u64, String)>)> {
    let frames = rig.frames.iter().rev();
    let mut frames = frames.filter_map(|bytes| Frame::decode(bytes).ok());
    let is_one = |frame: &Frame<'_>| {
        frame.destination == MacAddr::BROADCAST
            && matches!(frame.message, Message::TokenIsHere { .. })
    };
    let card = frames.find(is_one)?.card?;
    let work = card.work.map(|it| (it.held, it.program.to_owned()));
    Some((card.version, work))
}

#[test]
fn an_owner_announces_its_program_and_how_long_it_has_held_the_token() {
    let mut rig = with_version(Rig::owner());
    rig.command(Command::WantToken);
    let program = "é".repeat(40);
    let work = lab2::HolderProgram {
        program: program.clone(),
        since: rig.now.monotonic,
    };
    rig.command(Command::Announce(Some(work)));
    let period = constants().heartbeat;
    rig.pass_time(period);
    let (version, work) = last_card(&rig).expect("a card");
    assert_eq!(version, OWN);
    let (held, told) = work.expect("a program holds the token");
    assert!(held <= u64::try_from(period.as_nanos()).expect("a short time"));
    // The name has at most 64 bytes, and no character is split.
    assert_eq!(told, program[..64]);
    assert_eq!(
        rig.machine.work().map(|it| it.program.as_str()),
        Some(&*program)
    );
    rig.command(Command::Announce(None));
    rig.pass_time(period);
    assert_eq!(last_card(&rig), Some((OWN, None)));
}

#[test]
fn a_node_without_a_version_sends_no_card() {
    let mut rig = Rig::owner();
    rig.command(Command::WantToken);
    rig.pass_time(constants().heartbeat);
    assert_eq!(last_card(&rig), None);
}

/// Receives a card of n3 that names this node or another member as silent.
fn hear_of_silence(rig: &mut Rig, unheard: u8) {
    let unheard = Some(mac(unheard));
    hear_owner(
        rig,
        Card {
            unheard,
            ..card(OWN, None)
        },
    );
}

#[test]
fn a_node_learns_from_cards_that_others_do_not_hear_it() {
    let mut rig = with_version(Rig::waiter());
    let trouble = Diagnostic::NotHeardBy {
        by: [mac(3)].into_iter().collect(),
    };
    // Cards from before n3 heard this node do not count, and neither do cards about other members.
    hear_of_silence(&mut rig, ME);
    for _ in 0..40 {
        hear_of_silence(&mut rig, 7);
        rig.pass_time(constants().heartbeat);
    }
    assert!(!rig.machine.problems().any(|it| it == trouble));
    for _ in 0..20 {
        hear_of_silence(&mut rig, ME);
        rig.pass_time(constants().heartbeat);
    }
    assert!(rig.machine.problems().any(|it| it == trouble));
    // n3 hears all members.
    hear_owner(&mut rig, card(OWN, None));
    rig.pass_time(constants().waiter_timeout());
    assert!(!rig.machine.problems().any(|it| it == trouble));
}

#[test]
fn cards_name_the_silent_members_one_after_the_other() {
    let mut rig = with_version(Rig::owner());
    rig.command(Command::WantToken);
    assert_eq!(rig.machine.unheard_member(), None);
    rig.pass_time(constants().heartbeat * 200);
    let named: Vec<_> = (0..2)
        .map(|_| {
            rig.pass_time(constants().heartbeat);
            rig.machine.unheard_member()
        })
        .collect();
    assert!(named.contains(&Some(mac(3))), "{named:?}");
    assert!(named.contains(&Some(mac(7))), "{named:?}");
}
