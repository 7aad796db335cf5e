//! The counter-examples of `docs/appendix/decisions/board/`: schedules that break the rules of the document or of an
//! earlier design.

use super::prelude::*;

/// Returns a node that finished its first look, but whose first write still waits.
fn about_to_write(id: u32, database: &FakeDatabase) -> Rig {
    let mut rig = Rig::with_silent_database(Options::new(id), database.clone());
    for _ in 0..2 {
        rig.serve_next();
    }
    rig
}

#[test]
fn two_first_nodes_do_not_both_become_coordinator() {
    let mut database = FakeDatabase::default();
    let mut rigs = [1, 2].map(|id| about_to_write(id, &database));
    for rig in &mut rigs {
        let job = rig.next_job();
        assert!(matches!(job.work, Work::Write(Write::Found { .. })));
        let outcome = database.run(rig.id, &job.work);
        rig.answer_job(job.id, outcome);
    }
    for rig in &mut rigs {
        rig.database = database.clone();
        rig.run(ms(20));
        rig.serve_looks();
    }
    assert!(rigs[0].is_coordinator() && rigs[0].held_sequence().is_some());
    assert!(!rigs[1].is_coordinator() && rigs[1].held_sequence().is_none());
    assert_eq!(rigs[1].state(), State::Joining);
}

/// Returns the number of rotations for which two tokens coexist in a ring of `nodes`, or `None` if both tokens remain.
/// One token starts `hops` hops ahead of the second token, and its sequence is larger by `lead`.
fn rounds(nodes: usize, hops: usize, lead: u64) -> Option<usize> {
    let mut highest = vec![0_u64; nodes];
    let mut tokens = vec![(0, 100_u64), (hops, 100 + lead)];
    for round in 0..50 {
        for _ in 0..nodes {
            for (at, sequence) in std::mem::take(&mut tokens) {
                if sequence > highest[at] {
                    highest[at] = sequence;
                    tokens.push(((at + 1) % nodes, sequence + 1));
                }
            }
            if tokens.len() == 1 {
                return Some(round);
            }
        }
    }
    None
}

#[test]
fn two_tokens_of_nearly_the_same_sequence_would_go_round_for_ever_and_a_jump_ends_that() {
    // By the rule of the document, each hop adds one. The second token is k hops ahead, and its lead is less than k.
    assert_eq!(rounds(8, 4, 1), None);
    // The state machine takes this token back with its jump.
    let mut rig = Rig::node_2();
    rig.give_token(seq(4, 100));
    rig.run(ms(550));
    let lead = rig.held_sequence().expect("it is back") - seq(4, 100);
    for hops in 1..8 {
        assert!(rounds(8, hops, lead).is_some_and(|rounds| rounds <= 1));
    }
}

#[test]
fn a_lost_acknowledgement_leaves_one_token() {
    let mut network = Network::with_ring(5);
    for _ in 0..10 {
        // The node that must acknowledge next stalls until the token is taken back.
        let holder = network
            .running_ids()
            .into_iter()
            .find(|&id| network.rigs[Network::index(id)].held_sequence().is_some());
        let Some(holder) = holder else {
            network.run(ms(7));
            continue;
        };
        let slow = network.database.ring[&holder];
        network.stall(slow);
        network.run(ms(700));
        network.resume(slow);
        network.run(ms(40_000));
        assert!(network.is_ring(), "{}", network.describe());
        assert_eq!(network.token_count(), 1, "{}", network.describe());
    }
}

#[test]
fn a_repeated_successor_request_does_not_remove_the_live_node_behind() {
    let mut rig = Rig::coordinator_5();
    rig.receive_datagram(1, &OwnedMessage::SuccessorRequest);
    assert_eq!(rig.take_datagrams(), [(1, OwnedMessage::Successor(3))]);
    // The answer is lost, so the request comes twice.
    rig.receive_datagram(1, &OwnedMessage::SuccessorRequest);
    rig.run(ms(499));
    rig.receive_datagram(1, &OwnedMessage::SuccessorRequest);
    assert_eq!(
        rig.take_datagrams(),
        vec![(1, OwnedMessage::Successor(3)); 2]
    );
    assert_eq!(rig.database.ring, FakeDatabase::ring(&[1, 3, 5], 5, 4).ring);
}

