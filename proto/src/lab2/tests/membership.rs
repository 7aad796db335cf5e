//! Tests of the member table (`docs/reference/lab2/membership.md M1` to M6).

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Digest, Member, Message, NO_IP};
use xxhash_rust::xxh3::xxh3_64;

use super::rig::{
    BLANK, ME, Rig, SAME, WAITER_TIMEOUT, constants, decode, frame, generating, here, ip, mac,
    member, ms, ping, take, token, was_here,
};
use crate::LinkState;
use crate::lab2::{Constants, Event, State};

fn table(digest: Digest, members: &[Member]) -> Message<'_> {
    Message::RingMembers { digest, members }
}

#[test]
fn the_table_holds_the_node_itself_and_is_sorted_by_mac() {
    let mut rig = Rig::looser();
    assert_eq!(rig.members(), [ME]);
    assert_eq!(rig.ip_of(ME), Some(ip(ME)));
    for n in [9, 2, 7] {
        rig.hear(n, Message::WantToken);
    }
    assert_eq!(rig.members(), [2, ME, 7, 9]);
}

#[test]
fn the_author_of_every_valid_frame_is_inserted_with_no_ip_yet() {
    let members = [member(3, NO_IP)];
    let messages = [
        take(token(1)),
        here(token(1)),
        was_here(token(1), 3),
        Message::WhereIsToken,
        generating(token(1)),
        table(SAME, &members),
        Message::WantToken,
        Message::Leaving,
    ];
    for message in messages {
        let mut rig = Rig::waiter();
        rig.hear(9, message);
        assert_eq!(rig.members(), [3, 5, 9], "{message:?}");
        assert_eq!(rig.ip_of(9), Some(NO_IP));
        let added = Event::MemberAdded {
            mac: mac(9),
            members: 3,
        };
        assert!(rig.events.contains(&added));
    }
}

#[test]
fn the_hash_is_xxh3_64_over_the_22_bytes_of_each_member_in_order() {
    let mut rig = Rig::looser();
    rig.hear(9, ping(ip(9)));
    rig.hear(2, Message::WantToken);
    let mut bytes = Vec::new();
    for (n, ip) in [(2, NO_IP), (ME, ip(ME)), (9, ip(9))] {
        bytes.extend(mac(n).0);
        bytes.extend(ip);
    }
    let expected = Digest {
        size: 3,
        hash: xxh3_64(&bytes),
    };
    assert_eq!(rig.machine.digest(), expected);
}

#[test]
fn a_large_table_is_sorted_whenever_it_is_read() {
    let mut rig = Rig::waiter();
    let mut expected = vec![(mac(3), NO_IP), (mac(ME), ip(ME))];
    for n in 0..1_500_u32 {
        // With an odd factor, the products reach each number once, and each product is far from the previous product.
        let [.., a, b, c, d] = n.wrapping_mul(0x9e37_79b1).to_be_bytes();
        let from = MacAddr([4, 0, a, b, c, d]);
        let bytes = frame(from, mac(ME), ping([d; 16]));
        rig.hear_bytes(&bytes, Duration::ZERO);
        rig.hear_bytes(&bytes, Duration::ZERO);
        expected.push((from, [d; 16]));
        if n % 97 > 0 {
            continue;
        }
        expected.sort_unstable();
        let found: Vec<_> = rig.machine.members().map(|m| (m.mac, m.ip)).collect();
        assert_eq!(found, expected);
        let bytes: Vec<u8> = expected
            .iter()
            .flat_map(|(mac, ip)| mac.0.iter().chain(ip).copied())
            .collect();
        let hash = xxh3_64(&bytes);
        assert_eq!(rig.machine.digest().hash, hash);
        // The digest that the test computes must equal the received digest.
        let size = u32::try_from(expected.len()).expect("few");
        let digest = Digest { size, hash };
        let data: &[u8] = b"";
        let message = Message::TokenIsHere {
            token: token(10),
            digest,
            data,
            beat: None,
        };
        rig.hear_all(3, message);
        assert_eq!(rig.pass_time(ms(60)), [""; 0], "{n}");
    }
}

#[test]
fn nobody_is_deleted() {
    let mut rig = Rig::owner();
    rig.hear_all(7, Message::Leaving);
    rig.pass_time(ms(60_000));
    rig.link(LinkState::Down);
    rig.link_up();
    assert_eq!(rig.members(), [3, 5, 7]);
}

#[test]
fn a_broadcast_of_an_unknown_author_is_answered_with_ping() {
    let mut rig = Rig::waiter();
    let sent = rig.hear_all(9, Message::WantToken);
    assert_eq!(sent, ["PING to n9"]);
    assert_eq!(rig.hear_all(9, Message::WantToken), [""; 0], "known now");
}

#[test]
fn a_unicast_of_an_unknown_author_is_not_answered_with_ping() {
    let mut rig = Rig::waiter();
    assert_eq!(rig.hear(9, Message::WantToken), [""; 0]);
}

#[test]
fn ping_has_this_nodes_ip_and_digest() {
    let mut rig = Rig::waiter();
    rig.hear_all(9, Message::WantToken);
    let expected = Message::Ping {
        digest: rig.machine.digest(),
        ip: ip(ME),
        promise: None,
        paused: false,
    };
    assert_eq!(decode(&rig.frames[0]).message, expected);
}

