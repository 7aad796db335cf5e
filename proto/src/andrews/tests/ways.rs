//! What comes over which way (section 2).

use super::prelude::*;

#[test]
fn over_udp_the_ring_s_messages_are_dropped() {
    let mut rig = Rig::two();
    let round = [
        Said::Token(seq(4, 9)),
        Said::TokenAck(seq(4, 9)),
        ring_election(&[1]),
        candidate(1),
        result(Method::RingBased, 5),
        result(Method::ChangRoberts, 5),
    ];
    for (count, said) in (1..).zip(&round) {
        rig.hear(1, said);
        assert_eq!(rig.dropped(Reason::WrongTransport), count, "{said:?}");
    }
    assert_eq!(rig.said(), []);
    assert_eq!(rig.passed(), []);
    assert_eq!(rig.holds(), None);
}

#[test]
fn on_a_connection_what_goes_across_is_dropped_and_does_not_close_it() {
    let mut rig = Rig::two();
    let across = [
        Said::Join,
        Said::SuccessorRequest,
        Said::Successor(2),
        BULLY,
        OK,
        result(Method::Bully, 5),
    ];
    let ways = [(rig.predecessor(), 1), rig.successor()];
    let mut count = 0;
    for (stream, from) in ways {
        for said in &across {
            rig.receive(stream, from, said);
            count += 1;
            assert_eq!(rig.dropped(Reason::WrongTransport), count, "{said:?}");
        }
        assert_eq!(rig.fate(stream), Fate::Open);
    }
    assert_eq!(rig.said(), []);
}

#[test]
fn the_token_goes_forwards_and_its_acknowledgement_backwards() {
    let mut rig = Rig::two();
    let (successor, to) = rig.successor();
    rig.receive(successor, to, &Said::Token(seq(4, 9)));
    rig.receive(rig.predecessor(), 1, &Said::TokenAck(seq(4, 9)));
    assert_eq!(rig.dropped(Reason::WrongTransport), 2);
    assert_eq!(rig.holds(), None);
}

#[test]
fn a_datagram_from_nobody_or_from_another_address_or_from_the_receiver_is_dropped() {
    let mut rig = Rig::five();
    rig.hear(77, &Said::Join);
    rig.hear_bytes(ip(8), &Said::Join.encode(7));
    rig.hear_bytes(ip(5), &Said::Join.encode(5));
    assert_eq!(rig.dropped(Reason::WrongSource), 3);
    rig.hear_bytes(ip(7), &Said::Join.encode(7)[1..]);
    assert_eq!(rig.dropped(Reason::Malformed), 1);
    assert_eq!(rig.said(), [], "nothing dropped is answered");
    assert_eq!(rig.base.ring.len(), 4);
    rig.hear(7, &Said::Join);
    assert_eq!(rig.base.ring.len(), 5, "whatever port it came from");
}

#[test]
fn a_malformed_frame_or_one_of_another_sender_closes_a_connection() {
    for bytes in [vec![9; 12], Said::Token(seq(4, 9)).encode(3)] {
        let mut rig = Rig::two();
        let predecessor = rig.predecessor();
        rig.receive_bytes(predecessor, &bytes);
        assert_eq!(rig.fate(predecessor), Fate::Closed);
        assert_eq!(rig.holds(), None);
        let (successor, _) = rig.successor();
        let mut bytes = bytes;
        bytes[7] = 2;
        rig.receive_bytes(successor, &bytes);
        assert_eq!(rig.fate(successor), Fate::Closed, "it is the sender's too");
        let closed = rig.dropped(Reason::Malformed) + rig.dropped(Reason::WrongSource);
        assert_eq!(closed, 2);
    }
}

#[test]
fn whatever_a_successor_names_the_row_is_obeyed() {
    let mut rig = Rig::two_after(100);
    rig.hear(5, &Said::Successor(9));
    assert_eq!(rig.successor().1, 3);
    rig.base.ring.insert(2, 4);
    rig.base.ring.insert(4, 3);
    rig.run(ms(100));
    rig.hear(5, &Said::Successor(9));
    assert_eq!(rig.successor().1, 4, "and a look is made at once");
}
