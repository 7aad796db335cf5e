//! token_restore (`docs/jitterbug/protocol/restore.md`).

use super::prelude::*;

#[test]
fn an_undenied_node_leads_after_two_tries_of_three_tr1_each() {
    let mut rig = Rig::orphan();
    rig.run(ms(299));
    assert_eq!(
        rig.take_datagrams(),
        [SentDatagram::Tr1(BROADCAST, -1000); 2]
    );
    rig.run(ms(1));
    let second = -i32::try_from(rig.token()).unwrap();
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr1(BROADCAST, second)]);
    rig.run(ms(299));
    assert_eq!(
        rig.take_datagrams(),
        [SentDatagram::Tr1(BROADCAST, second); 2]
    );
    assert_eq!(rig.state(), State::Orphan);
    rig.run(ms(1));
    assert_eq!(rig.state(), State::Leader);
    assert_eq!(
        rig.take_datagrams(),
        [SentDatagram::Tr1(BROADCAST, -second)],
        "the new leader announces its token"
    );
    let counters = rig.machine.counters();
    assert_eq!((counters.restores, counters.restores_won), (1, 1));
}

#[test]
fn a_try_has_tr_count_tr1_one_every_tr_interval() {
    for (tr_count, interval) in [(1, 300), (5, 60)] {
        let options = Options {
            tr_count,
            tr_interval: ms(interval),
            ..Options::default()
        };
        let mut rig = Rig::new(options);
        let mut asked = 1;
        for _ in 1..2 * tr_count {
            rig.run(ms(interval - 1));
            assert_eq!(rig.take_datagrams(), []);
            rig.run(ms(1));
            asked += rig.take_datagrams().len();
        }
        assert_eq!(asked, 2 * usize::try_from(tr_count).unwrap());
        rig.run(ms(interval - 1));
        assert_eq!(
            rig.state(),
            State::Orphan,
            "the last TR1 has a whole interval"
        );
        rig.run(ms(1));
        assert_eq!(rig.state(), State::Leader);
    }
}

/// Checks that a late TR1 delays the following TR1 messages. If the following TR1 were not delayed, the node would send
/// three TR1 at once. Then the try would end before another node can answer.
#[test]
fn a_late_tr1_has_a_whole_interval_for_its_answers() {
    let mut rig = Rig::orphan();
    rig.stall(ms(350));
    rig.fire_timeout();
    assert_eq!(
        rig.take_datagrams(),
        [SentDatagram::Tr1(BROADCAST, -1000)],
        "this is the second TR1 of three"
    );
    rig.run(ms(99));
    assert_eq!(rig.take_datagrams(), []);
    rig.run(ms(1));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr1(BROADCAST, -1000)]);
    rig.run(ms(99));
    assert_eq!(rig.token(), 1000, "the try goes on");
}

#[test]
fn the_new_id_is_above_the_old_one_by_1_to_65536() {
    let mut draw = RandomNumbers::new(3);
    let steps: BTreeSet<u32> = (0..10_000)
        .map(|_| tokens::next(id(-1000), &mut draw).random() - 1000)
        .collect();
    assert!(steps.iter().all(|step| (1..=65_536).contains(step)));
    assert!(steps.first() < Some(&100) && steps.last() > Some(&65_400));
}

#[test]
fn after_the_largest_id_a_new_one_is_drawn_from_1_to_2_to_the_30() {
    let mut draw = RandomNumbers::new(3);
    for _ in 0..1000 {
        let next = tokens::next(id(-i32::MAX), &mut draw).random();
        assert!((1..=1 << 30).contains(&next), "{next}");
    }
}

#[test]
fn the_first_id_of_a_node_is_drawn_from_1_to_2_to_the_30() {
    let mut draw = RandomNumbers::new(3);
    let first = (0..1000).map(|_| tokens::first(&mut draw).random());
    let first: Vec<u32> = first.collect();
    assert!(first.iter().all(|first| (1..=1 << 30).contains(first)));
    assert!(first.iter().any(|first| *first > 1 << 29));
}

