//! Tests of promises: the holder to which a member makes a promise, the duration of the promise, and the effect of the
//! ring's size.

use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{Backing, Digest, Message, NO_IP, Token};

use super::backing::hear_owner;
use super::grade::{
    beat, constants_expecting_three, heartbeat_with_beat, member, message_with_promise,
    message_with_promise_for, owner, promise,
};
use super::rig::{
    BLANK, HEARTBEAT, ME, Rig, SAME, WAITER_TIMEOUT, constants, frame, here, ip, mac,
    member as table_member, ms, ping, take, token, token_of, was_here, with_digest,
};
use crate::LinkState;
use crate::lab2::{Command, Constants, Grade, State};
use crate::time::nanos;

fn hear_from(rig: &mut Rig, from: MacAddr, to: MacAddr, message: Message<'_>) {
    let message = with_digest(message, rig.machine.digest());
    rig.hear_bytes(&frame(from, to, message), Duration::ZERO);
}

#[test]
fn a_heartbeat_is_answered_by_at_most_64_members() {
    let mut rig = Rig::waiter();
    for n in 0..=255 {
        let from = MacAddr([2, 0, 0, 0, 1, n]);
        rig.hear_bytes(&frame(from, mac(ME), Message::Leaving), Duration::ZERO);
    }
    let strides = rig.members().len().div_ceil(64);
    let mut answers = 0;
    for number in 0..20 {
        rig.pass_time(HEARTBEAT);
        let sent = rig.hear_all(3, heartbeat_with_beat(token(10), number));
        let confirmed = sent.iter().any(|line| line == "PING to n3");
        if confirmed {
            answers += 1;
            // From the fifth heartbeat on, the node has run for as long as a promise lasts.
            let Some(promise) = promise(&rig) else {
                assert!(number < 10, "no promise at heartbeat {number}");
                continue;
            };
            let until_next = HEARTBEAT * u32::try_from(strides - 1).expect("few");
            assert_eq!(promise.lasts, nanos(WAITER_TIMEOUT + until_next));
        }
    }
    assert_eq!((strides, answers), (5, 4), "every fifth of twenty");
}

/// If the node promised at once, a holder would count the node twice: once under each address.
#[test]
fn a_member_with_a_new_address_promises_nothing_for_a_promises_length() {
    let mut rig = member();
    rig.hear_all(3, heartbeat_with_beat(token(10), 0));
    assert!(promise(&rig).is_some());
    let new = mac(6);
    rig.link(LinkState::Up {
        mac: new,
        ip: ip(6),
        mtu: 1500,
    });
    hear_from(&mut rig, mac(3), new, here(token(10)));
    assert_eq!(rig.state(), State::Waiter);
    for beat in 1..4 {
        rig.pass_time(HEARTBEAT);
        let message = heartbeat_with_beat(token(10), beat);
        hear_from(&mut rig, mac(3), MacAddr::BROADCAST, message);
        assert_eq!(promise(&rig), None, "at heartbeat {beat}");
    }
    rig.pass_time(HEARTBEAT);
    rig.hear_all(3, heartbeat_with_beat(token(10), 4));
    assert!(promise(&rig).is_some());
}

#[test]
fn with_an_expected_number_members_of_tables_do_not_count() {
    let mut rig = owner(constants_expecting_three());
    let number = beat(&rig);
    let gone = [8, 9, 10].map(|n| table_member(n, NO_IP));
    let (digest, members) = (SAME, &gone[..]);
    rig.hear(3, Message::RingMembers { digest, members });
    rig.hear(3, message_with_promise(token(11), number));
    assert_eq!(rig.members().len(), 6);
    assert_eq!(rig.machine.grade(), Grade::Quorum, "two of three");
}

/// The size of the table, which every heartbeat names, includes dead members. So the size of the table must not replace
/// the expected number of members.
#[test]
fn with_an_expected_number_each_heartbeat_is_answered() {
    let mut rig = member();
    for _ in 0..4 {
        rig.pass_time(HEARTBEAT);
        rig.hear_all(3, here(token(10)));
    }
    for number in 0..8 {
        rig.pass_time(HEARTBEAT);
        rig.hear_bytes(&heartbeat_with_size(number, 300), Duration::ZERO);
        let promise = promise(&rig).expect("three are expected");
        assert_eq!(promise.lasts, nanos(WAITER_TIMEOUT), "heartbeat {number}");
    }
}

