//! Tests of reports about members that become silent.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::card::{Card, Version};
use ring_codec::lab2::{FRAME_LEN_MAX, Frame, Message, NO_IP};

use super::data::profile;
use super::rig::{HEARTBEAT, ME, Rig, SAME, frame, here, mac, member, ms, ping, token};
use crate::lab2::{Event, Presence};

const SILENCE: Duration = Duration::from_millis(12_800);
/// The time between two searches.
const SEARCH_PERIOD: Duration = Duration::from_millis(200);

/// Returns three values for each report: whether the member is silent or heard again, the member, and the number of
/// further members.
fn reports(rig: &mut Rig) -> Vec<(bool, MacAddr, usize)> {
    let told = rig.events.drain(..).filter_map(|event| match event {
        Event::MemberSilent { mac, others, .. } => Some((true, mac, others)),
        Event::MemberAlive { mac, others } => Some((false, mac, others)),
        _ => None,
    });
    told.collect()
}

/// Advances the time. Meanwhile, heartbeats of n3 arrive.
fn hear_heartbeats(rig: &mut Rig, time: Duration) {
    let end = rig.now.monotonic + time;
    while rig.now.monotonic < end {
        rig.pass_time(HEARTBEAT);
        rig.hear_all(3, here(token(10)));
    }
}

#[test]
fn a_silent_member_is_reported_once_and_when_it_is_heard_again() {
    let mut rig = Rig::waiter();
    hear_heartbeats(&mut rig, SILENCE);
    rig.hear(7, ping(NO_IP));
    assert_eq!(reports(&mut rig), []);
    hear_heartbeats(&mut rig, SILENCE - ms(100));
    assert_eq!(reports(&mut rig), []);
    hear_heartbeats(&mut rig, SEARCH_PERIOD + HEARTBEAT * 2);
    assert_eq!(rig.presence_of(7), Presence::Silent);
    assert_eq!(reports(&mut rig), [(true, mac(7), 0)]);
    hear_heartbeats(&mut rig, SILENCE);
    assert_eq!(reports(&mut rig), []);
    rig.hear(7, ping(NO_IP));
    hear_heartbeats(&mut rig, SEARCH_PERIOD + HEARTBEAT);
    assert_eq!(reports(&mut rig), [(false, mac(7), 0)]);
}

/// A deaf node reports all members as silent, as its status does.
#[test]
fn a_node_that_is_cut_off_reports_all_others() {
    let mut rig = Rig::waiter();
    hear_heartbeats(&mut rig, SILENCE);
    reports(&mut rig);
    rig.pass_time(SILENCE + HEARTBEAT * 4);
    let silent = reports(&mut rig);
    assert!(silent.contains(&(true, mac(3), 0)), "{silent:?}");
}

#[test]
fn a_member_that_has_left_does_not_fall_silent() {
    let mut rig = Rig::waiter();
    rig.hear_all(7, Message::Leaving);
    hear_heartbeats(&mut rig, SILENCE * 3);
    assert_eq!(reports(&mut rig), []);
}

/// Directly after its start, a node learns of members that died or left. Only other members know whether such a member
/// died or left.
#[test]
fn a_member_that_was_never_heard_is_silent_if_a_card_names_it() {
    let mut rig = Rig::waiter();
    rig.hear_all(7, Message::Leaving);
    let (digest, members) = (SAME, &[member(8, NO_IP)][..]);
    rig.hear(3, Message::RingMembers { digest, members });
    hear_heartbeats(&mut rig, SILENCE - ms(100));
    assert_eq!(reports(&mut rig), []);
    assert_eq!(rig.machine.present_members(), 3);
    hear_heartbeats(&mut rig, SEARCH_PERIOD + HEARTBEAT * 2);
    assert_eq!(reports(&mut rig), []);
    assert_eq!(rig.machine.present_members(), 2, "n7 may have left");
    hear_of_silent(&mut rig, 8);
    hear_heartbeats(&mut rig, SEARCH_PERIOD + HEARTBEAT);
    assert_eq!(reports(&mut rig), [(true, mac(8), 0)]);
    assert!(rig.machine.silent_members().eq([mac(8)]));
    rig.hear(8, ping(NO_IP));
    hear_heartbeats(&mut rig, SEARCH_PERIOD + HEARTBEAT);
    assert_eq!(reports(&mut rig), [(false, mac(8), 0)]);
    assert_eq!(rig.machine.present_members(), 3);
}

