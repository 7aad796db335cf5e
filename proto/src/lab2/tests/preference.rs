//! Tests of preferences (`docs/reference/lab2/passing.md P34` to P37, `membership.md E9`, `E10`).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Message, NO_IP};

use super::data::profile;
use super::network::Network;
use super::rig::*;
use crate::lab2::{Adjustment, Command, Constants, Diagnostic, FOREVER, Lab2, State};

/// Receives a broadcast question of a member with this preference.
fn hear_preference(rig: &mut Rig, from: u8, preference: u8) -> Vec<String> {
    let frame = Frame {
        destination: MacAddr::BROADCAST,
        author: mac(from),
        message: Message::WhereIsToken,
        profile: Some(profile(1500)),
        card: None,
        locks: None,
        preference,
    };
    let mut bytes = [0; FRAME_LEN_MAX];
    let len = frame.encode(0x88b5, &mut bytes).expect("a legal frame");
    rig.hear_bytes(&bytes[..len], Duration::ZERO)
}

fn with_preference(mut rig: Rig, preference: u8) -> Rig {
    rig.machine = rig.machine.with_preference(preference);
    rig
}

fn endless() -> Constants {
    Constants {
        idle_hold: FOREVER,
        ..constants()
    }
}

/// Returns the preference of each frame of the last input that caused frames.
fn announced(rig: &Rig) -> Vec<u8> {
    let frames = rig.last_frames.iter();
    let preference = |bytes: &Vec<u8>| Frame::decode(bytes).expect("a legal frame").preference;
    frames.map(preference).collect()
}

fn offers(sent: &[String]) -> Vec<&str> {
    let lines = sent.iter().map(String::as_str);
    lines.filter(|line| line.starts_with("TAKE")).collect()
}

/// Advances the time by some heartbeat periods. Meanwhile, these members answer each heartbeat. Stops at the first
/// offer, and returns it.
fn offer_within(rig: &mut Rig, periods: u32, answering: &[u8]) -> Option<String> {
    for _ in 0..periods {
        for _ in 0..HEARTBEAT.as_millis() {
            let sent = rig.pass_time(ms(1));
            if let Some(offer) = offers(&sent).first() {
                return Some((*offer).to_owned());
            }
        }
        for &from in answering {
            rig.hear(from, ping(NO_IP));
        }
    }
    None
}

#[test]
fn an_idle_owner_offers_the_token_to_the_preferred_member_and_not_to_the_next() {
    let mut rig = Rig::owner();
    hear_preference(&mut rig, 3, 9);
    assert_eq!(
        offer_within(&mut rig, 2, &[3, 7]).as_deref(),
        Some("TAKE_TOKEN 12-n3-1 to n3")
    );
}

#[test]
fn without_idle_hold_and_with_an_endless_one_the_preferred_member_gets_the_token() {
    let mut rig = Rig::owner_with(endless());
    assert_eq!(offer_within(&mut rig, 20, &[3, 7]), None);
    hear_preference(&mut rig, 3, 9);
    assert_eq!(
        offer_within(&mut rig, 2, &[3, 7]).as_deref(),
        Some("TAKE_TOKEN 12-n3-1 to n3")
    );
}

#[test]
fn an_owner_with_the_highest_preference_keeps_the_idle_token() {
    for theirs in [0, 8, 9] {
        let mut rig = with_preference(Rig::waiter(), 9);
        rig.hear(7, ping(NO_IP));
        hear_preference(&mut rig, 3, theirs);
        rig.hear(3, take(token(11)));
        assert_eq!(offer_within(&mut rig, 100, &[3, 7]), None, "{theirs}");
        assert_eq!(rig.state(), State::Owner);
    }
}

#[test]
fn a_member_that_wants_the_token_comes_before_the_preferred_member() {
    let mut rig = Rig::owner();
    hear_preference(&mut rig, 3, 9);
    let sent = rig.hear_all(7, Message::WantToken);
    assert_eq!(offers(&sent), ["TAKE_TOKEN 12-n3-1 to n7"]);
    let mut rig = with_preference(Rig::owner(), 9);
    let sent = rig.hear_all(7, Message::WantToken);
    assert_eq!(offers(&sent), ["TAKE_TOKEN 12-n3-1 to n7"]);
}

