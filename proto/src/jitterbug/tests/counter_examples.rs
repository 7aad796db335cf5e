//! The schedules that the document does not bear, as far as one machine or two show them. Each says the document's rule
//! with which it would fail.

use super::rig::{EVERYBODY, Fate, Rig, Said, TP3, hash, host, ms, node, tp1, tp5, tr1, tr2};
use super::world::World;
use crate::jitterbug::{Compute, Options, Reason, State};
use crate::{Closed, JobOp};

/// "if (penalty_count >= 2^penalty_threshold)": 0 >= 1 is false, and every healthy node is skipped in its first turn.
#[test]
fn a_healthy_node_is_not_skipped() {
    let mut rig = Rig::leader(5);
    rig.know(2);
    rig.run(ms(100));
    assert!(rig.candidate().is_some(), "in the first turn");
}

/// "if (res) penalty_threshold--" alone: a node that is back after long is skipped for up to 2^k - 1 turns.
#[test]
fn a_node_that_is_back_is_not_skipped() {
    let mut rig = Rig::leader(5);
    rig.know(2);
    for _ in 0..6 {
        let stream = rig.refuse_until(2);
        rig.gone(stream, Closed::Refused);
    }
    rig.hear(2, &tr1(-1, 7002));
    rig.run(ms(100));
    assert!(rig.candidate().is_some());
}

/// "node switches to waiter state" after token_pass, whatever came of it: with all candidates dead the token is lost in
/// every turn.
#[test]
fn a_token_that_nobody_takes_is_kept() {
    let mut rig = Rig::leader(5);
    rig.know(2);
    for _ in 0..20 {
        let stream = rig.refuse_until(2);
        rig.gone(stream, Closed::Refused);
        assert_eq!(rig.state(), State::Leader);
        rig.machine.penalties_mut().gave(node(2).ip);
    }
    assert_eq!(rig.machine.counters().restores, 1);
}

/// "TP5: token was passed": a candidate that is killed before it reads has the token, and nobody does.
#[test]
fn a_candidate_that_dies_before_it_reads_has_not_got_the_token() {
    let mut rig = Rig::leader(5);
    rig.know(2);
    let (stream, _) = rig.next_candidate();
    rig.connected(stream);
    rig.receive(stream, TP3);
    assert_eq!(rig.state(), State::Leader, "TP5 has left");
    rig.gone(stream, Closed::Reset);
    rig.run(ms(600));
    assert_eq!(
        rig.state(),
        State::Leader,
        "with a token that it has restored"
    );
    assert!(rig.token() > 5);
}

/// "Timeout ticked, return false", and the next candidate: the acknowledgement crossed the time-out, and two hold one id
/// for ever.
#[test]
fn a_token_whose_acknowledgement_is_lost_is_not_offered_to_another() {
    let mut rig = Rig::leader(5);
    rig.know(2);
    rig.know(3);
    let (stream, _) = rig.next_candidate();
    rig.connected(stream);
    rig.receive(stream, TP3);
    rig.run(ms(500));
    assert_eq!(rig.state(), State::Orphan);
    assert_eq!(rig.opened.len(), 1, "node 3 was not tried");
}

/// Data to the end of the stream, closed in order when the giver dies: half of it is a legal token. A reset is none.
#[test]
fn half_of_the_data_is_no_token() {
    let mut rig = Rig::waiter(5);
    let stream = rig.accept(2);
    rig.receive(stream, &tp1(9, hash(&[node(1)])));
    rig.receive(stream, &tp5(9, b"123")[..7]);
    rig.gone(stream, Closed::Reset);
    assert_eq!((rig.state(), rig.machine.data()), (State::Waiter, &b""[..]));
    // And who gives never lets a peer see an end before all is said.
    let mut rig = Rig::leader(5);
    rig.know(2);
    let (stream, _) = rig.next_candidate();
    rig.connected(stream);
    rig.run(ms(500));
    assert_eq!(rig.fate(stream), Fate::Reset);
}