#[test]
fn a_repeated_join_does_not_insert_twice() {
    let mut rig = Rig::coordinator_5();
    rig.receive_datagram(7, &OwnedMessage::Join);
    let before = rig.database.ring.clone();
    rig.receive_datagram(7, &OwnedMessage::Join);
    rig.run(ms(600));
    rig.receive_datagram(7, &OwnedMessage::Join);
    assert_eq!(rig.database.ring, before);
}

#[test]
fn a_predecessor_is_accepted_while_the_old_one_is_silent() {
    let mut network = Network::with_ring(4);
    // The machine of a node loses power, so its connections do not end.
    let victim = 2;
    let after = network.database.ring[&victim];
    network.part[Network::index(victim)] = 1;
    network.stall(victim);
    network.expect(ms(20_000), |it| it.database.ring.len() == 3);
    network.run(ms(20_000));
    assert_eq!(
        network.database.ring.len(),
        3,
        "{after} and those behind it stay: {}",
        network.describe()
    );
    assert_eq!(network.sum(|rig| rig.counters().removals), 1);
}

#[test]
fn the_predecessor_of_a_failed_coordinator_fails_with_it() {
    for method in [Method::RingBased, Method::ChangRoberts, Method::Bully] {
        let mut network = Network::new(5, FakeDatabase::default(), move |id| Options {
            election: method,
            ..Options::new(id)
        });
        network.form();
        let before = *network
            .database
            .ring
            .iter()
            .find(|(_, next)| **next == 5)
            .expect("it is in")
            .0;
        network.crash(5);
        network.crash(before);
        network.expect(ms(30_000), |it| it.is_ring() && it.has_final_coordinator());
    }
}

#[test]
fn a_coordinator_that_hangs_with_the_token_is_noticed() {
    let mut network = Network::with_ring(4);
    assert!(network.run_until(ms(5000), |it| {
        it.rigs[Network::index(4)].held_sequence().is_some()
    }));
    network.stall(4);
    network.expect(ms(30_000), |it| it.is_ring() && it.token_count() == 1);
    network.resume(4);
    network.expect(ms(60_000), |it| it.is_ring() && it.has_final_coordinator());
    network.run(ms(10_000));
    assert_eq!(network.token_count(), 1);
}

#[test]
fn a_coordinator_that_restarts_makes_no_second_token() {
    let mut rig = Rig::new(5, ring_of_four());
    rig.run(ms(20));
    rig.connect_neighbors();
    rig.give_token(seq(5, 40));
    rig.run(ms(60));
    rig.acknowledge(seq(5, 41));
    rig.run(ms(4000));
    assert_eq!(rig.counters().tokens_made, 0);
}

#[test]
fn a_slow_coordinator_and_its_deposer_do_not_both_write() {
    let mut database = ring_of_four();
    let mut slow = Rig::coordinator_5();
    slow.answers = false;
    slow.receive_datagram(7, &OwnedMessage::Join);
    let job = slow.next_job();
    database.seat = seat(3, 5);
    assert_eq!(database.run(5, &job.work), Outcome::Refused);
}

#[test]
fn an_isolated_node_with_the_database_does_not_dissolve_the_ring() {
    for victim in [1, 3, 5] {
        let mut network = Network::with_ring(5);
        network.part[Network::index(victim)] = 1;
        network.run(ms(60_000));
        let rest: BTreeSet<u32> = network.database.ring.keys().copied().collect();
        assert_eq!(rest.len(), 4, "{victim}: {}", network.describe());
        assert!(!rest.contains(&victim));
        let removals = network.sum(|rig| rig.counters().removals);
        assert_eq!(removals, 1, "{victim}");
        network.part[Network::index(victim)] = 0;
        network.expect(ms(60_000), |it| it.is_ring() && it.has_final_coordinator());
    }
}

#[test]
fn an_election_whose_starter_dies_does_not_go_round_for_ever() {
    let mut network = Network::with_ring(5);
    let starter = 3;
    network.rig(starter).machine.start_unasked_election();
    network.rig(starter).drain();
    network.crash(starter);
    network.run(ms(20_000));
    let kind = Kind::CoordinatorElection;
    let before = network.sum(|rig| rig.counters().sent(kind));
    network.run(ms(20_000));
    assert_eq!(network.sum(|rig| rig.counters().sent(kind)), before);
}

