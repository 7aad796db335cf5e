//! Tests of the token's data and of the MTUs that limit the data.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, FRAME_LEN_MAX, Frame, HEARTBEAT_LEN, Message, Profile};

use super::rig::*;
use crate::LinkState;
use crate::lab2::{Command, DataLimit, Diagnostic, Event, Pause, State};

/// Returns the profile of a member with the default constants and this MTU.
pub(super) fn profile(mtu: u16) -> Profile {
    Profile {
        flags: 0,
        mtu,
        constants: constants().digest(),
        patience: 400_000_000,
        shortest: 400_000_000,
        take: 5_000_000,
        expect: 0,
    }
}

/// Receives a broadcast with a profile.
pub(super) fn frame_with_profile(from: u8, message: Message<'_>, profile: Profile) -> Vec<u8> {
    let frame = Frame {
        destination: MacAddr::BROADCAST,
        author: mac(from),
        message,
        profile: Some(profile),
        card: None,
        locks: None,
        preference: 0,
    };
    let mut bytes = [0; FRAME_LEN_MAX];
    let len = frame.encode(0x88b5, &mut bytes).expect("a legal frame");
    bytes[..len].to_vec()
}

fn hear_mtu_of(rig: &mut Rig, from: u8, mtu: u16) -> Vec<String> {
    let bytes = frame_with_profile(from, Message::WhereIsToken, profile(mtu));
    rig.hear_bytes(&bytes, Duration::ZERO)
}

fn change_mtu(rig: &mut Rig, mtu: usize) -> Vec<String> {
    rig.link(LinkState::Up {
        mac: mac(ME),
        ip: ip(ME),
        mtu,
    })
}

fn set_data(rig: &mut Rig, len: usize) -> usize {
    rig.command(Command::SetData(vec![7; len]));
    rig.machine.data().len()
}

/// Returns an OWNER with this many bytes of data.
fn owner_with(len: usize) -> Rig {
    let mut rig = Rig::owner();
    assert_eq!(set_data(&mut rig, len), len);
    rig.events.clear();
    rig
}

#[test]
fn data_that_do_not_fit_this_nodes_mtu_are_refused() {
    let mut rig = Rig::owner();
    change_mtu(&mut rig, 576);
    let most = 576 - HEARTBEAT_LEN;
    assert_eq!(set_data(&mut rig, most), most);
    assert_eq!(set_data(&mut rig, most + 1), most);
    let refused = Event::DataRefused {
        len: most + 1,
        may_use: true,
        limit: DataLimit {
            len: most,
            mtu: 576,
            member: None,
        },
    };
    assert!(rig.events.contains(&refused), "{:?}", rig.events);
    let longest = rig.frames.iter().map(Vec::len).max();
    assert!(longest <= Some(14 + 576));
}

#[test]
fn data_that_do_not_fit_the_smallest_known_mtu_are_refused_with_its_member() {
    let mut rig = Rig::owner();
    hear_mtu_of(&mut rig, 7, 576);
    hear_mtu_of(&mut rig, 8, 1_000);
    assert_eq!(set_data(&mut rig, 1_000), 0);
    assert_eq!(rig.machine.data_limit().member, Some(mac(7)));
    hear_mtu_of(&mut rig, 7, 1_500);
    assert_eq!(rig.machine.data_limit().member, Some(mac(8)));
    assert_eq!(set_data(&mut rig, 1_000), 0);
    rig.hear_all(8, Message::Leaving);
    assert_eq!(
        set_data(&mut rig, 1_000),
        1_000,
        "a member that has left does not count"
    );
}

#[test]
fn an_owner_drops_data_that_a_newcomer_could_not_receive() {
    let mut rig = owner_with(1_000);
    let sent = hear_mtu_of(&mut rig, 9, 576);
    assert!(
        sent.contains(&"TOKEN_IS_HERE 11-n3-1 to n9".to_owned()),
        "{sent:?}"
    );
    assert!(rig.frames.iter().all(|bytes| bytes.len() <= 14 + 576));
    let limit = rig.machine.data_limit();
    assert_eq!(limit.member, Some(mac(9)));
    let trouble = Diagnostic::DataDropped { len: 1_000, limit };
    let over = false;
    assert!(
        rig.events
            .contains(&Event::DiagnosticChanged { trouble, over })
    );
    assert!(rig.machine.problems().eq([trouble]));
    let soon = rig.pass_time(Duration::ZERO);
    assert_eq!(soon, ["TOKEN_IS_HERE 11-n3-1 to all"]);
}

