//! Proof of the network (A5), and claims of members that see no token.

use super::prelude::*;

/// Returns node 3. Node 3 lost its successor, the coordinator 5, because of a timeout. After this loss, node 3 received
/// no message.
fn cut_off() -> Rig {
    let mut rig = Rig::member(3, ring_of_four());
    rig.run(ms(100));
    rig.take_opened();
    let (stream, _) = rig.successor();
    rig.close_by_kernel(stream, CloseReason::TimedOut);
    let (stream, _) = rig.successor();
    rig.take_opened();
    rig.close_by_kernel(stream, CloseReason::Failed);
    rig.run(ms(20));
    assert_eq!(rig.state(), State::Recovering);
    rig
}

/// Advances the time by several polls. Meanwhile the coordinator's beat grows.
fn beat(rig: &mut Rig, polls: u32) {
    for _ in 0..polls {
        rig.database.beat += 1;
        rig.run(ms(1000));
    }
}

#[test]
fn without_proof_a_moving_beat_prevents_a_claim() {
    let mut rig = cut_off();
    beat(&mut rig, 30);
    assert_eq!(rig.take_writes(), []);
    assert_eq!(rig.state(), State::Recovering);
}

#[test]
fn a_beat_that_stops_for_alone_timeout_needs_no_proof() {
    let mut rig = cut_off();
    beat(&mut rig, 3);
    rig.run(ms(3800));
    assert_eq!(rig.take_writes(), []);
    rig.run(ms(2000));
    assert!(matches!(rig.take_writes()[..], [Write::Claim { .. }, ..]));
}

#[test]
fn a_frame_of_another_node_is_proof() {
    let mut rig = cut_off();
    beat(&mut rig, 2);
    rig.receive_datagram_bytes(ip(1), &OwnedMessage::Successor(5).encode(2));
    rig.receive_datagram_bytes(ip(1), &[1; 9]);
    rig.run(ms(20));
    rig.run(ms(2900));
    assert_eq!(
        rig.take_writes(),
        [],
        "a forged or malformed frame is no proof"
    );
    rig.receive_datagram(1, &OwnedMessage::Successor(5));
    rig.run(ms(20));
    assert!(matches!(rig.take_writes()[..], [Write::Claim { .. }]));
}

#[test]
fn evidence_from_before_the_loss_does_not_count() {
    let mut rig = Rig::member(3, ring_of_four());
    rig.run(ms(100));
    rig.receive_datagram(1, &OwnedMessage::Successor(5));
    rig.run(ms(1));
    let (stream, _) = rig.successor();
    rig.close_by_kernel(stream, CloseReason::TimedOut);
    rig.run(ms(20));
    let (stream, _) = rig.successor();
    rig.close_by_kernel(stream, CloseReason::Failed);
    beat(&mut rig, 4);
    assert_eq!(rig.take_writes(), []);
}

#[test]
fn it_looks_for_proof_at_the_coordinator_and_one_other_member() {
    let mut rig = cut_off();
    let probes = rig.take_opened();
    assert_eq!(probes.len(), 2);
    assert!(probes.iter().any(|(_, to)| *to == 5));
    assert!(probes.iter().any(|(_, to)| [1, 2].contains(to)));
    beat(&mut rig, 1);
    assert_eq!(
        rig.fate(probes[0].0),
        Fate::Closed,
        "a probe lasts for connect-timeout"
    );
    let probes = rig.take_opened();
    assert!(!probes.is_empty(), "each repeat opens probes");
    for (how, (probe, _)) in probes.into_iter().enumerate() {
        if rig.fate(probe) == Fate::Open && how % 2 == 1 {
            rig.open_by_kernel(probe);
            assert_eq!(rig.fate(probe), Fate::Closed, "at once");
            assert_eq!(rig.take_frames(probe), []);
        }
    }
    rig.run(ms(3600));
    assert!(matches!(rig.take_writes()[..], [Write::Claim { .. }, ..]));
}

#[test]
fn a_refused_probe_is_proof_and_one_that_fails_is_none() {
    let mut rig = cut_off();
    rig.run(ms(3400));
    let mut probes = rig.take_opened();
    probes.retain(|(probe, _)| rig.fate(*probe) == Fate::Open);
    rig.close_by_kernel(probes[0].0, CloseReason::Failed);
    rig.run(ms(20));
    assert_eq!(rig.take_writes(), []);
    rig.close_by_kernel(probes[1].0, CloseReason::Refused);
    rig.run(ms(20));
    assert!(matches!(rig.take_writes()[..], [Write::Claim { .. }]));
}

#[test]
fn removing_the_coordinator_needs_proof_or_alone_timeout_since_the_loss() {
    let mut rig = Rig::coordinator_5();
    let (stream, _) = rig.successor();
    rig.close_by_kernel(stream, CloseReason::TimedOut);
    let (stream, _) = rig.successor();
    rig.close_by_kernel(stream, CloseReason::Failed);
    let removals = |rig: &Rig| rig.counters().removals;
    rig.run(ms(4900));
    assert_eq!(removals(&rig), 0);
    rig.run(ms(700));
    assert_eq!(removals(&rig), 1);
}

#[test]
fn without_a_token_for_2_r_in_one_term_a_member_claims_and_makes_one() {
    let mut rig = Rig::node_2();
    // R is 5.2 s, and the member read its first rows at most 50 ms ago.
    rig.run(ms(10_350));
    assert_eq!(rig.take_writes(), []);
    rig.run(ms(150));
    assert!(matches!(
        rig.take_writes()[..],
        [Write::Claim { change: None, .. }, Write::Token { .. }, ..]
    ));
    assert_eq!(rig.counters().tokens_made, 1, "at once");
}

#[test]
fn a_token_or_another_term_restarts_the_time() {
    let mut rig = Rig::node_2_after(5000);
    rig.give_token(seq(4, 9));
    rig.run(ms(60));
    rig.acknowledge(seq(4, 10));
    rig.run(ms(10_000));
    assert_eq!(rig.take_writes(), []);
    rig.database.seat.term = 5;
    rig.run(ms(10_300));
    assert_eq!(rig.take_writes(), []);
    rig.run(ms(2000));
    assert!(!rig.take_writes().is_empty());
}

#[test]
fn such_a_claim_needs_proof_of_the_last_r() {
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 9));
    rig.run(ms(60));
    rig.acknowledge(seq(4, 10));
    beat(&mut rig, 20);
    assert_eq!(rig.take_writes(), []);
    rig.receive_datagram(1, &OwnedMessage::Successor(3));
    rig.run(ms(3600));
    assert!(matches!(rig.take_writes()[..], [Write::Claim { .. }, ..]));
}