#[test]
fn a_greeting_that_does_not_fit_two_replies_follows_the_next_broadcast() {
    let mut rig = Rig::owner();
    let sent = rig.hear_all(9, generating(token(1)));
    assert_eq!(sent.len(), 2);
    assert!(!sent.contains(&"PING to n9".into()));
    assert_eq!(rig.hear(9, Message::WantToken).len(), 1, "no broadcast");
    let mut rig = Rig::owner();
    rig.hear_all(9, generating(token(1)));
    assert_eq!(
        rig.hear_all(9, generating(token(1))).len(),
        2,
        "the frame has had two answers"
    );
    let sent = rig.hear_all(9, Message::WhereIsToken);
    assert_eq!(sent, ["TOKEN_IS_HERE 11-n3-1 to n9", "PING to n9"]);
    assert_eq!(
        rig.hear_all(9, Message::WhereIsToken).len(),
        1,
        "the greeting was sent"
    );
}

#[test]
fn ping_sets_the_authors_ip() {
    let mut rig = Rig::waiter();
    for address in [ip(3), ip(33), NO_IP] {
        rig.hear_all(3, ping(address));
        assert_eq!(rig.ip_of(3), Some(address));
    }
}

#[test]
fn a_table_adds_its_members() {
    let mut rig = Rig::waiter();
    rig.hear(3, table(SAME, &[member(8, ip(8)), member(2, NO_IP)]));
    assert_eq!(rig.members(), [2, 3, 5, 8]);
    assert_eq!(rig.ip_of(8), Some(ip(8)));
}

#[test]
fn a_received_ip_replaces_none() {
    let mut rig = Rig::waiter();
    rig.hear(9, Message::WantToken);
    rig.hear(3, table(SAME, &[member(9, ip(9))]));
    assert_eq!(rig.ip_of(9), Some(ip(9)));
    rig.hear(3, table(SAME, &[member(9, NO_IP)]));
    assert_eq!(rig.ip_of(9), Some(ip(9)));
}

#[test]
fn the_ip_of_a_recently_heard_third_party_stays() {
    for other in [ip(8), ip(99)] {
        let mut rig = Rig::waiter();
        rig.hear(9, ping(ip(9)));
        rig.hear(3, table(SAME, &[member(9, other)]));
        assert_eq!(rig.ip_of(9), Some(ip(9)));
    }
}

#[test]
fn the_ip_of_a_third_party_stays_until_the_dispute_has_lasted() {
    let mut rig = Rig::waiter();
    rig.hear(3, table(SAME, &[member(9, ip(9))]));
    for _ in 0..4 {
        rig.hear(3, table(SAME, &[member(9, ip(99))]));
        assert_eq!(rig.ip_of(9), Some(ip(9)));
        rig.stall((WAITER_TIMEOUT - ms(1)) / 4);
    }
}

#[test]
fn of_two_disputed_ips_of_a_silent_member_the_larger_wins() {
    for (other, wins) in [(ip(8), ip(9)), (ip(99), ip(99))] {
        let mut rig = Rig::waiter();
        rig.hear(9, ping(ip(9)));
        rig.hear(3, table(SAME, &[member(9, other)]));
        rig.stall(WAITER_TIMEOUT + ms(1));
        rig.hear(3, table(SAME, &[member(9, other)]));
        assert_eq!(rig.ip_of(9), Some(wins));
    }
}

#[test]
fn a_member_is_the_authority_on_its_own_ip_in_a_table_too() {
    let mut rig = Rig::waiter();
    rig.hear(3, ping(ip(33)));
    rig.hear(3, table(SAME, &[member(3, ip(3))]));
    assert_eq!(rig.ip_of(3), Some(ip(3)));
}

#[test]
fn a_node_that_sees_a_wrong_ip_for_itself_in_a_table_broadcasts_ping() {
    for wrong in [ip(99), NO_IP] {
        let mut rig = Rig::waiter();
        let sent = rig.hear(3, table(SAME, &[member(ME, wrong)]));
        assert_eq!(sent, ["PING to all"]);
        assert_eq!(
            rig.ip_of(ME),
            Some(ip(ME)),
            "no other node sets this address"
        );
    }
    let mut rig = Rig::waiter();
    let sent = rig.hear(3, table(SAME, &[member(ME, ip(ME))]));
    assert_eq!(sent, [""; 0]);
}

#[test]
fn a_changed_own_ip_is_broadcast() {
    let mut rig = Rig::waiter();
    let up = LinkState::Up {
        mac: mac(ME),
        ip: ip(55),
        mtu: 1500,
    };
    assert_eq!(rig.link(up), ["PING to all"]);
    assert_eq!(rig.ip_of(ME), Some(ip(55)));
    assert_eq!(rig.state(), State::Waiter, "nothing else changes");
}

#[test]
fn this_node_always_fits_the_table() {
    let constants = Constants {
        max_members: 2,
        ..constants()
    };
    let (mut rig, _) = Rig::start(constants, BLANK);
    rig.hear(8, Message::WantToken);
    rig.link(LinkState::Up {
        mac: mac(6),
        ip: ip(6),
        mtu: 1500,
    });
    assert_eq!(rig.members(), [5, 6, 8]);
}

#[test]
fn an_address_that_comes_back_is_the_same_member() {
    let mut rig = Rig::looser();
    rig.link(LinkState::Up {
        mac: mac(6),
        ip: ip(6),
        mtu: 1500,
    });
    assert_eq!(rig.penalty_of(ME), 1 << 10);
    rig.events.clear();
    rig.link_up();
    let added = |event: &Event| matches!(event, Event::MemberAdded { .. });
    assert!(!rig.events.iter().any(added), "{:?}", rig.events);
    assert_eq!(rig.penalty_of(ME), 0);
    assert_eq!(rig.penalty_of(6), 1 << 10);
}