#[test]
fn an_owner_drops_its_data_when_its_mtu_shrinks_and_keeps_the_token() {
    let mut rig = owner_with(1_000);
    change_mtu(&mut rig, 576);
    assert_eq!(rig.machine.data(), b"");
    assert_eq!(rig.state(), State::Owner);
    let sent = rig.pass_time(ms(5));
    assert!(
        sent.contains(&"TOKEN_IS_HERE 11-n3-1 to all".to_owned()),
        "{sent:?}"
    );
}

#[test]
fn a_member_announces_a_smaller_mtu() {
    let mut rig = Rig::waiter();
    assert_eq!(change_mtu(&mut rig, 576), ["PING to all"]);
    assert_eq!(decode(&rig.frames[0]).profile, Some(profile(576)));
    assert_eq!(change_mtu(&mut rig, 576), [""; 0]);
}

#[test]
fn a_taken_token_loses_data_that_do_not_fit_a_member() {
    let mut rig = Rig::waiter();
    hear_mtu_of(&mut rig, 9, 576);
    rig.hear(
        3,
        Message::TakeToken {
            token: token(11),
            digest: SAME,
            data: &[7; 1_000],
        },
    );
    assert_eq!((rig.state(), rig.machine.data()), (State::Owner, &b""[..]));
}

#[test]
fn a_candidate_is_elected_without_data_that_do_not_fit() {
    let mut rig = Rig::waiter();
    rig.hear_all(
        3,
        Message::TokenIsHere {
            token: token(10),
            digest: SAME,
            data: &[7; 1_000],
            beat: None,
        },
    );
    change_mtu(&mut rig, 576);
    rig.pass_time(WAITER_TIMEOUT + 2 * LOOSER_TIMEOUT + 2 * ANSWER_TIMEOUT);
    let mut troubles = rig.machine.problems();
    assert!(troubles.any(|it| matches!(it, Diagnostic::DataDropped { len: 1_000, .. })));
    drop(troubles);
    assert!(rig.events.iter().any(|event| matches!(
        event,
        Event::StateChanged {
            to: State::Owner,
            ..
        }
    )));
}

#[test]
fn parts_of_a_table_fit_the_smallest_mtu() {
    let mut rig = Rig::owner();
    for n in 20..60 {
        rig.hear(n, Message::WantToken);
    }
    hear_mtu_of(&mut rig, 9, 300);
    rig.hear(9, ping_of(OTHER, ip(9)));
    let tables = rig.frames.iter().filter(|bytes| bytes[14] == 7);
    let longest = tables.map(Vec::len).max().expect("a table");
    assert!(longest <= 14 + 300, "{longest}");
}

#[test]
fn only_broadcasts_and_ping_have_a_profile() {
    let mut rig = Rig::owner();
    let sent = rig.hear(7, Message::WhereIsToken);
    assert_eq!(sent, ["TOKEN_IS_HERE 11-n3-1 to n7"]);
    assert_eq!(decode(&rig.frames[0]).profile, None);
    rig.command(Command::SetData(b"x".to_vec()));
    let told = Profile {
        flags: Profile::with_backing(0, Backing::Used),
        ..profile(1_500)
    };
    assert_eq!(decode(&rig.frames[0]).profile, Some(told));
    let mut rig = Rig::waiter();
    rig.hear(7, ping_of(OTHER, ip(7)));
    rig.hear_all(3, here(token(10)));
    assert!(
        rig.frames
            .iter()
            .all(|bytes| decode(bytes).profile.is_some())
    );
}

#[test]
fn a_paused_owner_cannot_set_data() {
    let mut rig = Rig::looser();
    rig.pass_time(2 * ANSWER_TIMEOUT);
    rig.command(Command::Pause(Some(Pause::PLAIN)));
    assert_eq!(rig.state(), State::Owner);
    assert_eq!(set_data(&mut rig, 5), 0);
    rig.command(Command::Pause(None));
    assert_eq!(set_data(&mut rig, 5), 5);
}