#[test]
fn work_is_not_interrupted_for_the_preferred_member() {
    let mut rig = Rig::owner_with(endless());
    rig.command(Command::WantToken);
    hear_preference(&mut rig, 3, 9);
    assert_eq!(offer_within(&mut rig, 50, &[3, 7]), None);
    let sent = rig.command(Command::WorkDone);
    assert_eq!(offers(&sent), ["TAKE_TOKEN 12-n3-1 to n3"]);
}

#[test]
fn a_preferred_member_that_is_paused_or_was_not_heard_gets_no_offer() {
    let mut rig = Rig::owner_with(endless());
    hear_preference(&mut rig, 3, 9);
    let paused = Message::Ping {
        digest: SAME,
        ip: NO_IP,
        promise: None,
        paused: true,
    };
    rig.hear(3, paused);
    assert_eq!(offers(&rig.pass_time(HEARTBEAT * 3)), [""; 0]);
    let mut rig = Rig::owner_with(endless());
    hear_preference(&mut rig, 3, 9);
    rig.command(Command::WantToken);
    assert_eq!(offer_within(&mut rig, 5, &[7]), None);
    let sent = rig.command(Command::WorkDone);
    assert_eq!(offers(&sent), [""; 0], "n3 may be dead");
    assert_eq!(offer_within(&mut rig, 5, &[7]), None);
    assert_eq!(
        offer_within(&mut rig, 2, &[3, 7]).as_deref(),
        Some("TAKE_TOKEN 12-n3-1 to n3")
    );
}

#[test]
fn the_token_stays_if_the_preferred_member_does_not_take_it_and_each_failure_doubles_the_wait() {
    // In ring order, n3 follows n7, and no member follows n3.
    for preferred in [3, 7] {
        let mut rig = with_preference(Rig::owner_with(endless()), 1);
        hear_preference(&mut rig, preferred, 9);
        let receiver = format!("to n{preferred}");
        let mut waits = Vec::new();
        for _ in 0..3 {
            let start = rig.now.monotonic;
            let offer = offer_within(&mut rig, 500, &[3, 7]);
            let offer = offer.expect("an offer");
            assert!(offer.ends_with(&receiver), "{offer}");
            waits.push(rig.now.monotonic.since(start));
            let failed = rig.pass_time(HAND_OVER);
            let others = offers(&failed).into_iter();
            assert_eq!(others.filter(|it| !it.ends_with(&receiver)).count(), 0);
            assert_eq!(rig.state(), State::Owner);
        }
        let [first, second, third] = waits[..] else {
            panic!("three waits")
        };
        let is_about = |wait, periods: u32| {
            wait >= HEARTBEAT * (periods - 1) && wait <= HEARTBEAT * (periods + 2)
        };
        assert!(is_about(first, 1), "{waits:?}");
        assert!(is_about(second, 64), "{waits:?}");
        assert!(is_about(third, 128), "{waits:?}");
    }
}

/// Returns the number of failures that the node reports about its preferred member.
fn reported_failures(rig: &Rig) -> Option<u32> {
    rig.machine.problems().find_map(|problem| match problem {
        Diagnostic::PreferredRefuses { in_a_row, .. } => Some(in_a_row),
        _ => None,
    })
}

#[test]
fn a_preferred_member_that_repeatedly_does_not_take_the_token_is_a_problem_until_it_owns_the_token()
{
    let mut rig = with_preference(Rig::owner_with(endless()), 1);
    hear_preference(&mut rig, 3, 9);
    for failures in 1..=4 {
        offer_within(&mut rig, 500, &[3, 7]).expect("an offer");
        rig.pass_time(HAND_OVER);
        // The node looks for problems a few times within the silence of a member.
        offer_within(&mut rig, 40, &[3, 7]);
        let expected = (failures >= 3).then_some(failures);
        assert_eq!(reported_failures(&rig), expected);
    }
    hear_preference(&mut rig, 3, 0);
    rig.pass_time(HEARTBEAT * 32);
    assert_eq!(reported_failures(&rig), None, "it is no longer preferred");
}

