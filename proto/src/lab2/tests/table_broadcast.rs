//! Tests of large rings (`docs/reference/lab2/large-rings.md N6` to N9): table synchronization by broadcast.

use std::collections::BTreeSet;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member, Message, NO_IP};

use super::rig::{
    HEARTBEAT, ME, OTHER, Rig, SAME, decode, frame, ip, mac, member, ms, ping, ping_of, token,
};

/// Returns the address of the `n`th additional member. It is smaller than the addresses of all original members. The
/// additional members make the ring large.
fn low_member(n: u16) -> MacAddr {
    MacAddr([0, 0, 0, 1, n.to_be_bytes()[0], n.to_be_bytes()[1]])
}

fn low_members(numbers: std::ops::Range<u16>) -> Vec<Member> {
    let members = numbers.map(|n| Member {
        mac: low_member(n),
        ip: NO_IP,
    });
    members.collect()
}

/// Adds 200 members to the table, and advances the time by a HEART_BEAT_PERIOD.
fn large(mut rig: Rig) -> Rig {
    let others = [member(7, NO_IP), member(9, NO_IP)];
    for members in [&low_members(0..200), &others[..]].concat().chunks(66) {
        let digest = SAME;
        rig.hear(3, Message::RingMembers { digest, members });
    }
    rig.stall(HEARTBEAT);
    rig
}

fn other_here() -> Message<'static> {
    Message::TokenIsHere {
        token: token(10),
        digest: OTHER,
        data: b"",
        beat: None,
    }
}

fn other_ping() -> Message<'static> {
    let (digest, ip) = (OTHER, NO_IP);
    ping_of(digest, ip)
}

/// Receives a broadcast part of n3's table.
fn part(digest: Digest, members: &[Member]) -> Message<'_> {
    Message::RingMembers { digest, members }
}

/// Returns the members in the frames of the last input.
fn listed_members(rig: &Rig) -> Vec<MacAddr> {
    let frames = rig.frames.iter();
    let parts = frames.filter_map(|bytes| match decode(bytes).message {
        Message::RingMembers { members, .. } => Some(members.iter().map(|member| member.mac)),
        _ => None,
    });
    parts.flatten().collect()
}

#[test]
fn the_holder_of_a_large_table_broadcasts_two_parts_for_each_ping() {
    let mut rig = large(Rig::giver());
    let parts = ["RING_MEMBERS 66 to all", "RING_MEMBERS 66 to all"];
    assert_eq!(rig.hear(3, other_ping()), parts);
    assert_eq!(
        listed_members(&rig),
        (0..132).map(low_member).collect::<Vec<_>>()
    );
    let sent = rig.hear_all(7, other_ping());
    assert_eq!(sent, ["RING_MEMBERS 66 to all", "RING_MEMBERS 6 to all"]);
    assert_eq!(rig.hear(3, ping(NO_IP)), [""; 0], "equal tables");
}

#[test]
fn at_most_one_table_per_heart_beat_period_is_broadcast() {
    let mut rig = large(Rig::giver());
    let mut members = BTreeSet::new();
    let mut parts = 0;
    for _ in 0..10 {
        parts += rig.hear(3, other_ping()).len();
        members.extend(listed_members(&rig));
    }
    assert_eq!((parts, members.len()), (4, 204));
    rig.stall(HEARTBEAT);
    assert_eq!(rig.hear(3, other_ping()).len(), 2);
}

#[test]
fn a_holder_continues_where_the_last_part_ended() {
    let mut rig = large(Rig::giver());
    rig.hear_all(7, part(SAME, &low_members(10..50)));
    rig.hear(3, other_ping());
    assert_eq!(listed_members(&rig)[0], low_member(50));
    rig.stall(HEARTBEAT);
    rig.hear_all(7, part(SAME, &[member(9, NO_IP)]));
    rig.hear(3, other_ping());
    assert_eq!(
        listed_members(&rig)[0],
        low_member(0),
        "the parts begin at the start of the table again"
    );
}

#[test]
fn parts_of_other_holders_count() {
    let mut rig = large(Rig::giver());
    for n in 0..3 {
        rig.hear_all(7, part(SAME, &low_members(n * 66..n * 66 + 66)));
    }
    assert_eq!(rig.hear(3, other_ping()).len(), 1, "of four");
    assert_eq!(rig.hear(3, other_ping()), [""; 0]);
}

