//! Tests of host names (`docs/reference/lab2/membership.md E5`, `E6`).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::card::{Card, Version};
use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Message, NO_IP};

use super::data::{frame_with_profile, profile};
use super::network::Network;
use super::rig::*;
use crate::Machine;
use crate::lab2::{Adjustment, Command, Event, HostName, Lab2};

const VERSION: Version = Version {
    major: 1,
    minor: 2,
    patch: 3,
};
/// The number of heartbeats in a sign-of-life period.
const SIGN_OF_LIFE_PERIODS: usize = 64;

fn name(text: &str) -> HostName {
    HostName::new(text).expect("a legal host name")
}

/// Gives the node of a rig the host name `own`.
fn with_name(mut rig: Rig) -> Rig {
    let machine = rig.machine.with_version(VERSION);
    rig.machine = machine.with_host_name(Some(name("own")));
    rig
}

/// Receives a broadcast of a member with this host name. Returns the answers.
fn hear_name<'a>(rig: &mut Rig, from: u8, host_name: impl Into<Option<&'a str>>) -> Vec<String> {
    let frame = Frame {
        destination: MacAddr::BROADCAST,
        author: mac(from),
        message: Message::WhereIsToken,
        profile: Some(profile(1500)),
        card: Some(Card {
            version: VERSION,
            unheard: None,
            work: None,
            host_name: host_name.into(),
            pause: None,
        }),
        locks: None,
        preference: 0,
    };
    let mut bytes = [0; FRAME_LEN_MAX];
    let len = frame.encode(0x88b5, &mut bytes).expect("a legal frame");
    rig.hear_bytes(&bytes[..len], Duration::ZERO)
}

fn name_of(rig: &Rig, n: u8) -> Option<String> {
    let mut members = rig.machine.members();
    let member = members.find(|it| it.mac == mac(n))?;
    member.host_name.map(|name| name.to_string())
}

/// For each frame of the last input that caused frames, returns whether the frame has the host name `own`.
fn are_named(rig: &Rig) -> Vec<bool> {
    let frames = rig.last_frames.iter();
    let frames = frames.map(|bytes| Frame::decode(bytes).expect("a legal frame"));
    let is_named = |frame: Frame<'_>| frame.card.is_some_and(|card| card.host_name == Some("own"));
    frames.map(is_named).collect()
}

/// Advances the time until the node sends frames. For each of these frames, returns whether the frame has the host
/// name.
fn are_next_named(rig: &mut Rig) -> Vec<bool> {
    loop {
        let due = rig.machine.poll_timeout().expect("a deadline");
        if !rig.pass_time(due.since(rig.now.monotonic)).is_empty() {
            return are_named(rig);
        }
    }
}

#[test]
fn a_node_keeps_the_last_host_name_of_each_member() {
    let mut rig = with_name(Rig::waiter());
    assert_eq!(name_of(&rig, 3), None);
    assert_eq!(name_of(&rig, ME).as_deref(), Some("own"));
    for (announced, known) in [
        (Some("db1"), "db1"),
        (None, "db1"),
        (Some("db2"), "db2"),
        (Some("own"), "own"),
    ] {
        hear_name(&mut rig, 3, announced);
        assert_eq!(name_of(&rig, 3).as_deref(), Some(known), "{announced:?}");
    }
    rig.hear_all(3, Message::WhereIsToken);
    assert_eq!(name_of(&rig, 3).as_deref(), Some("own"));
}

#[test]
fn a_host_name_is_reported_once_and_before_the_new_member() {
    let mut rig = with_name(Rig::waiter());
    for _ in 0..2 {
        hear_name(&mut rig, 8, "db1");
    }
    let is_about_members =
        |it: &&Event| matches!(it, Event::MemberNamed { .. } | Event::MemberAdded { .. });
    let events: Vec<_> = rig.events.iter().filter(is_about_members).collect();
    let named = Event::MemberNamed {
        mac: mac(8),
        name: name("db1"),
    };
    let added = Event::MemberAdded {
        mac: mac(8),
        members: 3,
    };
    assert_eq!(events, [&named, &added]);
}

#[test]
fn the_host_name_is_forgotten_with_the_member() {
    let mut rig = with_name(Rig::waiter());
    hear_name(&mut rig, 8, "db1");
    rig.hear_all(8, Message::Leaving);
    let members = &[mac(8)];
    rig.hear_all(3, Message::Forget { members });
    assert!(rig.machine.members().all(|it| it.mac != mac(8)));
    rig.hear_all(8, Message::WhereIsToken);
    assert_eq!(name_of(&rig, 8), None);
}

#[test]
fn a_host_name_of_an_author_that_does_not_fit_the_table_is_not_stored() {
    let mut constants = constants();
    constants.max_members = 2;
    let mut rig = with_name(Rig::waiter_with(constants));
    hear_name(&mut rig, 8, "db1");
    let is_named = |it: &Event| matches!(it, Event::MemberNamed { .. });
    assert!(!rig.events.iter().any(is_named), "{:?}", rig.events);
}

