//! RING_BASED and CHANG_ROBERTS (E4 to E12).

use super::elections::{CHANG, RING, from_predecessor, member_with_method, node_2};
use super::prelude::*;

#[test]
fn ring_based_the_starter_sends_itself_and_others_append_themselves() {
    let mut rig = member_with_method(RING, 5, FakeDatabase::ring(&[1, 2, 3, 5], 3, 4));
    rig.run(ms(3000));
    let elections: Vec<OwnedMessage> = rig
        .take_successor_frames()
        .into_iter()
        .filter(|it| matches!(it, OwnedMessage::Election(_)))
        .collect();
    assert_eq!(elections, [ring_election(&[5])]);
    let mut rig = node_2();
    assert_eq!(
        from_predecessor(&mut rig, &ring_election(&[5, 1])),
        [ring_election(&[5, 1, 2])]
    );
}

#[test]
fn ring_based_it_ends_at_the_first_node_that_finds_itself() {
    let mut rig = node_2();
    assert_eq!(
        from_predecessor(&mut rig, &ring_election(&[2, 3, 5, 1])),
        [result(RING, 5)]
    );
    // The starter 5 is dead, and so are the other nodes before this node in the message.
    let mut rig = node_2();
    assert_eq!(
        from_predecessor(&mut rig, &ring_election(&[5, 2, 3, 1])),
        [result(RING, 3)]
    );
    let mut rig = node_2();
    assert_eq!(
        from_predecessor(&mut rig, &ring_election(&[2, 77, 1])),
        [result(RING, 2)],
        "the node ignores an id that the list lacks"
    );
    assert_eq!(rig.counters().elections_won, 1);
}

#[test]
fn ring_based_without_ids_or_with_more_than_the_list_it_is_dropped() {
    let mut rig = node_2();
    let long: Vec<u32> = (3..12).collect();
    let longer: Vec<u32> = (1..11).collect();
    for ids in [&[][..], &longer, &long] {
        assert_eq!(from_predecessor(&mut rig, &ring_election(ids)), []);
    }
    assert_eq!(rig.drop_count(Reason::Candidates), 3);
}

#[test]
fn chang_roberts_forwards_a_larger_candidate_once_per_t1() {
    let mut rig = node_2();
    from_predecessor(&mut rig, &candidate(1));
    assert_eq!(
        from_predecessor(&mut rig, &candidate(5)),
        [candidate(5)],
        "a participant also forwards a larger candidate"
    );
    rig.run(ms(999));
    assert_eq!(
        from_predecessor(&mut rig, &candidate(5)),
        [],
        "the node of the candidate is gone"
    );
    assert_eq!(from_predecessor(&mut rig, &candidate(3)), [candidate(3)]);
    rig.run(ms(1));
    assert_eq!(from_predecessor(&mut rig, &candidate(5)), [candidate(5)]);
    assert_eq!(from_predecessor(&mut rig, &candidate(77)), []);
    assert_eq!(rig.drop_count(Reason::UnknownNode), 1);
}

#[test]
fn chang_roberts_outbids_a_smaller_candidate_once() {
    let mut rig = node_2();
    assert_eq!(from_predecessor(&mut rig, &candidate(1)), [candidate(2)]);
    assert_eq!(from_predecessor(&mut rig, &candidate(1)), []);
    assert_eq!(rig.drop_count(Reason::Outbid), 1);
}

#[test]
fn chang_roberts_wins_with_its_returned_candidacy() {
    let mut rig = node_2();
    assert_eq!(
        from_predecessor(&mut rig, &candidate(2)),
        [result(CHANG, 2)]
    );
    assert_eq!(rig.counters().elections_won, 1);
    assert_eq!(from_predecessor(&mut rig, &candidate(2)), []);
}

#[test]
fn chang_roberts_a_result_2_t1_or_a_new_successor_end_participation() {
    let ends: [fn(&mut Rig); 3] = [
        |rig| drop(from_predecessor(rig, &result(CHANG, 5))),
        |rig| rig.run(ms(2000)),
        |rig| {
            let (stream, _) = rig.successor();
            rig.end_stream(stream);
            rig.connect_successor();
            rig.take_successor_frames();
        },
    ];
    for end in ends {
        let mut rig = node_2();
        from_predecessor(&mut rig, &candidate(1));
        rig.run(ms(100));
        end(&mut rig);
        assert_eq!(from_predecessor(&mut rig, &candidate(1)), [candidate(2)]);
    }
}
