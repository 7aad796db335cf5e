//! Tests of `docs/reference/lab2/membership.md M7` to M14: table synchronization by digests, PING and RING_MEMBERS.

use ring_codec::lab2::{Digest, Member, Message, NO_IP};

use super::rig::{
    HEARTBEAT, ME, OTHER, Rig, SAME, decode, here, ip, mac, member, ms, ping, ping_of, token,
};
use crate::LinkState;

fn table(digest: Digest, members: &[Member]) -> Message<'_> {
    Message::RingMembers { digest, members }
}

fn differing_ping() -> Message<'static> {
    ping_of(OTHER, NO_IP)
}

fn differing_here(progress: u64) -> Message<'static> {
    Message::TokenIsHere {
        token: token(progress),
        digest: OTHER,
        data: b"",
        beat: None,
    }
}

#[test]
fn a_waiter_that_hears_token_is_here_with_another_digest_pings_the_holder() {
    for all in [false, true] {
        let mut rig = Rig::waiter();
        rig.stall(HEARTBEAT);
        let said = if all {
            rig.hear_all(3, differing_here(10))
        } else {
            rig.hear(3, differing_here(10))
        };
        assert_eq!(said, ["PING to n3"]);
    }
    let mut rig = Rig::waiter();
    assert_eq!(rig.hear_all(3, here(token(10))), [""; 0], "no difference");
}

#[test]
fn an_owner_pings_another_holder_if_it_sends_no_other_answer() {
    let mut rig = Rig::owner();
    let said = rig.hear_all(7, differing_here(9));
    assert_eq!(
        said.len(),
        2,
        "the node announces its token to n7 and to all: {said:?}"
    );
    assert_eq!(rig.hear_all(7, differing_here(9)), ["PING to n7"]);
    assert_eq!(rig.hear_all(7, here(token(9))), [""; 0], "no difference");
}

#[test]
fn the_holder_is_pinged_at_most_once_per_heart_beat_period() {
    let mut rig = Rig::waiter();
    rig.hear_all(3, differing_here(10));
    rig.stall(HEARTBEAT - ms(1));
    assert_eq!(rig.hear_all(3, differing_here(10)), [""; 0]);
    assert_eq!(rig.hear_all(9, differing_here(10)), ["PING to n9"]);
    rig.stall(ms(1));
    assert_eq!(rig.hear_all(3, differing_here(10)), ["PING to n3"]);
}

#[test]
fn a_holder_that_gets_ping_with_another_digest_answers_ring_members() {
    for mut rig in [Rig::owner(), Rig::giver()] {
        assert_eq!(rig.hear(7, differing_ping()), ["RING_MEMBERS 3 to n7"]);
        let Message::RingMembers { digest, members } = decode(&rig.frames[0]).message else {
            panic!("not a table");
        };
        assert_eq!(digest, rig.machine.digest());
        let own: Vec<_> = rig.machine.members().map(|m| (m.mac, m.ip)).collect();
        let sent: Vec<_> = members.iter().map(|m| (m.mac, m.ip)).collect();
        assert_eq!(sent, own);
    }
}

#[test]
fn a_peer_gets_ring_members_at_most_once_per_heart_beat_period() {
    let mut rig = Rig::giver();
    rig.hear(7, differing_ping());
    assert_eq!(rig.hear(7, differing_ping()), [""; 0]);
    assert_eq!(rig.hear(3, differing_ping()).len(), 1);
    rig.stall(HEARTBEAT);
    assert_eq!(rig.hear(7, differing_ping()).len(), 1);
}

#[test]
fn only_a_holder_with_another_digest_answers_ping() {
    assert_eq!(Rig::owner().hear(7, ping(NO_IP)), [""; 0]);
    for mut rig in vec![Rig::waiter(), Rig::asking(), Rig::candidate()] {
        assert_eq!(rig.hear(3, differing_ping()), [""; 0]);
    }
}

#[test]
fn a_pings_ip_is_set_before_its_digest_is_compared() {
    let mut rig = Rig::owner();
    let mut twin = Rig::owner();
    twin.hear(7, ping(ip(7)));
    let digest = twin.machine.digest();
    let said = rig.hear(7, ping_of(digest, ip(7)));
    assert_eq!(said, [""; 0]);
}

#[test]
fn a_node_that_still_differs_after_merging_sends_its_own_table_back() {
    let mut rig = Rig::waiter();
    let said = rig.hear(3, table(OTHER, &[member(8, NO_IP)]));
    assert_eq!(said, ["RING_MEMBERS 3 to n3"]);
    assert_eq!(rig.hear(3, table(OTHER, &[])), [""; 0], "once per period");
    assert_eq!(rig.hear(8, table(OTHER, &[])).len(), 1);
    rig.stall(HEARTBEAT);
    assert_eq!(rig.hear(3, table(OTHER, &[])).len(), 1);
}