#[test]
fn two_results_at_once_do_not_circulate() {
    let mut network = Network::with_ring(5);
    for (at, id, method) in [(1, 4, Method::RingBased), (3, 5, Method::ChangRoberts)] {
        let rig = network.rig(at);
        let stream = rig.predecessor();
        let before = rig
            .machine
            .inbound()
            .predecessor()
            .map_or(0, crate::andrews::ring::Peer::id);
        rig.receive(stream, before, &result(method, id));
    }
    network.run(ms(20_000));
    let kind = Kind::CoordinatorElection;
    let before = network.sum(|rig| rig.counters().sent(kind));
    network.run(ms(20_000));
    assert_eq!(network.sum(|rig| rig.counters().sent(kind)), before);
    assert!(network.has_final_coordinator());
}

#[test]
fn a_participant_forwards_a_larger_candidacy() {
    // The ring is 3 → 5 → 8, and 3 and 8 start at once. The candidate 8 comes to 3, which already takes part.
    let database = FakeDatabase::ring(&[3, 5, 8], 5, 4);
    let options = Options {
        election: Method::ChangRoberts,
        ..Options::new(3)
    };
    let mut rig = Rig::member_with(options, database);
    rig.machine.start_unasked_election();
    rig.drain();
    assert_eq!(rig.take_successor_frames(), [candidate(3)]);
    let stream = rig.predecessor();
    rig.receive(stream, 8, &candidate(8));
    assert_eq!(rig.take_successor_frames(), [candidate(8)]);
}

#[test]
fn a_candidacy_of_a_dead_node_ends_and_frees_all_participants() {
    let mut rig = Rig::node_2();
    let stream = rig.predecessor();
    rig.receive(stream, 1, &candidate(5));
    assert_eq!(rig.take_successor_frames(), [candidate(5)]);
    // The candidate 5 comes round again, because node 5 is dead.
    rig.receive(stream, 1, &candidate(5));
    assert_eq!(rig.take_successor_frames(), []);
    rig.run(ms(2000));
    rig.receive(stream, 1, &candidate(1));
    assert_eq!(rig.take_successor_frames(), [candidate(2)]);
}

#[test]
fn a_node_that_waits_for_a_dead_one_still_answers_ok() {
    let mut rig = Rig::node_2();
    rig.receive_datagram(1, &BULLY);
    rig.take_datagrams();
    rig.receive_datagram(1, &BULLY);
    assert_eq!(
        rig.take_datagrams(),
        [(1, OK)],
        "without the OK both nodes would win"
    );
}

#[test]
fn an_election_that_another_method_s_message_has_ended_is_started_again() {
    let database = FakeDatabase::ring(&[1, 2, 3, 5], 3, 4);
    let options = Options {
        election: Method::Bully,
        ..Options::new(5)
    };
    let mut rig = Rig::member_with(options, database);
    rig.run(ms(2100));
    assert_eq!(rig.counters().elections_started, 1);
    let stream = rig.predecessor();
    rig.answers = true;
    rig.database.seat = seat(3, 9);
    rig.receive(stream, 3, &ring_election(&[3]));
    rig.run(ms(3200));
    assert_eq!(rig.database.seat.id, Some(5));
}

#[test]
fn the_winner_dies_before_it_writes() {
    let mut network = Network::with_ring(5);
    network.crash(5);
    // Node 4 wins and dies at once.
    network.run(ms(300));
    network.crash(4);
    network.expect(ms(40_000), |it| it.is_ring() && it.has_final_coordinator());
}

#[test]
fn an_idle_round_that_takes_longer_than_the_token_timeout_makes_no_tokens() {
    let mut network = Network::new(6, FakeDatabase::default(), |id| Options {
        hold: ms(1000),
        ..Options::new(id)
    });
    network.form();
    let before = network.sum(|rig| rig.counters().tokens_made);
    network.run(ms(60_000));
    assert_eq!(network.sum(|rig| rig.counters().tokens_made), before);
    assert_eq!(network.token_count(), 1);
}

#[test]
fn slow_writers_whose_round_is_longer_than_r_use_one_token() {
    let mut network = Network::with_ring(8);
    let before = network.sum(|rig| rig.counters().tokens_made);
    network.answers = DatabaseMode::After(ms(900));
    for number in 0..60 {
        for id in 1..=8 {
            network.rig(id).request(u64::from(id) * 1000 + number, true);
        }
        network.run(ms(1000));
    }
    assert_eq!(network.sum(|rig| rig.counters().tokens_made), before);
}

