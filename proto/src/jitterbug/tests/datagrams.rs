//! Datagrams (`docs/jitterbug/protocol/messages.md` M1 to M15).

use super::prelude::*;

#[test]
fn datagrams_of_this_node_are_ignored() {
    let mut rig = Rig::leader(5);
    rig.receive_datagram(1, &tr1(-1000, 7001));
    rig.receive_datagram(1, &tr1(9, 7001));
    rig.receive_datagram(1, &tr2(9));
    assert_eq!(rig.take_datagrams(), []);
    assert_eq!(rig.machine.counters().tr1_received, 0);
}

#[test]
fn a_leader_answers_every_tr1_that_it_leads() {
    let mut rig = Rig::leader(5);
    for heard in [-1, -5, -9, 1, 5] {
        rig.receive_datagram(2, &tr1(heard, 7002));
        assert_eq!(
            rig.take_datagrams(),
            [SentDatagram::Tr2(host(2), 5)],
            "{heard}"
        );
    }
}

#[test]
fn a_leader_answers_in_every_phase_of_a_pass() {
    let (mut rig, stream) = Rig::giver();
    for step in 0..3 {
        match step {
            0 => {}
            1 => rig.open_by_kernel(stream),
            _ => rig.receive(stream, TP3),
        }
        rig.clear_output();
        rig.receive_datagram(3, &tr1(-1, 7003));
        assert_eq!(rig.take_datagrams(), [SentDatagram::Tr2(host(3), 5)]);
    }
    rig.receive_end(stream, &[]);
    assert_eq!(rig.state(), State::Waiter);
    rig.clear_output();
    rig.receive_datagram(3, &tr1(-1, 7003));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr2(host(3), -5)]);
}

#[test]
fn a_waiter_answers_smaller_ids_of_nodes_that_do_not_lead() {
    let mut rig = Rig::waiter(5);
    for (heard, answered) in [(-4, true), (-5, false), (-6, false), (4, false), (5, false)] {
        rig.receive_datagram(2, &tr1(heard, 7002));
        let answer = [SentDatagram::Tr2(host(2), -5)];
        assert_eq!(
            rig.take_datagrams(),
            &answer[..usize::from(answered)],
            "{heard}"
        );
    }
}

#[test]
fn an_orphan_answers_smaller_ids_and_in_the_second_try_equal_ones() {
    let mut rig = Rig::orphan();
    rig.receive_datagram(2, &tr1(-999, 7002));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr2(host(2), -1000)]);
    rig.receive_datagram(2, &tr1(-1000, 7002));
    assert_eq!(rig.take_datagrams(), []);
    rig.run(ms(350));
    rig.clear_output();
    let tryout = i32::try_from(rig.token()).unwrap();
    rig.receive_datagram(2, &tr1(-tryout + 1, 7002));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr2(host(2), -tryout)]);
    rig.receive_datagram(2, &tr1(-tryout, 7002));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr2(host(2), -tryout)]);
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn an_orphan_does_not_answer_larger_ids() {
    let mut rig = Rig::orphan();
    rig.receive_datagram(2, &tr1(-1001, 7002));
    assert_eq!((rig.take_datagrams(), rig.state()), (vec![], State::Waiter));
}

#[test]
fn an_announcement_denies_an_orphan_which_then_acts_as_a_waiter() {
    let mut rig = Rig::orphan();
    rig.receive_datagram(2, &tr1(2000, 7002));
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(
        rig.take_datagrams(),
        [SentDatagram::Tr1(host(2), -1000)],
        "the node sends the TR1 that it owes"
    );
    assert_eq!(
        rig.machine.stronger_leader(),
        Some(node(2)),
        "the sender is a rival"
    );
}

#[test]
fn tr2_is_never_answered_and_counts_in_a_restore_only() {
    for heard in [-9, 9] {
        let mut leader = Rig::leader(5);
        leader.receive_datagram(2, &tr2(heard));
        assert_eq!(
            (leader.take_datagrams(), leader.state()),
            (vec![], State::Leader)
        );
        let mut waiter = Rig::waiter(5);
        waiter.receive_datagram(2, &tr2(heard));
        assert_eq!(
            (waiter.take_datagrams(), waiter.state()),
            (vec![], State::Waiter)
        );
        assert_eq!(waiter.machine.stronger_leader(), None);
    }
    let mut orphan = Rig::orphan();
    orphan.receive_datagram(2, &tr2(-9));
    assert_eq!(
        (orphan.take_datagrams(), orphan.state()),
        (vec![], State::Orphan)
    );
    orphan.receive_datagram(2, &tr2(9));
    assert_eq!(
        (orphan.take_datagrams(), orphan.state()),
        (vec![], State::Waiter)
    );
}

#[test]
fn senders_are_stored_in_every_state() {
    for mut rig in [Rig::orphan(), Rig::waiter(5), Rig::leader(5)] {
        rig.receive_datagram(2, &tr1(-1, 7002));
        rig.receive_datagram(3, &tr1(-1, 7003));
        rig.receive_datagram(2, &tr1(-1, 8002));
        let mut moved = node(2);
        moved.port = 8002;
        assert_eq!(rig.machine.snapshot().to_add, [moved, node(3)]);
        rig.receive_datagram(1, &tr1(-1, 9));
        assert_eq!(rig.machine.snapshot().to_add.len(), 2);
    }
}

#[test]
fn a_node_of_the_list_is_not_to_be_added_unless_its_port_is_another() {
    let mut rig = Rig::waiter(5);
    rig.receive_token(2, 9, &[node(2)], b"1");
    rig.receive_datagram(2, &tr1(-1, 7002));
    assert_eq!(rig.machine.snapshot().to_add, []);
    rig.receive_datagram(2, &tr1(-1, 8002));
    assert_eq!(rig.machine.snapshot().to_add.len(), 1);
    // The node still has its old port. The other port came from a late datagram of an earlier process, or there were
    // two restarts.
    rig.receive_datagram(2, &tr1(-1, 7002));
    assert_eq!(rig.machine.snapshot().to_add, []);
}

#[test]
fn one_datagram_leads_to_one_at_most() {
    for heard in [
        tr1(-1, 7002),
        tr1(-2000, 7002),
        tr1(9, 7002),
        tr2(9),
        tr2(-9),
    ] {
        for mut rig in [Rig::orphan(), Rig::waiter(5), Rig::leader(5)] {
            rig.clear_output();
            rig.receive_datagram(2, &heard);
            assert!(rig.take_datagrams().len() <= 1);
        }
    }
}