#[test]
fn a_node_whose_table_is_equal_after_merging_sends_nothing_back() {
    let mut rig = Rig::waiter();
    let mut twin = Rig::waiter();
    let members = [member(8, ip(8))];
    twin.hear(3, table(SAME, &members));
    let digest = twin.machine.digest();
    assert_eq!(rig.hear(3, table(digest, &members)), [""; 0]);
}

/// Returns an OWNER with `n` members, including n5 and n3.
fn large(n: u16) -> Rig {
    let mut rig = Rig::owner();
    let members: Vec<_> = (0..n - 3)
        .map(|at| Member {
            mac: ring_codec::MacAddr([4, 0, 0, 0, at.to_be_bytes()[0], at.to_be_bytes()[1]]),
            ip: NO_IP,
        })
        .collect();
    for part in members.chunks(66) {
        rig.hear(3, table(SAME, part));
    }
    assert_eq!(rig.members().len(), usize::from(n));
    rig
}

#[test]
fn a_large_table_is_split_into_frames_of_66_members() {
    let mut rig = large(100);
    assert_eq!(
        rig.hear(7, differing_ping()),
        ["RING_MEMBERS 66 to all", "RING_MEMBERS 34 to all"]
    );
    for bytes in &rig.frames {
        assert!(bytes.len() <= 14 + 1500);
        let Message::RingMembers { digest, .. } = decode(bytes).message else {
            panic!("not a table");
        };
        assert_eq!(digest, rig.machine.digest());
    }
}

#[test]
fn a_table_of_more_than_two_frames_is_sent_two_at_a_time() {
    let mut rig = large(66 * 3 + 10);
    let mut sent = std::collections::BTreeSet::new();
    for round in 0..2 {
        let said = rig.hear(7, table(OTHER, &[]));
        assert_eq!(said.len(), 2, "round {round}");
        for bytes in &rig.frames {
            let Message::RingMembers { members, .. } = decode(bytes).message else {
                panic!("not a table");
            };
            sent.extend(members.iter().map(|member| member.mac));
        }
        rig.stall(HEARTBEAT);
    }
    assert_eq!(sent.len(), 66 * 3 + 10);
    let said = rig.hear(7, table(OTHER, &[]));
    assert_eq!(
        said[0], "RING_MEMBERS 66 to n7",
        "the next parts begin at the start of the table again"
    );
}

#[test]
fn each_peer_has_its_own_place_in_a_large_table() {
    let mut rig = large(66 * 3);
    rig.stall(HEARTBEAT);
    rig.hear(7, table(OTHER, &[]));
    rig.hear(9, table(OTHER, &[]));
    let Message::RingMembers { members, .. } = decode(&rig.frames[0]).message else {
        panic!("not a table");
    };
    assert_eq!(
        members[0].mac,
        mac(3),
        "the part begins with the first member"
    );
}

#[test]
fn a_small_mtu_makes_small_parts() {
    let mut rig = Rig::owner();
    rig.link(LinkState::Up {
        mac: mac(ME),
        ip: ip(ME),
        mtu: 68,
    });
    let said = rig.hear(7, differing_ping());
    assert_eq!(said, ["RING_MEMBERS 2 to n7", "RING_MEMBERS 1 to n7"]);
    assert!(rig.frames.iter().all(|bytes| bytes.len() <= 14 + 68));
}

#[test]
fn a_wrong_ip_and_a_different_table_cause_at_most_two_replies() {
    let mut rig = large(300);
    let said = rig.hear(7, table(OTHER, &[member(ME, ip(99))]));
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0], "PING to all");
}

#[test]
fn a_third_party_is_sent_the_table_and_corrects_its_disputed_ip() {
    for (held, told) in [
        (ip(9), ip(8)),
        (ip(9), ip(99)),
        (ip(9), NO_IP),
        (NO_IP, ip(9)),
    ] {
        let mut rig = Rig::waiter();
        rig.hear(9, ping(held));
        let said = rig.hear(3, table(SAME, &[member(9, told)]));
        assert_eq!(said, ["RING_MEMBERS 1 to n9"]);
        let Message::RingMembers { members, .. } = decode(&rig.frames[0]).message else {
            panic!("not a table");
        };
        assert_eq!((members[0].mac, members[0].ip), (mac(9), held));
        let again = rig.hear(3, table(SAME, &[member(9, told)]));
        assert_eq!(again, [""; 0], "once per period");
    }
    let mut rig = Rig::waiter();
    rig.hear(9, ping(ip(9)));
    assert_eq!(rig.hear(3, table(SAME, &[member(9, ip(9))])), [""; 0]);
}
