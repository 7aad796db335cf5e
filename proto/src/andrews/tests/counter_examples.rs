//! The schedules that the document's own rules do not bear (section 12, and "Differences").

use super::prelude::*;

/// A node that has looked and waits for what it writes.
fn about_to_write(id: u32, base: &Base) -> Rig {
    let mut rig = Rig::unanswered(Options::new(id), base.clone());
    for _ in 0..2 {
        rig.serve_next();
    }
    rig
}

#[test]
fn two_first_nodes_do_not_both_become_coordinator() {
    let mut base = Base::default();
    let mut rigs = [1, 2].map(|id| about_to_write(id, &base));
    for rig in &mut rigs {
        let job = rig.job();
        assert!(matches!(job.work, Work::Write(Write::Found { .. })));
        let outcome = base.run(rig.id, &job.work);
        rig.done(job.id, outcome);
    }
    for rig in &mut rigs {
        rig.base = base.clone();
        rig.run(ms(20));
        rig.serve_looks();
    }
    assert!(rigs[0].is_coordinator() && rigs[0].holds().is_some());
    assert!(!rigs[1].is_coordinator() && rigs[1].holds().is_none());
    assert_eq!(rigs[1].state(), State::Joining);
}

/// How many rounds two tokens stay apart in a ring of `nodes`, of which one leads by `lead` and is `hops` ahead.
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
    // By one a hop, as the wire format says first: the second is k hops ahead and fewer than k numbers.
    assert_eq!(rounds(8, 4, 1), None);
    // Taken back with the jump that the machine makes.
    let mut rig = Rig::two();
    rig.given(seq(4, 100));
    rig.run(ms(550));
    let lead = rig.holds().expect("it is back") - seq(4, 100);
    for hops in 1..8 {
        assert!(rounds(8, hops, lead).is_some_and(|rounds| rounds <= 1));
    }
}

#[test]
fn a_lost_acknowledgement_leaves_one_token() {
    let mut world = World::formed(5);
    for _ in 0..10 {
        // Whoever is to acknowledge next stands still until the token was taken back.
        let holder = world
            .live()
            .into_iter()
            .find(|&id| world.rigs[World::at(id)].holds().is_some());
        let Some(holder) = holder else {
            world.run(ms(7));
            continue;
        };
        let slow = world.base.ring[&holder];
        world.stop(slow);
        world.run(ms(700));
        world.go_on(slow);
        world.run(ms(40_000));
        assert!(world.is_ring(), "{}", world.show());
        assert_eq!(world.tokens(), 1, "{}", world.show());
    }
}

#[test]
fn a_repeated_successor_request_does_not_remove_the_live_node_behind() {
    let mut rig = Rig::five();
    rig.hear(1, &Said::SuccessorRequest);
    assert_eq!(rig.said(), [(1, Said::Successor(3))]);
    // The answer is lost, and the request comes twice.
    rig.hear(1, &Said::SuccessorRequest);
    rig.run(ms(499));
    rig.hear(1, &Said::SuccessorRequest);
    assert_eq!(rig.said(), vec![(1, Said::Successor(3)); 2]);
    assert_eq!(rig.base.ring, Base::ring(&[1, 3, 5], 5, 4).ring);
}

#[test]
fn a_repeated_join_does_not_insert_twice() {
    let mut rig = Rig::five();
    rig.hear(7, &Said::Join);
    let before = rig.base.ring.clone();
    rig.hear(7, &Said::Join);
    rig.run(ms(600));
    rig.hear(7, &Said::Join);
    assert_eq!(rig.base.ring, before);
}

#[test]
fn a_predecessor_is_accepted_while_the_old_one_is_silent() {
    let mut world = World::formed(4);
    // The host of a node loses power: no end of stream.
    let victim = 2;
    let after = world.base.ring[&victim];
    world.part[World::at(victim)] = 1;
    world.stop(victim);
    world.expect(ms(20_000), |it| it.base.ring.len() == 3);
    world.run(ms(20_000));
    assert_eq!(
        world.base.ring.len(),
        3,
        "{after} and those behind it stay: {}",
        world.show()
    );
    assert_eq!(world.sum(|rig| rig.counters().removals), 1);
}