#[test]
fn a_waiter_of_a_large_ring_asks_by_broadcast_in_its_turn() {
    let mut rig = large(Rig::waiter());
    assert_eq!(rig.hear_all(3, other_here()), [""; 0]);
    let sent = rig.timeline(HEARTBEAT / 4);
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!(sent[0].1, "PING to all");
    assert!(sent[0].0 > ms(20), "n5 is the last in order: {sent:?}");
    assert_eq!(rig.hear_all(3, other_here()), [""; 0]);
    assert_eq!(rig.pass_time(HEARTBEAT / 4), [""; 0], "once per period");
}

#[test]
fn a_waiter_does_not_ask_if_another_has() {
    let mut rig = large(Rig::waiter());
    rig.hear_all(3, other_here());
    rig.pass_time(ms(5));
    let digest = Digest { size: 9, hash: 9 };
    rig.hear_all(low_member(0).0[5] + 9, ping_of(digest, NO_IP));
    assert_eq!(rig.pass_time(HEARTBEAT), [""; 0]);

    let mut rig = large(Rig::waiter());
    rig.hear_all(3, other_here());
    rig.hear_all(9, other_ping());
    let sent = rig.pass_time(HEARTBEAT / 4);
    assert_eq!(sent, ["PING to all"], "n9 has the holder's table");
}

#[test]
fn a_waiter_asks_again_if_parts_are_missing() {
    let mut rig = large(Rig::waiter());
    rig.hear_all(3, part(OTHER, &low_members(0..66)));
    rig.pass_time(ms(10));
    rig.hear_all(3, part(OTHER, &low_members(66..132)));
    assert_eq!(rig.pass_time(ms(20)), [""; 0]);
    assert_eq!(rig.pass_time(ms(10)), ["PING to all"]);
    let digest = rig.machine.digest();
    rig.hear_all(3, part(digest, &low_members(132..198)));
    assert_eq!(
        rig.pass_time(HEARTBEAT / 2),
        [""; 0],
        "no member is missing"
    );
}

#[test]
fn a_member_missing_in_a_part_announces_itself() {
    let around = [member(3, NO_IP), member(7, NO_IP)];
    let mut rig = large(Rig::waiter());
    assert_eq!(rig.hear_all(3, part(SAME, &around)), ["PING to all"]);
    assert_eq!(
        rig.hear_all(3, part(SAME, &around)),
        [""; 0],
        "once per period"
    );
    let with = [member(3, NO_IP), member(ME, ip(ME)), member(7, NO_IP)];
    for elsewhere in [low_members(0..66), with.to_vec(), vec![member(7, NO_IP)]] {
        let mut rig = large(Rig::waiter());
        assert_eq!(rig.hear_all(3, part(SAME, &elsewhere)), [""; 0]);
    }
}

#[test]
fn a_member_missing_between_two_parts_announces_itself() {
    let mut rig = large(Rig::waiter());
    rig.hear_all(3, part(SAME, &[member(3, NO_IP)]));
    let sent = rig.hear_all(3, part(SAME, &[member(7, NO_IP)]));
    assert_eq!(sent, ["PING to all"]);
    let mut rig = large(Rig::waiter());
    rig.hear_all(7, part(SAME, &[member(3, NO_IP)]));
    let sent = rig.hear_all(3, part(SAME, &[member(7, NO_IP)]));
    assert_eq!(sent, [""; 0], "parts of two holders");
}

#[test]
fn a_broadcast_part_without_an_ip_is_no_dispute() {
    let mut rig = large(Rig::waiter());
    rig.hear(9, ping(ip(9)));
    assert_eq!(rig.hear_all(3, part(SAME, &[member(9, NO_IP)])), [""; 0]);
    assert_eq!(rig.ip_of(9), Some(ip(9)));
    let sent = rig.hear(3, part(SAME, &[member(9, NO_IP)]));
    assert_eq!(sent.len(), 1, "a unicast to this node: {sent:?}");
}

#[test]
fn only_followers_return_their_table_after_a_broadcast_part() {
    for (from, returns) in [(mac(3), true), (low_member(100), false)] {
        let mut rig = large(Rig::waiter());
        let members = [member(3, NO_IP)];
        let bytes = frame(from, MacAddr::BROADCAST, part(OTHER, &members));
        let sent = rig.hear_bytes(&bytes, std::time::Duration::ZERO);
        assert_eq!(!sent.is_empty(), returns, "{sent:?}");
    }
}