/// Runs a restore that receives `message` in its first or second try. Returns whether the message denies the restore.
fn is_denied(second: bool, message: impl Fn(u32) -> Vec<u8>) -> (bool, Rig) {
    let mut rig = Rig::orphan();
    if second {
        rig.run(ms(350));
    }
    rig.clear_output();
    let tryout = rig.token();
    rig.receive_datagram(2, &message(tryout));
    assert_eq!(rig.token(), tryout, "token_id stays as it is");
    (rig.state() == State::Waiter, rig)
}

fn relative(tryout: u32, by: i32) -> i32 {
    i32::try_from(tryout).unwrap() + by
}

#[test]
fn a_leader_denies_tries_with_any_id() {
    for second in [false, true] {
        assert!(is_denied(second, |_| tr2(1)).0);
        assert!(is_denied(second, |_| tr1(1, 7002)).0);
        assert!(is_denied(second, |tryout| tr2(relative(tryout, 0))).0);
    }
}

#[test]
fn other_nodes_deny_only_by_a_larger_id() {
    for second in [false, true] {
        for (by, denied) in [(1, true), (-1, false)] {
            assert_eq!(is_denied(second, |it| tr2(-relative(it, by))).0, denied);
            assert_eq!(
                is_denied(second, |it| tr1(-relative(it, by), 7002)).0,
                denied
            );
        }
    }
}

#[test]
fn an_equal_id_denies_in_the_second_try_only() {
    for second in [false, true] {
        assert_eq!(is_denied(second, |it| tr2(-relative(it, 0))).0, second);
        assert_eq!(
            is_denied(second, |it| tr1(-relative(it, 0), 7002)).0,
            second
        );
    }
}

#[test]
fn no_tr1_of_a_denied_restore_is_sent() {
    let (_, mut rig) = is_denied(false, |_| tr2(1));
    rig.clear_output();
    rig.run(ms(1999));
    assert_eq!(rig.take_datagrams(), []);
    rig.run(ms(1));
    assert_eq!(rig.state(), State::Orphan, "renew_timeout is over");
}

#[test]
fn a_node_denied_by_a_non_leader_owes_one_tr1_to_the_first_announcement() {
    for denied_by in [tr2(-2000), tr1(-2000, 7002)] {
        let (denied, mut rig) = is_denied(false, |_| denied_by.clone());
        assert!(denied);
        rig.clear_output();
        rig.receive_datagram(3, &tr1(-5000, 7003));
        assert_eq!(rig.take_datagrams(), [], "a question is no announcement");
        rig.receive_datagram(4, &tr1(5000, 7004));
        assert_eq!(rig.take_datagrams(), [SentDatagram::Tr1(host(4), -1000)]);
        rig.receive_datagram(4, &tr1(5000, 7004));
        rig.receive_datagram(5, &tr1(5000, 7005));
        assert_eq!(rig.take_datagrams(), [], "once");
    }
}

#[test]
fn a_node_denied_by_an_announcement_answers_it() {
    let (_, mut rig) = is_denied(false, |_| tr1(5, 7002));
    assert_eq!(rig.take_datagrams(), [SentDatagram::Tr1(host(2), -1000)]);
    rig.receive_datagram(3, &tr1(5, 7003));
    assert_eq!(rig.take_datagrams(), []);
}

#[test]
fn a_node_denied_by_tr2_of_a_leader_owes_no_tr1() {
    let (_, mut rig) = is_denied(false, |_| tr2(5));
    rig.receive_datagram(2, &tr1(5, 7002));
    assert_eq!(rig.take_datagrams(), []);
}

