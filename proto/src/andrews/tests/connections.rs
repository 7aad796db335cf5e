//! Connections and their hellos (rules C).

use super::prelude::*;

#[test]
fn the_first_frame_must_be_a_hello_for_this_node() {
    let others = [
        (OwnedMessage::Successor(3), Reason::NotHello),
        (OwnedMessage::Token(seq(4, 9)), Reason::NotHello),
        (OwnedMessage::Join, Reason::NotHello),
    ];
    for (message, reason) in others {
        let mut rig = Rig::node_2();
        let stream = rig.accept(ip(1));
        rig.receive(stream, 1, &message);
        assert_eq!(rig.fate(stream), Fate::Closed, "{message:?}");
        assert_eq!(rig.drop_count(reason), 1, "{message:?}");
        assert_eq!(rig.take_frames(stream), []);
    }
    let mut rig = Rig::node_2();
    let stream = rig.accept(ip(1));
    rig.receive(stream, 3, &OwnedMessage::Successor(2));
    assert_eq!(rig.drop_count(Reason::WrongSource), 1);
    let stream = rig.accept(ip(1));
    rig.receive_bytes(stream, &[7; 16]);
    assert_eq!(rig.drop_count(Reason::Malformed), 1);
}

#[test]
fn a_stranger_that_begins_another_frame_is_not_awaited() {
    let mut rig = Rig::node_2();
    let stream = rig.accept(ip(1));
    rig.receive_bytes(stream, &[1]);
    assert_eq!(rig.fate(stream), Fate::Open);
    rig.receive_bytes(stream, &[6]);
    assert_eq!(rig.fate(stream), Fate::Closed);
}

#[test]
fn the_newest_hello_wins_and_the_one_before_is_closed_without_a_word() {
    let mut rig = Rig::node_2();
    let first = rig.predecessor();
    let second = rig.hello(5);
    assert_eq!(rig.fate(first), Fate::Closed);
    assert_eq!(rig.take_frames(first), []);
    assert_eq!(rig.predecessor(), second);
    assert_eq!(rig.take_frames(second), [], "a hello has no answer");
}

#[test]
fn sixteen_connections_without_a_hello_are_kept_each_for_connect_timeout() {
    let mut rig = Rig::node_2();
    let streams: Vec<_> = (0..17).map(|_| rig.accept(ip(1))).collect();
    assert_eq!(
        rig.fate(streams[0]),
        Fate::Closed,
        "the oldest connection is closed"
    );
    assert_eq!(rig.drop_count(Reason::Crowded), 1);
    rig.run(ms(999));
    assert_eq!(rig.fate(streams[1]), Fate::Open);
    rig.run(ms(1));
    assert!(streams.iter().all(|&id| rig.fate(id) == Fate::Closed));
    assert_eq!(rig.drop_count(Reason::Late), 16);
    rig.hello(1);
    rig.run(ms(5000));
    let own = rig.predecessor();
    assert_eq!(
        rig.fate(own),
        Fate::Open,
        "the connection of the predecessor stays"
    );
}

#[test]
fn a_connected_node_sends_hello_and_waits_for_no_answer() {
    let mut rig = Rig::new(2, ring_of_four());
    let (stream, to) = rig.successor();
    assert_eq!(to, 3);
    assert_eq!(rig.snapshot().successor, None);
    rig.open_by_kernel(stream);
    assert_eq!(rig.take_frames(stream), [OwnedMessage::Successor(3)]);
    assert_eq!(rig.snapshot().successor, Some(3));
}

#[test]
fn a_connection_later_than_connect_timeout_does_not_reach_the_successor() {
    let mut rig = Rig::new(2, ring_of_four());
    let (stream, _) = rig.successor();
    rig.run(ms(999));
    assert_eq!(rig.fate(stream), Fate::Open);
    rig.take_events();
    rig.run(ms(1));
    assert_eq!(rig.fate(stream), Fate::Closed);
    let why = SuccessorLoss::NotConnected;
    assert!(rig.take_event(&Event::SuccessorLost { id: 3, why }));
    assert_eq!(rig.state(), State::Recovering);
}

