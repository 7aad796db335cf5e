//! Random, malformed and extreme inputs (M6). Bad inputs must not make a node crash or stop, or let its memory grow
//! without limit.

use super::prelude::*;

/// Returns frames. Some frames are valid, some have a flipped bit, and some are cut off.
fn bytes(draw: &mut RandomNumbers) -> Vec<u8> {
    let ids: Vec<u32> = (0..draw.next_below(6))
        .map(|_| draw.next_below(11))
        .collect();
    let id = draw.next_below(11);
    let sequence = seq(
        u64::from(draw.next_below(7)),
        u64::from(draw.next_below(100)),
    );
    let message = match draw.next_below(9) {
        0 => OwnedMessage::Join,
        1 => OwnedMessage::Successor(id),
        2 => OwnedMessage::SuccessorRequest,
        3 => OwnedMessage::Token(sequence),
        4 => OwnedMessage::TokenAck(sequence),
        5 => ring_election(&ids),
        6 => candidate(id),
        7 => result(Method::Bully, id),
        _ => BULLY,
    };
    let mut bytes = message.encode(draw.next_below(11));
    if draw.next_below(4) == 0 {
        let at = draw.next_below(u32::try_from(bytes.len()).expect("short")) as usize;
        bytes[at] ^= 1 << draw.next_below(8);
    }
    if draw.next_below(6) == 0 {
        bytes.truncate(draw.next_below(24) as usize);
    }
    bytes
}

#[test]
fn any_input_in_any_order_keeps_the_machine_working() {
    for seed in 0..60 {
        let mut draw = RandomNumbers::new(seed);
        let database = FakeDatabase::ring(&[1, 2, 3, 5], 1 + draw.next_below(5), 4);
        let mut rig = Rig::new(2, database);
        rig.database.is_broken = true;
        for _ in 0..400 {
            let streams: Vec<_> = rig.streams.keys().copied().collect();
            let stream = streams.get(draw.next_below(40) as usize).copied();
            match draw.next_below(12) {
                0 => {
                    let from = ip(draw.next_below(11));
                    rig.accept(from);
                }
                1..=3 => {
                    let bytes = bytes(&mut draw);
                    rig.receive_datagram_bytes(ip(draw.next_below(11)), &bytes);
                }
                4..=7 => {
                    if let Some(stream) = stream {
                        rig.receive_bytes(stream, &bytes(&mut draw));
                    }
                }
                8 => {
                    if let Some(stream) = stream {
                        rig.open_by_kernel(stream);
                    }
                }
                9 => {
                    if let Some(stream) = stream {
                        let ends = [
                            CloseReason::Refused,
                            CloseReason::Reset,
                            CloseReason::TimedOut,
                            CloseReason::Failed,
                        ];
                        rig.close_by_kernel(stream, ends[draw.next_below(4) as usize]);
                    }
                }
                10 => {
                    let nodes = (0..draw.next_below(30)).collect();
                    let members =
                        (0..draw.next_below(6)).map(|_| (draw.next_below(10), draw.next_below(10)));
                    let rows = Rows {
                        nodes,
                        members: members.collect(),
                        seat: CoordinatorRow {
                            id: Some(draw.next_below(10)),
                            term: draw.next_below(10).into(),
                        },
                        ..Rows::default()
                    };
                    let outcomes = [
                        Outcome::Rows(rows),
                        Outcome::Done,
                        Outcome::Refused,
                        Outcome::Failed,
                        Outcome::Unknown,
                    ];
                    let outcome = outcomes[draw.next_below(5) as usize].clone();
                    rig.answer_job(u64::from(draw.next_below(400)), outcome);
                }
                _ => rig.run(ms(u64::from(draw.next_below(900)))),
            }
            rig.take_datagrams();
        }
        assert!(rig.machine.inbound().streams().len() <= 17);
        assert!(rig.machine.proof().probe_count() <= 4);
    }
}

#[test]
fn extreme_numbers_do_no_harm() {
    let database = FakeDatabase {
        seat: seat(5, u64::MAX),
        sequence: u64::MAX,
        beat: u64::MAX,
        ..ring_of_four()
    };
    let mut rig = Rig::member(2, database);
    rig.give_token(u64::MAX - 1);
    rig.run(ms(50));
    rig.run(ms(30_000));
    rig.machine.handle_command(
        rig.time(),
        Command::Done {
            job: u64::MAX,
            outcome: Outcome::Done,
        },
    );
}

#[test]
fn a_buffer_grows_with_received_bytes_and_holds_one_frame() {
    let nodes = (1..).take(MAX_IDS).map(|id| (id, address(id)));
    let list = NodeList::new(nodes).expect("it is one");
    let mut rig = Rig::idle(Options::new(2), list, ring_of_four());
    rig.begin();
    rig.connect_neighbors();
    let ids: Vec<u32> = (3..16_000).collect();
    let frame = ring_election(&ids).encode(1);
    let stream = rig.predecessor();
    rig.receive_bytes(stream, &frame[..20]);
    let capacity = |rig: &Rig| {
        let inbound = rig.machine.inbound().predecessor();
        inbound.expect("there is one").capacity()
    };
    assert!(
        capacity(&rig) <= 64,
        "64 KiB are announced, and 20 bytes have arrived"
    );
    rig.receive_bytes(stream, &frame[20..1000]);
    assert!(capacity(&rig) <= 2000);
    rig.receive_bytes(stream, &frame[1000..]);
    assert_eq!(capacity(&rig), 0);
    assert_eq!(
        rig.take_successor_frames().len(),
        2,
        "the hello and the message"
    );
}

#[test]
fn one_datagram_causes_at_most_two() {
    let mut rig = Rig::coordinator_5();
    for from in [1, 2, 3, 7, 8] {
        for message in [
            OwnedMessage::Join,
            OwnedMessage::SuccessorRequest,
            OwnedMessage::Successor(1),
            BULLY,
            OK,
        ] {
            rig.run(ms(1500));
            rig.take_datagrams();
            rig.receive_datagram(from, &message);
            let count = rig.take_datagrams().len();
            assert!(
                count <= 2 || message == BULLY && count <= 5,
                "{message:?} {count}"
            );
        }
    }
}

#[test]
fn a_flood_of_datagrams_does_not_keep_it_from_writing() {
    // The job time of the second case is longer than the gap between looks.
    for steps_per_job in [1, 7] {
        let mut rig = Rig::coordinator_5_unanswered();
        for number in 0..200 {
            rig.receive_datagram(1, &OwnedMessage::Successor(2));
            if number == 50 {
                rig.receive_datagram(7, &OwnedMessage::Join);
            }
            rig.run(ms(5));
            if number % steps_per_job == 0
                && let Some(job) = rig.jobs.pop_front()
            {
                let outcome = rig.database.run(5, &job.work);
                rig.answer_job(job.id, outcome);
            }
        }
        assert!(rig.database.ring.contains_key(&7), "{steps_per_job}");
        assert_eq!(rig.drop_count(Reason::Malformed), 0);
    }
}
