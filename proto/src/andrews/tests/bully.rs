//! BULLY (E13 to E17).

use super::elections::{from_predecessor, member_with_method, node_2};
use super::prelude::*;

#[test]
fn bully_asks_all_larger_members_and_wins_without_an_ok() {
    let mut rig = node_2();
    rig.receive_datagram(1, &BULLY);
    assert_eq!(rig.take_datagrams(), [(1, OK), (3, BULLY), (5, BULLY)]);
    rig.run(ms(999));
    assert_eq!(rig.take_datagrams(), []);
    rig.run(ms(1));
    let mine = result(Method::Bully, 2);
    assert_eq!(
        rig.take_datagrams(),
        [(1, mine.clone()), (3, mine.clone()), (5, mine)]
    );
    assert_eq!(rig.counters().elections_won, 1);
    rig.run(ms(20));
    assert!(matches!(rig.take_writes()[..], [Write::Elected { .. }]));
}

#[test]
fn bully_without_larger_members_wins_at_once() {
    let database = FakeDatabase::ring(&[1, 2, 3, 5], 3, 4);
    let mut rig = member_with_method(Method::Bully, 5, database);
    rig.run(ms(2900));
    let mine = result(Method::Bully, 5);
    assert_eq!(
        rig.take_datagrams(),
        [(1, mine.clone()), (2, mine.clone()), (3, mine)]
    );
}

#[test]
fn bully_after_an_ok_it_waits_2_t1_for_a_result_and_starts_again() {
    let mut rig = node_2();
    rig.receive_datagram(1, &BULLY);
    rig.take_datagrams();
    rig.receive_datagram(1, &OK);
    assert_eq!(
        rig.drop_count(Reason::Unasked),
        1,
        "an OK of a smaller node"
    );
    rig.receive_datagram(5, &OK);
    rig.run(ms(1999));
    assert_eq!(rig.take_datagrams(), []);
    rig.run(ms(1));
    assert_eq!(rig.take_datagrams(), [(3, BULLY), (5, BULLY)]);
    rig.receive_datagram(5, &OK);
    rig.receive_datagram(5, &result(Method::Bully, 5));
    rig.run(ms(3000));
    assert_eq!(rig.take_datagrams(), []);
    rig.receive_datagram(5, &OK);
    assert_eq!(rig.drop_count(Reason::Unasked), 2);
}

#[test]
fn bully_an_election_of_a_smaller_one_is_always_answered_of_a_larger_never() {
    let mut rig = node_2();
    rig.receive_datagram(1, &BULLY);
    rig.take_datagrams();
    rig.receive_datagram(1, &BULLY);
    assert_eq!(
        rig.take_datagrams(),
        [(1, OK)],
        "the node also answers during an election"
    );
    rig.receive_datagram(5, &result(Method::Bully, 5));
    rig.receive_datagram(1, &BULLY);
    assert_eq!(
        rig.take_datagrams(),
        [(1, OK)],
        "the node starts once per T1"
    );
    rig.run(ms(1000));
    rig.receive_datagram(1, &BULLY);
    assert_eq!(rig.take_datagrams().len(), 3);
    rig.receive_datagram(5, &BULLY);
    assert_eq!(rig.take_datagrams(), []);
    assert_eq!(rig.drop_count(Reason::Larger), 1);
}

#[test]
fn bully_replaces_a_smaller_winner_once_per_t1() {
    let database = FakeDatabase::ring(&[1, 2, 3, 5], 5, 4);
    let mut rig = member_with_method(Method::Bully, 3, database);
    rig.receive_datagram(2, &result(Method::Bully, 2));
    assert_eq!(rig.take_datagrams(), [(5, BULLY)]);
    rig.receive_datagram(2, &result(Method::Bully, 2));
    assert_eq!(rig.take_datagrams(), []);
    rig.receive_datagram(2, &result(Method::Bully, 1));
    assert_eq!(rig.drop_count(Reason::NotItself), 1);
    rig.run(ms(1500));
    rig.receive_datagram(7, &result(Method::Bully, 7));
    rig.receive_datagram(4, &result(Method::Bully, 4));
    assert!(!rig.snapshot().election.ongoing);
}

#[test]
fn bully_starts_once_per_t1_with_any_handlers_between() {
    let mut rig = node_2();
    rig.receive_datagram(1, &BULLY);
    assert_eq!(rig.take_datagrams().len(), 3);
    for _ in 0..10 {
        from_predecessor(&mut rig, &candidate(5));
        rig.receive_datagram(1, &BULLY);
    }
    assert_eq!(rig.take_datagrams(), vec![(1, OK); 10]);
}

#[test]
fn a_message_to_many_leaves_in_parts() {
    let members: Vec<u32> = (1..=100).collect();
    let options = Options {
        election: Method::Bully,
        ..Options::new(100)
    };
    let mut rig = Rig::idle(options, list(100), FakeDatabase::ring(&members, 3, 4));
    rig.begin();
    rig.connect_neighbors();
    rig.run(ms(100));
    let mut most = 0;
    let mut all = BTreeMap::new();
    for _ in 0..1000 {
        let due = rig.due_at().expect("there is one");
        rig.now = rig.now.max(due);
        rig.fire_timeout();
        let message = rig.take_datagrams();
        most = most.max(message.len());
        for (to, message) in message {
            if message == result(Method::Bully, 100) {
                *all.entry(to).or_insert(0) += 1;
            }
        }
        if all.len() == 99 {
            break;
        }
    }
    assert_eq!(all.len(), 99);
    assert!(all.values().all(|count| *count == 1));
    assert!(most <= 32, "{most}");
}