#[test]
fn a_started_frame_must_end_within_liveness() {
    let mut rig = Rig::node_2();
    let token = OwnedMessage::Token(seq(4, 9)).encode(1);
    let (predecessor, (successor, _)) = (rig.predecessor(), rig.successor());
    rig.receive_bytes(predecessor, &token[..19]);
    rig.receive_bytes(successor, &OwnedMessage::TokenAck(1).encode(3)[..19]);
    rig.run(ms(2999));
    assert_eq!(rig.fate(predecessor), Fate::Open);
    assert_eq!(rig.fate(successor), Fate::Open);
    rig.run(ms(1));
    assert_eq!(rig.fate(predecessor), Fate::Closed);
    assert_eq!(rig.fate(successor), Fate::Closed);
    assert_eq!(rig.drop_count(Reason::Late), 1);
}

#[test]
fn losing_the_predecessor_is_never_a_failure() {
    for how in 0..2 {
        let mut rig = Rig::node_2();
        let stream = rig.predecessor();
        if how == 0 {
            rig.end_stream(stream);
        } else {
            rig.close_by_kernel(stream, CloseReason::Reset);
        }
        rig.run(ms(10_000));
        assert_eq!(rig.state(), State::Member);
        assert_eq!(rig.take_datagrams(), []);
        assert_eq!(rig.take_writes(), []);
    }
}

#[test]
fn a_change_of_successor_waits_for_the_acknowledgement() {
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 9));
    rig.run(ms(50));
    assert_eq!(
        rig.take_successor_frames(),
        [OwnedMessage::Token(seq(4, 10))]
    );
    rig.database.ring.insert(2, 4);
    rig.database.ring.insert(4, 3);
    rig.receive_datagram(5, &OwnedMessage::Successor(4));
    rig.run(ms(20));
    assert_eq!(rig.successor().1, 3);
    rig.acknowledge(seq(4, 10));
    assert_eq!(rig.successor().1, 4);
    assert_eq!(rig.counters().passes_failed, 0);
}

#[test]
fn a_ring_of_one_is_connected_to_itself_and_again_after_100_ms() {
    let options = Options::new(2);
    let mut rig = Rig::with(options, FakeDatabase::default());
    rig.run(ms(20));
    let (stream, to) = rig.successor();
    assert_eq!(to, 2);
    rig.close_by_kernel(stream, CloseReason::Refused);
    assert_eq!(rig.state(), State::Member);
    rig.take_opened();
    rig.run(ms(99));
    assert_eq!(rig.take_opened(), []);
    rig.run(ms(1));
    assert_eq!(rig.take_opened().len(), 1);
    assert_eq!(
        rig.state(),
        State::Member,
        "the only node of a ring never fails"
    );
}

#[test]
fn a_successor_that_does_not_read_counts_as_ended() {
    let big: Vec<u32> = (10..16_000).collect();
    let options = Options::new(2);
    let nodes = (1..=16_382).map(|id| (id, address(id)));
    let list = NodeList::new(nodes).expect("it is one");
    let mut rig = Rig::idle(options, list, ring_of_four());
    rig.begin();
    rig.connect_neighbors();
    rig.reads = false;
    let (successor, predecessor) = (rig.successor().0, rig.predecessor());
    for _ in 0..16 {
        rig.receive(predecessor, 1, &ring_election(&big));
    }
    assert_eq!(rig.fate(successor), Fate::Open);
    rig.receive(predecessor, 1, &ring_election(&big));
    assert_eq!(
        rig.fate(successor),
        Fate::Closed,
        "more than 1 MiB is unread"
    );
}

#[test]
fn a_hello_to_a_node_that_joins_makes_it_look() {
    let mut rig = Rig::new(4, ring_of_four());
    assert_eq!(rig.state(), State::Joining);
    rig.run(ms(100));
    rig.database.ring.insert(2, 4);
    rig.database.ring.insert(4, 3);
    rig.hello(2);
    assert_eq!(rig.state(), State::Member);
}