/// No rule: a candidate that stood still after TP3 reads data and an end, and takes a token that was replaced long ago.
#[test]
fn a_candidate_that_stood_still_takes_no_old_token() {
    let mut rig = Rig::waiter(5);
    let stream = rig.accept(2);
    rig.receive(stream, &tp1(9, hash(&[node(1)])));
    rig.stop(ms(1500));
    rig.receive_end(stream, &tp5(9, b"123"));
    assert_eq!(rig.state(), State::Waiter);
    assert_eq!(rig.dropped(Reason::Late), 1);
}

/// No rule: an orphan that stood still after its last TR1 has heard nobody, and is a second leader when it wakes.
#[test]
fn an_orphan_that_stood_still_does_not_lead_on_waking() {
    let mut rig = Rig::orphan();
    rig.run(ms(550));
    rig.stop(ms(5000));
    rig.time_out();
    assert_eq!(rig.state(), State::Orphan);
}

/// No rule: a leader that stood still and was replaced goes on, and each of the two is accepted by the others.
#[test]
fn a_leader_that_stood_still_does_not_lead_on_waking() {
    let mut rig = Rig::leader(5);
    rig.know(2);
    rig.stop(ms(5000));
    rig.time_out();
    assert_eq!(rig.state(), State::Orphan);
    rig.hear(2, &tr2(70_000));
    assert_eq!(rig.state(), State::Waiter);
}

/// "data and token_id variables are updated with received values": rings 9 (data 5) and 3 (data 7) merge in a node of
/// ring 3, which is then in ring 3 or has lost 7.
#[test]
fn id_and_data_are_decided_apart() {
    let mut rig = Rig::waiter(5);
    rig.given(2, 3, &[node(2)], b"6");
    assert_eq!((rig.token(), rig.machine.data()), (3, &b"7"[..]));
    rig.given(3, 9, &[node(3)], b"5");
    assert_eq!((rig.token(), rig.machine.data()), (9, &b"7"[..]));
}

/// "generate new random token_id": who restores draws above the largest of n old ids with chance 1/(n + 1) only, and is
/// denied by every waiter that has it.
#[test]
fn ten_nodes_that_lost_their_leader_have_one_in_the_first_restore() {
    let mut world = World::new(10, Options::default());
    assert!(world.until(ms(8000), World::is_one_ring));
    world.run(ms(5000));
    let dead = world.leading()[0];
    world.part[dead] = 9;
    let others = move |world: &World| world.leading().iter().any(|at| *at != dead);
    assert!(world.until(ms(2600), others), "renew_timeout + D");
}

/// "otherwise: send TR2": also for equal ids. After a leader's death all n have the same id, and 3n² datagrams decide
/// nothing.
#[test]
fn equal_ids_are_not_answered_in_the_first_try() {
    for mut rig in [Rig::orphan(), Rig::waiter(1000)] {
        rig.hear(2, &tr1(-1000, 7002));
        assert_eq!(rig.said(), []);
    }
}

/// No rule: two that draw the same id in the second try are both granted, and lead with one id.
#[test]
fn of_two_that_draw_the_same_none_leads() {
    let mut rig = Rig::orphan();
    rig.run(ms(350));
    rig.forget();
    let tryout = i32::try_from(rig.token()).unwrap();
    rig.hear(2, &tr1(-tryout, 7002));
    assert_eq!(rig.said().len(), 1, "it tells the other");
    assert_eq!(rig.state(), State::Waiter);
}

/// "remember node": only if it is a non-leader that hears, and only of orphans: a lone leader hears of nobody, and two
/// rings never meet.
#[test]
fn two_leaders_hear_of_each_other() {
    let mut world = World::new(2, Options::default());
    world.part = vec![0, 1];
    // Neither knows of the other.
    (0..2).for_each(|at| world.restart(at));
    world.run(ms(5000));
    assert_eq!(world.leading().len(), 2);
    world.part = vec![0, 0];
    world.run(ms(5000));
    assert_eq!(world.leading().len(), 1);
    assert!(world.is_one_ring());
}