#[test]
fn a_member_that_wants_the_token_gets_it_after_the_preferred_member_did_not_take_it() {
    let mut rig = Rig::owner_with(endless());
    hear_preference(&mut rig, 7, 9);
    assert_ne!(offer_within(&mut rig, 2, &[3, 7]), None);
    rig.hear_all(3, Message::WantToken);
    let failed = rig.pass_time(HAND_OVER);
    assert_eq!(offers(&failed).last(), Some(&"TAKE_TOKEN 14-n5-1 to n3"));
}

#[test]
fn a_node_announces_its_preference_in_infrequent_frames() {
    let mut rig = with_preference(Rig::waiter(), 9);
    rig.pass_time(HEARTBEAT);
    rig.hear_all(3, here(token(10)));
    assert_eq!(announced(&rig), [0], "an answer to a heartbeat");
    hear_preference(&mut rig, 8, 0);
    assert_eq!(announced(&rig).last(), Some(&9), "a greeting");
    let constants = constants();
    let adjustment = Adjustment {
        idle_hold: constants.idle_hold,
        expect: constants.expect,
        forget: constants.forget,
        preference: 3,
        host_name: None,
    };
    assert_eq!(rig.command(Command::Adjust(adjustment)), ["PING to all"]);
    assert_eq!(announced(&rig), [3]);
}

#[test]
fn members_use_the_last_preference() {
    let mut rig = Rig::waiter();
    let known = |rig: &Rig| {
        let mut members = rig.machine.members();
        members.find(|it| it.mac == mac(3)).map(|it| it.preference)
    };
    for preference in [9, 5, 0] {
        hear_preference(&mut rig, 3, preference);
        assert_eq!(known(&rig), Some(preference));
    }
    hear_preference(&mut rig, 3, 5);
    rig.hear_all(3, here(token(10)));
    assert_eq!(known(&rig), Some(5), "heartbeats have no preference");
    rig.hear_all(3, Message::Leaving);
    assert_eq!(known(&rig), Some(0));
}

#[test]
fn the_idle_token_rests_with_the_highest_preference_and_returns_to_it() {
    let mut network = Network::with_links_down(5, endless(), 7);
    for (node, preference) in network.nodes.iter_mut().zip([0, 3, 200, 3, 0]) {
        let machine = node.machine.take().expect("a running node");
        node.machine = Some(machine.with_preference(preference));
    }
    for at in 0..5 {
        network.link_up(at);
    }
    let owners = |network: &Network| -> Vec<MacAddr> {
        let owners = network.live().filter(|it| it.state() == State::Owner);
        owners.filter_map(Lab2::owner).collect()
    };
    let rests_at = |number: u8| move |network: &Network| owners(network) == [mac(number)];
    network.run_until(WAITER_TIMEOUT * 10, rests_at(3));
    // An idle ring with a preferred owner costs no handovers.
    let before = owner_token(&network);
    network.run(HEARTBEAT * 200);
    assert_eq!(
        (owner_token(&network), owners(&network)),
        (before, vec![mac(3)])
    );
    network.kill(2);
    network.run_until(WAITER_TIMEOUT * 10, rests_at(2));
    let durable = network.nodes[2].durable;
    let restarted = Lab2::new(endless(), durable).with_preference(200);
    network.nodes[2].machine = Some(restarted);
    network.link_up(2);
    network.run_until(WAITER_TIMEOUT * 10, rests_at(3));
}

fn owner_token(network: &Network) -> Option<String> {
    let mut owners = network.live().filter(|it| it.state() == State::Owner);
    Some(owners.next()?.token()?.to_string())
}