#[test]
fn the_predecessor_of_a_failed_coordinator_fails_with_it() {
    for method in [Method::RingBased, Method::ChangRoberts, Method::Bully] {
        let mut world = World::new(5, Base::default(), move |id| Options {
            election: method,
            ..Options::new(id)
        });
        world.form();
        let before = *world
            .base
            .ring
            .iter()
            .find(|(_, next)| **next == 5)
            .expect("it is in")
            .0;
        world.crash(5);
        world.crash(before);
        world.expect(ms(30_000), |it| it.is_ring() && it.is_led());
    }
}

#[test]
fn a_coordinator_that_hangs_with_the_token_is_noticed() {
    let mut world = World::formed(4);
    assert!(world.until(ms(5000), |it| it.rigs[World::at(4)].holds().is_some()));
    world.stop(4);
    world.expect(ms(30_000), |it| it.is_ring() && it.tokens() == 1);
    world.go_on(4);
    world.expect(ms(60_000), |it| it.is_ring() && it.is_led());
    world.run(ms(10_000));
    assert_eq!(world.tokens(), 1);
}

#[test]
fn a_coordinator_that_restarts_makes_no_second_token() {
    let mut rig = Rig::new(5, four());
    rig.run(ms(20));
    rig.join_up();
    rig.given(seq(5, 40));
    rig.run(ms(60));
    rig.acknowledge(seq(5, 41));
    rig.run(ms(4000));
    assert_eq!(rig.counters().tokens_made, 0);
}

#[test]
fn a_slow_coordinator_and_its_deposer_do_not_both_write() {
    let mut base = four();
    let mut slow = Rig::five();
    slow.answers = false;
    slow.hear(7, &Said::Join);
    let job = slow.job();
    base.seat = seat(3, 5);
    assert_eq!(base.run(5, &job.work), Outcome::Refused);
}

#[test]
fn a_node_that_is_cut_off_but_reaches_the_database_does_not_take_the_ring_apart() {
    for victim in [1, 3, 5] {
        let mut world = World::formed(5);
        world.part[World::at(victim)] = 1;
        world.run(ms(60_000));
        let rest: BTreeSet<u32> = world.base.ring.keys().copied().collect();
        assert_eq!(rest.len(), 4, "{victim}: {}", world.show());
        assert!(!rest.contains(&victim));
        let removals = world.sum(|rig| rig.counters().removals);
        assert_eq!(removals, 1, "{victim}");
        world.part[World::at(victim)] = 0;
        world.expect(ms(60_000), |it| it.is_ring() && it.is_led());
    }
}

#[test]
fn an_election_whose_starter_dies_does_not_go_round_for_ever() {
    let mut world = World::formed(5);
    let starter = 3;
    world.rig(starter).machine.elect();
    world.rig(starter).drain();
    world.crash(starter);
    world.run(ms(20_000));
    let kind = Kind::CoordinatorElection;
    let before = world.sum(|rig| rig.counters().sent(kind));
    world.run(ms(20_000));
    assert_eq!(world.sum(|rig| rig.counters().sent(kind)), before);
}

#[test]
fn two_results_at_once_do_not_chase_each_other() {
    let mut world = World::formed(5);
    for (at, id, method) in [(1, 4, Method::RingBased), (3, 5, Method::ChangRoberts)] {
        let rig = world.rig(at);
        let stream = rig.predecessor();
        let before = rig
            .machine
            .inbound()
            .predecessor()
            .map_or(0, crate::andrews::ring::Peer::id);
        rig.receive(stream, before, &result(method, id));
    }
    world.run(ms(20_000));
    let kind = Kind::CoordinatorElection;
    let before = world.sum(|rig| rig.counters().sent(kind));
    world.run(ms(20_000));
    assert_eq!(world.sum(|rig| rig.counters().sent(kind)), before);
    assert!(world.is_led());
}