#[test]
fn a_cut_off_member_is_not_proved_by_the_acknowledgement_of_its_own_last_token() {
    let mut rig = Rig::node_2_after(100);
    rig.give_token(seq(4, 9));
    rig.run(ms(50));
    // This proof comes after the last token, and before the node is cut off.
    rig.acknowledge(seq(4, 10));
    for _ in 0..15 {
        rig.database.beat += 1;
        rig.run(ms(1000));
    }
    assert_eq!(rig.counters().claims, 0);
}

#[test]
fn a_claim_on_rows_that_miss_a_joined_node_keeps_it() {
    // Node 2 has read 2 → 3 → 5. Meanwhile the coordinator has put 4 between 3 and 5, under the same term.
    let mut database = ring_of_four();
    let seen = database.seat;
    database.ring.insert(3, 4);
    database.ring.insert(4, 5);
    let change = Some(Change::Remove { node: 3, after: 2 });
    assert_eq!(
        database.run(2, &Work::Write(Write::Claim { seen, change })),
        Outcome::Done
    );
    assert_eq!(database.ring[&2], 4);
    let mut rig = Rig::node_2_after(100);
    rig.answers = false;
    let (stream, _) = rig.successor();
    rig.end_stream(stream);
    rig.serve_looks();
    rig.refuse_successor();
    rig.run(ms(20));
    rig.serve_looks();
    for _ in 0..8 {
        rig.run(ms(500));
        rig.serve_looks();
    }
    rig.database.ring.insert(3, 4);
    rig.database.ring.insert(4, 5);
    rig.serve();
    rig.run(ms(20));
    rig.serve();
    assert_eq!(
        rig.successor().1,
        4,
        "the node reads its row and does not compute it"
    );
}

#[test]
fn an_outdated_token_does_not_circulate_in_an_idle_ring() {
    let mut rig = Rig::member(3, ring_of_four());
    rig.run(ms(20));
    rig.give_token(seq(4, 9));
    assert_eq!(rig.held_sequence(), Some(seq(4, 9)));
    // Another node made a newer token, and died with it before the token came here.
    rig.database.seat.term = 5;
    rig.database.sequence = seq(5, 0);
    rig.receive_datagram(5, &OwnedMessage::Successor(5));
    rig.run(ms(30));
    assert_eq!(rig.held_sequence(), None);
    assert_eq!(rig.counters().tokens_lost, 1);
    // An older token is acknowledged, because its giver works, and is then discarded.
    assert_eq!(
        rig.give_token(seq(4, 30)),
        [OwnedMessage::TokenAck(seq(4, 30))]
    );
    assert_eq!(rig.held_sequence(), None);
    // A token with the sequence that was used last is not outrun.
    rig.give_token(seq(5, 0));
    assert_eq!(rig.held_sequence(), Some(seq(5, 0)));
}

#[test]
fn one_of_two_recovered_tokens_wins_when_it_reaches_the_coordinator() {
    // Each token was taken back once, so the distance between the two tokens has not changed.
    assert_eq!(rounds(8, 4, 0), None);
    let mut rig = Rig::coordinator_5();
    rig.run(ms(20));
    rig.give_token(seq(4, 100));
    rig.run(ms(60));
    rig.acknowledge(seq(4, 101));
    // The only token of a ring of four comes back with a sequence that is larger by four. A second token comes sooner.
    rig.give_token(seq(4, 103));
    let lead = rig.held_sequence().expect("it is here") - seq(4, 103);
    for hops in 1..8 {
        assert!(rounds(8, hops, lead).is_some_and(|rounds| rounds <= 1));
    }
    rig.run(ms(60));
    rig.acknowledge(seq(4, 104) + lead);
    rig.give_token(seq(4, 104));
    assert_eq!(rig.held_sequence(), None, "the other token is older");
    rig.give_token(seq(4, 107) + lead);
    assert_eq!(
        rig.held_sequence(),
        Some(seq(4, 107) + lead),
        "a whole rotation is no reason for a lead"
    );
    // A node that is not the coordinator gives no lead. If both nodes gave a lead, the tokens would be near to each
    // other again.
    let mut rig = Rig::member(3, ring_of_four());
    rig.run(ms(20));
    rig.give_token(seq(4, 100));
    rig.run(ms(60));
    rig.acknowledge(seq(4, 101));
    rig.give_token(seq(4, 103));
    assert_eq!(rig.held_sequence(), Some(seq(4, 103)));
}
