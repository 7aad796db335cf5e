//! The transport of each message (M1).

use super::prelude::*;

#[test]
fn over_udp_the_ring_s_messages_are_dropped() {
    let mut rig = Rig::node_2();
    let round = [
        OwnedMessage::Token(seq(4, 9)),
        OwnedMessage::TokenAck(seq(4, 9)),
        ring_election(&[1]),
        candidate(1),
        result(Method::RingBased, 5),
        result(Method::ChangRoberts, 5),
    ];
    for (count, message) in (1..).zip(&round) {
        rig.receive_datagram(1, message);
        assert_eq!(rig.drop_count(Reason::WrongTransport), count, "{message:?}");
    }
    assert_eq!(rig.take_datagrams(), []);
    assert_eq!(rig.take_successor_frames(), []);
    assert_eq!(rig.held_sequence(), None);
}

#[test]
fn wrong_frames_on_a_connection_are_dropped_without_closing_it() {
    let mut rig = Rig::node_2();
    let across = [
        OwnedMessage::Join,
        OwnedMessage::SuccessorRequest,
        OwnedMessage::Successor(2),
        BULLY,
        OK,
        result(Method::Bully, 5),
    ];
    let ways = [(rig.predecessor(), 1), rig.successor()];
    let mut count = 0;
    for (stream, from) in ways {
        for message in &across {
            rig.receive(stream, from, message);
            count += 1;
            assert_eq!(rig.drop_count(Reason::WrongTransport), count, "{message:?}");
        }
        assert_eq!(rig.fate(stream), Fate::Open);
    }
    assert_eq!(rig.take_datagrams(), []);
}

#[test]
fn tokens_go_to_the_successor_and_acknowledgements_to_the_predecessor() {
    let mut rig = Rig::node_2();
    let (successor, to) = rig.successor();
    rig.receive(successor, to, &OwnedMessage::Token(seq(4, 9)));
    rig.receive(rig.predecessor(), 1, &OwnedMessage::TokenAck(seq(4, 9)));
    assert_eq!(rig.drop_count(Reason::WrongTransport), 2);
    assert_eq!(rig.held_sequence(), None);
}

#[test]
fn a_datagram_from_an_unlisted_id_another_address_or_the_receiver_is_dropped() {
    let mut rig = Rig::coordinator_5();
    rig.receive_datagram(77, &OwnedMessage::Join);
    rig.receive_datagram_bytes(ip(8), &OwnedMessage::Join.encode(7));
    rig.receive_datagram_bytes(ip(5), &OwnedMessage::Join.encode(5));
    assert_eq!(rig.drop_count(Reason::WrongSource), 3);
    rig.receive_datagram_bytes(ip(7), &OwnedMessage::Join.encode(7)[1..]);
    assert_eq!(rig.drop_count(Reason::Malformed), 1);
    assert_eq!(
        rig.take_datagrams(),
        [],
        "the node answers no dropped frame"
    );
    assert_eq!(rig.database.ring.len(), 4);
    rig.receive_datagram(7, &OwnedMessage::Join);
    assert_eq!(
        rig.database.ring.len(),
        5,
        "the source port does not matter"
    );
}

#[test]
fn a_malformed_frame_or_one_of_another_sender_closes_a_connection() {
    for bytes in [vec![9; 12], OwnedMessage::Token(seq(4, 9)).encode(3)] {
        let mut rig = Rig::node_2();
        let predecessor = rig.predecessor();
        rig.receive_bytes(predecessor, &bytes);
        assert_eq!(rig.fate(predecessor), Fate::Closed);
        assert_eq!(rig.held_sequence(), None);
        let (successor, _) = rig.successor();
        let mut bytes = bytes;
        bytes[7] = 2;
        rig.receive_bytes(successor, &bytes);
        assert_eq!(
            rig.fate(successor),
            Fate::Closed,
            "a frame of another sender also closes the connection to the successor"
        );
        let closed = rig.drop_count(Reason::Malformed) + rig.drop_count(Reason::WrongSource);
        assert_eq!(closed, 2);
    }
}

#[test]
fn whatever_a_successor_names_the_row_is_obeyed() {
    let mut rig = Rig::node_2_after(100);
    rig.receive_datagram(5, &OwnedMessage::Successor(9));
    assert_eq!(rig.successor().1, 3);
    rig.database.ring.insert(2, 4);
    rig.database.ring.insert(4, 3);
    rig.run(ms(100));
    rig.receive_datagram(5, &OwnedMessage::Successor(9));
    assert_eq!(rig.successor().1, 4, "the node looks at once");
}