/// Runs the owner of a ring of 140 members. All members confirm the owner's tenure once per heartbeat.
#[test]
fn a_quorum_of_a_large_ring_is_renewed_before_it_ends() {
    const OTHERS: u8 = 139;
    let other = |n| MacAddr([2, 0, 0, 0, 1, n]);
    let (mut rig, _) = Rig::start(constants(), BLANK);
    for n in 0..OTHERS {
        hear_from(&mut rig, other(n), mac(ME), ping(NO_IP));
    }
    for progress in 1..9 {
        rig.pass_time(HEARTBEAT);
        hear_from(
            &mut rig,
            other(0),
            MacAddr::BROADCAST,
            here(token(progress)),
        );
    }
    rig.command(Command::WantToken);
    hear_from(&mut rig, other(0), mac(ME), take(token(11)));
    rig.command(Command::Confirm);
    let lasts = WAITER_TIMEOUT + 2 * HEARTBEAT;
    let first = beat(&rig);
    let mut before = None;
    for number in first..first + 8 {
        for n in 0..OTHERS {
            let message = message_with_promise_for(token(11), number, lasts);
            hear_from(&mut rig, other(n), mac(ME), message);
        }
        rig.pass_time(HEARTBEAT);
        assert_eq!(rig.machine.grade(), Grade::Quorum, "heartbeat {number}");
        let until = rig.machine.grade_until();
        assert!(until > before, "heartbeat {number} renews it: {until:?}");
        before = until;
    }
}

/// Returns a heartbeat whose digest names this size of the ring.
fn heartbeat_with_size(beat: u32, size: u32) -> Vec<u8> {
    sized_of(token(10), beat, size)
}

fn sized_of(token: Token, beat: u32, size: u32) -> Vec<u8> {
    let message = Message::TokenIsHere {
        token,
        digest: Digest { size, hash: 1 },
        data: b"",
        beat: Some(beat),
    };
    frame(mac(3), MacAddr::BROADCAST, message)
}

#[test]
fn a_late_heartbeat_that_asks_for_less_does_not_shorten_a_promise() {
    let mut rig = Rig::waiter();
    for _ in 0..8 {
        rig.pass_time(HEARTBEAT);
        rig.hear_all(3, here(token(10)));
    }
    // In a larger ring, promises last longer: 200 members answer every fourth heartbeat, and 100 members answer every
    // second heartbeat.
    rig.hear_bytes(&heartbeat_with_size(3, 200), Duration::ZERO);
    let promised = promise(&rig).expect("the node is free to promise").lasts;
    assert_eq!(promised, nanos(WAITER_TIMEOUT + 3 * HEARTBEAT));
    rig.pass_time(ms(10));
    rig.hear_bytes(&heartbeat_with_size(1, 100), Duration::ZERO);
    rig.stall(WAITER_TIMEOUT + 2 * HEARTBEAT);
    rig.hear_all(7, heartbeat_with_beat(token_of(20, 7, 1), 0));
    assert_eq!(promise(&rig), None, "the longer promise to n3 lasts");
    rig.stall(HEARTBEAT);
    rig.hear_all(7, heartbeat_with_beat(token_of(20, 7, 1), 1));
    assert!(promise(&rig).is_some());
}

/// A holder that outbid another owner has a new token. The holder still relies on this node's promise for the earlier
/// token.
#[test]
fn a_holder_that_outbids_does_not_shorten_a_promise() {
    let mut rig = Rig::waiter();
    for _ in 0..8 {
        rig.pass_time(HEARTBEAT);
        rig.hear_all(3, here(token(10)));
    }
    rig.hear_bytes(&heartbeat_with_size(3, 200), Duration::ZERO);
    let promised = promise(&rig).expect("the node is free to promise").lasts;
    assert_eq!(promised, nanos(WAITER_TIMEOUT + 3 * HEARTBEAT));
    rig.pass_time(ms(10));
    rig.hear_bytes(&sized_of(token_of(2_000, 3, 2), 5, 100), Duration::ZERO);
    assert!(promise(&rig).is_some());
    rig.stall(WAITER_TIMEOUT + 2 * HEARTBEAT);
    rig.hear_all(7, heartbeat_with_beat(token_of(3_000, 7, 1), 0));
    assert_eq!(promise(&rig), None, "the longer promise to n3 lasts");
    rig.stall(HEARTBEAT);
    rig.hear_all(7, heartbeat_with_beat(token_of(3_000, 7, 1), 1));
    assert!(promise(&rig).is_some());
}