#[test]
fn a_larger_candidacy_does_not_die_at_a_node_that_has_taken_part() {
    // Ring 3 → 5 → 8, 3 and 8 start at once: 8's candidacy comes to 3, which has taken part.
    let base = Base::ring(&[3, 5, 8], 5, 4);
    let options = Options {
        election: Method::ChangRoberts,
        ..Options::new(3)
    };
    let mut rig = Rig::member_with(options, base);
    rig.machine.elect();
    rig.drain();
    assert_eq!(rig.passed(), [candidate(3)]);
    let stream = rig.predecessor();
    rig.receive(stream, 8, &candidate(8));
    assert_eq!(rig.passed(), [candidate(8)]);
}

#[test]
fn a_candidacy_whose_owner_died_ends_and_leaves_nobody_a_participant_for_ever() {
    let mut rig = Rig::two();
    let stream = rig.predecessor();
    rig.receive(stream, 1, &candidate(5));
    assert_eq!(rig.passed(), [candidate(5)]);
    // It has come round, since 5 is gone.
    rig.receive(stream, 1, &candidate(5));
    assert_eq!(rig.passed(), []);
    rig.run(ms(2000));
    rig.receive(stream, 1, &candidate(1));
    assert_eq!(rig.passed(), [candidate(2)]);
}

#[test]
fn a_node_that_waits_for_a_dead_one_still_answers_ok() {
    let mut rig = Rig::two();
    rig.hear(1, &BULLY);
    rig.said();
    rig.hear(1, &BULLY);
    assert_eq!(rig.said(), [(1, OK)], "or both would win");
}

#[test]
fn an_election_that_another_method_s_message_has_ended_is_started_again() {
    let base = Base::ring(&[1, 2, 3, 5], 3, 4);
    let options = Options {
        election: Method::Bully,
        ..Options::new(5)
    };
    let mut rig = Rig::member_with(options, base);
    rig.run(ms(2100));
    assert_eq!(rig.counters().elections_started, 1);
    let stream = rig.predecessor();
    rig.answers = true;
    rig.base.seat = seat(3, 9);
    rig.receive(stream, 3, &ring_election(&[3]));
    rig.run(ms(3200));
    assert_eq!(rig.base.seat.id, Some(5));
}

#[test]
fn the_winner_dies_before_it_writes() {
    let mut world = World::formed(5);
    world.crash(5);
    // 4 wins and dies at once, again and again until somebody else has to.
    world.run(ms(300));
    world.crash(4);
    world.expect(ms(40_000), |it| it.is_ring() && it.is_led());
}

#[test]
fn an_idle_round_that_takes_longer_than_the_token_timeout_makes_no_tokens() {
    let mut world = World::new(6, Base::default(), |id| Options {
        hold: ms(1000),
        ..Options::new(id)
    });
    world.form();
    let before = world.sum(|rig| rig.counters().tokens_made);
    world.run(ms(60_000));
    assert_eq!(world.sum(|rig| rig.counters().tokens_made), before);
    assert_eq!(world.tokens(), 1);
}

#[test]
fn slow_writers_whose_round_is_longer_than_r_use_one_token() {
    let mut world = World::formed(8);
    let before = world.sum(|rig| rig.counters().tokens_made);
    world.answers = Answers::After(ms(900));
    for number in 0..60 {
        for id in 1..=8 {
            world.rig(id).request(u64::from(id) * 1000 + number, true);
        }
        world.run(ms(1000));
    }
    assert_eq!(world.sum(|rig| rig.counters().tokens_made), before);
}