#[test]
fn a_waiter_tells_its_host_name_to_new_members_and_with_signs_of_life() {
    let mut rig = with_name(Rig::waiter());
    let mut signs_of_life = 0;
    for _ in 0..SIGN_OF_LIFE_PERIODS {
        rig.pass_time(HEARTBEAT);
        let answers = rig.hear_all(3, here(token(10)));
        let is_to_all = answers == ["PING to all"];
        assert!(is_to_all || answers == ["PING to n3"], "{answers:?}");
        assert_eq!(are_named(&rig), [is_to_all]);
        signs_of_life += usize::from(is_to_all);
    }
    assert!(signs_of_life > 0);
    // The greeting of a new member has the name too.
    let greeting = hear_name(&mut rig, 8, None);
    assert_eq!(greeting[1], "PING to n8");
    assert_eq!(are_named(&rig), [false, true]);
}

#[test]
fn an_owner_announces_its_host_name_once_per_sign_of_life_period() {
    let mut rig = with_name(Rig::owner());
    rig.command(Command::WantToken);
    let mut named = Vec::new();
    for number in 0..2 * SIGN_OF_LIFE_PERIODS + 2 {
        let names = are_next_named(&mut rig);
        assert_eq!(names.len(), 1, "one heartbeat per period");
        if names == [true] {
            named.push(number);
        }
        rig.hear(3, ping(NO_IP));
        rig.hear(7, ping(NO_IP));
    }
    let distances: Vec<_> = named.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(named[0], 0);
    assert_eq!(distances, [SIGN_OF_LIFE_PERIODS; 2]);
}

#[test]
fn an_owner_repeats_its_host_name_for_a_member_that_starts_again() {
    let mut rig = with_name(Rig::owner());
    rig.command(Command::WantToken);
    assert_eq!(are_next_named(&mut rig), [true]);
    assert_eq!(are_next_named(&mut rig), [false]);
    rig.hear_all(7, Message::WhereIsToken);
    assert_eq!(are_next_named(&mut rig), [true]);
    assert_eq!(are_next_named(&mut rig), [false]);
}

#[test]
fn only_the_first_of_many_requests_has_the_host_name() {
    let mut rig = with_name(Rig::waiter());
    let names: Vec<_> = (0..3)
        .flat_map(|_| {
            rig.command(Command::WantToken);
            let names = are_named(&rig);
            rig.command(Command::WorkDone);
            names
        })
        .collect();
    assert_eq!(names, [true, false, false]);
}

#[test]
fn a_hand_over_has_no_host_name() {
    let mut rig = with_name(Rig::owner());
    let sent = rig.pass_time(IDLE_HOLD);
    assert_eq!(sent, ["TAKE_TOKEN 12-n3-1 to n7"]);
    assert_eq!(are_named(&rig), [false]);
}

#[test]
fn a_question_has_the_host_name_if_it_fits_the_mtu_of_all_members() {
    // The frame has 8 bytes, the profile 43, the card 25 and the host name 8.
    for (mtu, expected) in [(84, true), (83, false)] {
        let mut rig = with_name(Rig::asking());
        let frame = frame_with_profile(3, Message::WantToken, profile(mtu));
        rig.hear_bytes(&frame, Duration::ZERO);
        rig.link(crate::LinkState::Down);
        rig.link_up();
        assert_eq!(are_named(&rig), [expected], "{mtu}");
        let card = Frame::decode(&rig.frames[0]).expect("a legal frame").card;
        assert_eq!(card.map(|card| card.version), Some(VERSION));
    }
}

/// Returns the number of running nodes that know the host name of the node `number`.
fn count_namings(network: &Network, number: u8) -> usize {
    let knows = |machine: &&Lab2| {
        let mut members = machine.members();
        let member = members.find(|it| it.mac == mac(number));
        member.and_then(|it| it.host_name) == Some(name(&format!("host{number}")))
    };
    network.live().filter(knows).count()
}

#[test]
fn thirty_members_know_the_host_name_of_a_new_member_within_three_heartbeats() {
    const SIZE: u8 = 30;
    let mut network = Network::with_links_down(SIZE, constants(), 7);
    for node in &mut network.nodes {
        let host_name = Some(name(&format!("host{}", node.number)));
        let machine = node.machine.take().expect("a running node");
        node.machine = Some(machine.with_version(VERSION).with_host_name(host_name));
    }
    let newest = usize::from(SIZE) - 1;
    for at in 0..newest {
        network.link_up(at);
    }
    let sign_of_life_period = HEARTBEAT * 64;
    network.run(sign_of_life_period * 2);
    for number in 1..SIZE {
        // The new member does not know the other members, because its link is down.
        assert_eq!(count_namings(&network, number), newest, "n{number}");
    }
    network.link_up(newest);
    let everywhere = usize::from(SIZE);
    network.run_until(HEARTBEAT * 3, |network| {
        count_namings(network, SIZE) == everywhere
    });
    network.run_until(sign_of_life_period + HEARTBEAT * 3, |network| {
        (1..=SIZE).all(|number| count_namings(network, number) == everywhere)
    });
}

#[test]
fn a_node_announces_a_new_host_name_at_once() {
    let mut rig = with_name(Rig::waiter());
    let constants = constants();
    let rename = |text: &str| {
        Command::Adjust(Adjustment {
            idle_hold: constants.idle_hold,
            expect: constants.expect,
            forget: constants.forget,
            preference: 0,
            host_name: Some(name(text)),
        })
    };
    assert_eq!(rig.command(rename("own")), [""; 0], "the name is the same");
    assert_eq!(rig.command(rename("new")), ["PING to all"]);
    assert_eq!(name_of(&rig, ME).as_deref(), Some("new"));
    assert_eq!(rig.command(rename("own")), ["PING to all"]);
    assert_eq!(are_named(&rig), [true]);
}