/// No rule: two leaders pass to each other: both wait, or both give and take.
#[test]
fn of_two_leaders_that_pass_to_each_other_one_gives_way() {
    for (own, other, gives_way) in [(5, 6, true), (6, 5, false)] {
        let mut rig = Rig::leader(own);
        rig.know(2);
        let (stream, _) = rig.next_candidate();
        rig.connected(stream);
        let inbound = rig.accept(2);
        rig.receive(inbound, &tp1(other, 7));
        assert_eq!(rig.fate(stream) == Fate::Reset, gives_way);
        assert_eq!(rig.written(inbound).is_empty(), !gives_way);
    }
}

/// "Leader computes new data" for each candidate: four dead candidates are five steps in one turn.
#[test]
fn dead_candidates_cost_no_steps_of_the_computation() {
    let mut rig = Rig::leader(5);
    (2..=5).for_each(|it| rig.know(it));
    for _ in 0..3 {
        let (stream, _) = rig.next_candidate();
        rig.gone(stream, Closed::Refused);
    }
    let before = rig.machine.data().to_vec();
    let (stream, _) = rig.next_candidate();
    rig.connected(stream);
    rig.written(stream);
    rig.receive(stream, TP3);
    assert_eq!(rig.written(stream), tp5(5, &before));
    assert_eq!(before, b"1");
}

/// "Node is free to listen to any tcp port", and no node is deleted: every restart adds an entry of the dead.
#[test]
fn a_restarted_node_has_one_entry() {
    let mut rig = Rig::leader(5);
    for port in 8000..8010 {
        rig.hear(2, &tr1(-1, port));
        rig.run(ms(150));
        if let Some((stream, _)) = rig.candidate() {
            rig.gone(stream, Closed::Refused);
        }
    }
    rig.run(ms(1000));
    assert_eq!(rig.machine.snapshot().nodes.len(), 2);
}

/// "list: received": when rings merge the nodes of one list are forgotten.
#[test]
fn rings_that_merge_forget_nobody() {
    let mut rig = Rig::leader(5);
    (2..=3).for_each(|it| rig.know(it));
    let stream = rig.refuse_until(3);
    rig.takes(stream);
    rig.given(4, 9, &[4, 5].map(node), b"1");
    assert_eq!(rig.machine.snapshot().nodes.len(), 5);
}

/// A constant renew_timeout and hold: in a ring of 30 × 100 ms all become orphans in every round.
#[test]
fn thirty_nodes_have_a_round_shorter_than_renew_timeout() {
    let mut world = World::new(30, Options::default());
    assert!(world.until(ms(20_000), World::is_one_ring));
    let restores = |world: &World| -> u64 {
        let counters = world.rigs.iter().map(|rig| rig.machine.counters());
        counters.map(|it| it.restores).sum()
    };
    let before = restores(&world);
    world.run(ms(20_000));
    assert_eq!(restores(&world), before);
}

/// "liveness": a command that hangs holds the token for ever, since its leader answers whoever asks.
#[test]
fn a_command_that_hangs_does_not_keep_the_token() {
    let options = Options {
        compute: Compute::Program,
        ..Options::default()
    };
    let mut rig = Rig::leader_with(options, 5);
    rig.know(2);
    rig.job();
    rig.run(ms(9000));
    rig.forget();
    rig.hear(3, &tr1(-1, 7003));
    assert_eq!(rig.said(), [Said::Tr2(host(3), 5)], "nobody replaces it");
    rig.run(ms(1000));
    assert_eq!(rig.jobs, [JobOp::Cancel]);
    assert!(rig.candidate().is_some(), "after compute_timeout");
}

/// "0..2^32 - 1": 0 has no sign, and -2^31 no absolute value.
#[test]
fn ids_without_a_sign_are_none() {
    for bytes in [[0x11, 0, 0, 0, 0], [0x11, 0x80, 0, 0, 0]] {
        let mut rig = Rig::orphan();
        rig.hear(2, &bytes);
        assert_eq!(rig.state(), State::Orphan);
        assert_eq!(rig.dropped(Reason::Token), 1);
    }
}

/// No rule: a leader says nothing by itself.
#[test]
fn a_leader_without_a_ring_is_heard() {
    let mut rig = Rig::leader(5);
    rig.run(ms(1000));
    assert!(rig.said().contains(&Said::Tr1(EVERYBODY, 5)));
}