/// Receives a card of n3 that names a silent member.
fn hear_of_silent(rig: &mut Rig, member: u8) {
    let card = Card {
        version: Version {
            major: 0,
            minor: 1,
            patch: 0,
        },
        unheard: Some(mac(member)),
        work: None,
        host_name: None,
        pause: None,
    };
    let sent = Frame {
        destination: MacAddr::BROADCAST,
        author: mac(3),
        message: here(token(10)),
        profile: Some(profile(1500)),
        card: Some(card),
        locks: None,
        preference: 0,
    };
    let mut bytes = [0; FRAME_LEN_MAX];
    let len = sent.encode(0x88b5, &mut bytes).expect("a legal frame");
    rig.hear_bytes(&bytes[..len], Duration::ZERO);
}

#[test]
fn many_members_that_fall_silent_together_share_one_event() {
    let mut rig = Rig::waiter();
    let crowd = || (0..50).map(|n| MacAddr([2, 0, 0, 0, 1, n]));
    let all_speak = |rig: &mut Rig| {
        for from in crowd() {
            let bytes = frame(from, mac(ME), ping(NO_IP));
            rig.hear_bytes(&bytes, Duration::ZERO);
        }
    };
    hear_heartbeats(&mut rig, SILENCE);
    all_speak(&mut rig);
    hear_heartbeats(&mut rig, SILENCE + SEARCH_PERIOD * 2);
    let silent = reports(&mut rig);
    let of_crowd: usize = silent.iter().map(|(_, _, others)| others + 1).sum();
    assert!(silent.len() <= 2 && of_crowd >= 50, "{silent:?}");
    all_speak(&mut rig);
    hear_heartbeats(&mut rig, SEARCH_PERIOD * 2);
    let alive = reports(&mut rig);
    assert!(alive.len() == 1 && alive[0].2 == 49, "{alive:?}");
}

/// A stalled node does not hear the members.
#[test]
fn a_node_that_was_stalled_reports_no_silent_member() {
    let mut rig = Rig::waiter();
    hear_heartbeats(&mut rig, SILENCE);
    reports(&mut rig);
    rig.stall(SILENCE * 3);
    rig.wake();
    rig.hear_all(3, here(token(11)));
    rig.hear(7, ping(NO_IP));
    hear_heartbeats(&mut rig, HEARTBEAT * 8);
    assert_eq!(reports(&mut rig), []);
}

/// The member was reported as silent when the ring was small, and has sent no frame since then.
#[test]
fn a_ring_that_grows_does_not_revive_silent_members() {
    let mut rig = Rig::waiter();
    hear_heartbeats(&mut rig, SILENCE);
    rig.hear(7, ping(NO_IP));
    hear_heartbeats(&mut rig, SILENCE + SEARCH_PERIOD * 2);
    assert_eq!(reports(&mut rig), [(true, mac(7), 0)]);
    for n in 0..200 {
        let bytes = frame(MacAddr([2, 0, 0, 0, 1, n]), mac(ME), ping(NO_IP));
        rig.hear_bytes(&bytes, Duration::ZERO);
    }
    hear_heartbeats(&mut rig, SEARCH_PERIOD * 8);
    assert_eq!(reports(&mut rig), []);
    rig.hear(7, ping(NO_IP));
    hear_heartbeats(&mut rig, SEARCH_PERIOD * 8);
    assert_eq!(reports(&mut rig), [(false, mac(7), 0)]);
}