#[test]
fn an_implausible_ring_size_does_not_lengthen_a_promise() {
    let mut rig = Rig::waiter();
    for _ in 0..40 {
        rig.pass_time(HEARTBEAT);
        rig.hear_all(3, here(token(10)));
    }
    for number in 0..16 {
        rig.hear_bytes(&heartbeat_with_size(number, u32::MAX), Duration::ZERO);
        if let Some(promise) = promise(&rig) {
            assert_eq!(promise.lasts, nanos(WAITER_TIMEOUT + 15 * HEARTBEAT));
            return;
        }
    }
    panic!("the node answers at least every sixteenth heartbeat");
}

/// This node is the only expected member, and relies on its own lease. Until the lease ends, the node confirms no other
/// holder.
#[test]
fn a_quorum_of_one_keeps_its_vote_when_it_loses_the_token() {
    let constants = Constants {
        expect: Some(1),
        ..constants()
    };
    let (mut rig, _) = Rig::start(constants, BLANK);
    rig.pass_time(2 * WAITER_TIMEOUT);
    assert_eq!(rig.machine.grade(), Grade::Quorum);
    let until = rig.machine.grade_until().expect("a quorum of one");
    rig.hear_all(3, heartbeat_with_beat(token(1_000), 0));
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(promise(&rig), None);
    rig.stall(until.since(rig.now.monotonic));
    rig.hear_all(3, heartbeat_with_beat(token(1_000), 1));
    assert!(promise(&rig).is_some());
}

#[test]
fn a_quorum_of_one_lasts_from_its_last_heartbeat() {
    let constants = Constants {
        expect: Some(1),
        ..constants()
    };
    let (mut rig, _) = Rig::start(constants, BLANK);
    rig.hear(3, ping(NO_IP));
    rig.hear_all(3, Message::Leaving);
    rig.pass_time(3 * WAITER_TIMEOUT);
    for _ in 0..3 {
        assert_eq!(rig.pass_time(HEARTBEAT).len(), 1);
        assert_eq!(rig.machine.grade(), Grade::Quorum);
        assert_eq!(rig.machine.grade_until(), rig.machine.lease_until());
    }
}

/// n7 took token 11 from n3, and offered token 12 without success. Then n7 minted a new chain and handed this chain to
/// n8.
#[test]
fn a_promise_ends_when_a_failed_offer_of_its_chain_is_broadcast() {
    for (told, from, is_free) in [
        (was_here(token(12), 7), MacAddr::BROADCAST, true),
        // A broadcast about another chain does not affect the promise.
        (was_here(token(10), 7), MacAddr::BROADCAST, false),
        (was_here(token_of(12, 7, 1), 7), MacAddr::BROADCAST, false),
        // A unicast frame of this kind is an answer. The author may not have offered the token that the frame names.
        (was_here(token(12), 7), mac(ME), false),
    ] {
        let mut rig = member();
        rig.hear_all(3, heartbeat_with_beat(token(10), 0));
        assert!(promise(&rig).is_some());
        hear_from(&mut rig, mac(7), from, told);
        rig.hear_all(8, heartbeat_with_beat(token_of(20, 7, 1), 0));
        assert_eq!(promise(&rig).is_some(), is_free, "{told:?}");
    }
}

/// The owner's application may continue until its lease ends.
#[test]
fn a_broadcast_failed_offer_does_not_end_an_owners_own_vote() {
    let mut rig = owner(constants_expecting_three());
    let number = beat(&rig);
    rig.hear(3, message_with_promise(token(11), number));
    hear_owner(&mut rig, 7, token_of(20, 7, 1), Some(Backing::Quorum));
    assert_eq!(rig.state(), State::Waiter);
    rig.hear_all(7, was_here(token(12), 7));
    rig.hear_all(7, heartbeat_with_beat(token_of(20, 7, 1), 0));
    assert_eq!(promise(&rig), None);
}

#[test]
fn a_member_that_has_left_does_not_count_until_it_is_back() {
    let mut rig = owner(constants_expecting_three());
    let size = |rig: &Rig| rig.machine.votes().ring;
    for n in [8, 9] {
        rig.hear(n, ping(NO_IP));
    }
    assert_eq!(size(&rig), 5);
    rig.hear_all(8, Message::Leaving);
    assert_eq!(size(&rig), 4);
    rig.hear_all(9, Message::Leaving);
    rig.hear_all(9, Message::Leaving);
    assert_eq!(size(&rig), 3);
    // The size of the ring is at least the expected number.
    rig.hear_all(7, Message::Leaving);
    assert_eq!(size(&rig), 3);
    rig.hear(8, ping(NO_IP));
    assert_eq!(size(&rig), 3);
    rig.hear(9, ping(NO_IP));
    assert_eq!(size(&rig), 4);
}