#[test]
fn becoming_leader_or_orphan_cancels_the_debt() {
    let (_, mut rig) = is_denied(false, |_| tr2(-2000));
    rig.receive_token(2, 3000, &[node(2)], b"7");
    assert_eq!(rig.state(), State::Leader);
    rig.pass();
    assert_eq!(rig.state(), State::Waiter);
    rig.clear_output();
    rig.receive_datagram(2, &tr1(3000, 7002));
    assert_eq!(rig.take_datagrams(), []);

    let (_, mut rig) = is_denied(false, |_| tr2(-2000));
    rig.run(ms(2000));
    assert_eq!(rig.state(), State::Orphan);
    rig.receive_datagram(3, &tr2(1));
    rig.clear_output();
    rig.receive_datagram(2, &tr1(3000, 7002));
    assert_eq!(
        rig.take_datagrams(),
        [],
        "a leader's TR2 did not make it a waiter"
    );
}

#[test]
fn taking_a_token_aborts_the_restore_even_after_passing_it() {
    let mut rig = Rig::orphan();
    rig.run(ms(500));
    rig.receive_token(2, 3000, &[node(2)], b"7");
    assert_eq!((rig.state(), rig.token()), (State::Leader, 3000));
    rig.pass();
    assert_eq!(rig.state(), State::Waiter);
    rig.clear_output();
    rig.run(ms(1500));
    assert_eq!(rig.take_datagrams(), []);
    assert_eq!(rig.machine.counters().restores_won, 0);
}

#[test]
fn a_restore_that_is_granted_waits_for_an_exchange_whose_tp1_was_answered() {
    let mut rig = Rig::orphan();
    rig.run(ms(400));
    rig.offer(2, 3000, 5);
    rig.run(ms(250));
    assert_eq!(
        rig.state(),
        State::Orphan,
        "the restore goes on although 600 ms are over"
    );
    rig.run(ms(249));
    assert_eq!(rig.state(), State::Orphan);
    rig.run(ms(1));
    assert_eq!(rig.state(), State::Leader, "after token_pass_timeout");
}

#[test]
fn a_restore_that_waits_so_takes_the_token_that_it_has_waited_for() {
    let mut rig = Rig::orphan();
    rig.run(ms(400));
    let own = hash(&[node(1)]);
    let stream = rig.offer(2, 3000, own);
    rig.run(ms(250));
    rig.receive_end(stream, &tp5(3000, b"7"));
    assert_eq!((rig.state(), rig.token()), (State::Leader, 3000));
    assert_eq!(rig.machine.counters().restores_won, 0);
}

#[test]
fn a_restore_that_waits_so_can_be_denied() {
    let mut rig = Rig::orphan();
    rig.run(ms(400));
    rig.offer(2, 3000, 5);
    rig.run(ms(250));
    rig.receive_datagram(3, &tr2(1));
    assert_eq!(rig.state(), State::Waiter);
    rig.run(ms(500));
    assert_eq!(rig.state(), State::Waiter);
}

#[test]
fn a_connection_without_tp1_delays_no_restore() {
    let mut rig = Rig::orphan();
    rig.run(ms(400));
    let stream = rig.accept(2);
    rig.receive(stream, &tp1(3000, 5)[..8]);
    rig.run(ms(200));
    assert_eq!(rig.state(), State::Leader);
}

/// Checks that a node does not become leader if its link accepts no datagrams. Nodes that were not asked cannot object.
#[test]
fn a_tr1_that_the_link_has_refused_is_made_up_for() {
    let mut rig = Rig::off(1, Options::default());
    rig.outcome = SendOutcome::Failed;
    rig.link(NetworkState::Up(network(1)));
    rig.run(ms(5000));
    assert_eq!(rig.state(), State::Orphan);
    rig.outcome = SendOutcome::Accepted;
    rig.clear_output();
    rig.run(ms(600));
    assert_eq!(rig.take_datagrams().len(), 6);
    rig.run(ms(100));
    assert_eq!(rig.state(), State::Leader);
}

#[test]
fn denials_are_reported() {
    let (_, mut rig) = is_denied(false, |_| tr2(1));
    let by = host(2);
    assert!(rig.take_events().contains(&Event::RestoreDenied { by }));
}