#[test]
fn a_cut_off_member_is_not_proved_by_the_acknowledgement_of_its_own_last_token() {
    let mut rig = Rig::two_after(100);
    rig.given(seq(4, 9));
    rig.run(ms(50));
    // Later than the last token, and before the cut.
    rig.acknowledge(seq(4, 10));
    for _ in 0..15 {
        rig.base.beat += 1;
        rig.run(ms(1000));
    }
    assert_eq!(rig.counters().claims, 0);
}

#[test]
fn a_claim_on_rows_that_miss_a_joined_node_keeps_it() {
    // 2 has read 2 → 3 → 5; meanwhile the coordinator has put 4 between 3 and 5. Its term is the same.
    let mut base = four();
    let seen = base.seat;
    base.ring.insert(3, 4);
    base.ring.insert(4, 5);
    let change = Some(Change::Remove { node: 3, after: 2 });
    assert_eq!(
        base.run(2, &Work::Write(Write::Claim { seen, change })),
        Outcome::Done
    );
    assert_eq!(base.ring[&2], 4);
    let mut rig = Rig::two_after(100);
    rig.answers = false;
    let (stream, _) = rig.successor();
    rig.end(stream);
    rig.serve_looks();
    rig.refuse_successor();
    rig.run(ms(20));
    rig.serve_looks();
    for _ in 0..8 {
        rig.run(ms(500));
        rig.serve_looks();
    }
    rig.base.ring.insert(3, 4);
    rig.base.ring.insert(4, 5);
    rig.serve();
    rig.run(ms(20));
    rig.serve();
    assert_eq!(rig.successor().1, 4, "the row is read, not computed");
}

#[test]
fn a_token_that_was_outrun_does_not_go_round_for_ever_in_a_ring_without_work() {
    let mut rig = Rig::member(3, four());
    rig.run(ms(20));
    rig.given(seq(4, 9));
    assert_eq!(rig.holds(), Some(seq(4, 9)));
    // Another was made, and was lost with its holder before it came round.
    rig.base.seat.term = 5;
    rig.base.sequence = seq(5, 0);
    rig.hear(5, &Said::Successor(5));
    rig.run(ms(30));
    assert_eq!(rig.holds(), None);
    assert_eq!(rig.counters().tokens_lost, 1);
    // Another of that kind is acknowledged, for its giver is not to blame, and goes no further.
    assert_eq!(rig.given(seq(4, 30)), [Said::TokenAck(seq(4, 30))]);
    assert_eq!(rig.holds(), None);
    // One that may have been used here last is not behind.
    rig.given(seq(5, 0));
    assert_eq!(rig.holds(), Some(seq(5, 0)));
}

#[test]
fn one_of_two_tokens_that_were_both_taken_back_leads_once_it_meets_the_coordinator() {
    // Each was taken back once: they are as near to each other as before.
    assert_eq!(rounds(8, 4, 0), None);
    let mut rig = Rig::five();
    rig.run(ms(20));
    rig.given(seq(4, 100));
    rig.run(ms(60));
    rig.acknowledge(seq(4, 101));
    // In a ring of four it comes back four further, and the other sooner.
    rig.given(seq(4, 103));
    let lead = rig.holds().expect("it is here") - seq(4, 103);
    for hops in 1..8 {
        assert!(rounds(8, hops, lead).is_some_and(|rounds| rounds <= 1));
    }
    rig.run(ms(60));
    rig.acknowledge(seq(4, 104) + lead);
    rig.given(seq(4, 104));
    assert_eq!(rig.holds(), None, "the other is behind");
    rig.given(seq(4, 107) + lead);
    assert_eq!(
        rig.holds(),
        Some(seq(4, 107) + lead),
        "a round is no reason"
    );
    // Another node leaves it to the coordinator: if both let one lead they would be near again.
    let mut rig = Rig::member(3, four());
    rig.run(ms(20));
    rig.given(seq(4, 100));
    rig.run(ms(60));
    rig.acknowledge(seq(4, 101));
    rig.given(seq(4, 103));
    assert_eq!(rig.holds(), Some(seq(4, 103)));
}
