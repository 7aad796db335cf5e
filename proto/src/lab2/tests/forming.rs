//! Rings that form, move the token and serve who wants it, on a segment that does its work.

use std::time::Duration;

use ring_codec::lab2::Kind;

use super::node::Node;
use super::notation::{ip, mac, ms};
use super::world::World;
use crate::lab2::{Command, Constants, Grade, Lab2, State};

fn ring(n: u8) -> World {
    let mut world = World::new(n, Constants::default(), 1);
    world.run(ms(1_500));
    world
}

#[test]
fn a_lone_node_becomes_owner_after_two_answer_timeouts() {
    let mut world = World::new(1, Constants::default(), 1);
    world.run(ms(199));
    assert_eq!(world.nodes[0].state(), Some(State::Generating));
    world.run(ms(1));
    assert_eq!(world.nodes[0].state(), Some(State::Owner));
}

#[test]
fn nodes_that_start_together_elect_one_owner() {
    for n in 2..=8 {
        let mut world = World::new(n, Constants::default(), u64::from(n));
        world.run(ms(205));
        assert_eq!(world.owners().count(), 1, "{n} nodes");
    }
}

#[test]
fn nodes_that_start_one_after_the_other_form_one_ring() {
    let mut world = World::dark(5, Constants::default(), 1);
    for at in 0..5 {
        world.link_up(at);
        world.run(ms(70));
    }
    world.run(ms(1_500));
    assert_eq!(
        world.owners().filter(|node| node.may_use_token()).count(),
        1
    );
    let digest = world.live().next().map(Lab2::digest);
    assert!(world.live().all(|machine| Some(machine.digest()) == digest));
    assert_eq!(digest.map(|digest| digest.size), Some(5));
}

#[test]
fn an_idle_ring_gives_every_member_its_turn() {
    let mut world = ring(5);
    let before: Vec<_> = world.nodes.iter().map(|node| node.tenures).collect();
    world.run(ms(10_000));
    for (node, before) in world.nodes.iter().zip(before) {
        let turns = node.tenures - before;
        assert!((18..=21).contains(&turns), "n{}: {turns}", node.number);
    }
}

#[test]
fn with_idle_hold_0_the_token_goes_as_fast_as_frames_travel() {
    let constants = Constants {
        idle_hold: Duration::ZERO,
        ..Constants::default()
    };
    let mut world = World::new(4, constants, 1);
    world.run(ms(500));
    let before: usize = world.nodes.iter().map(|node| node.tenures).sum();
    world.run(ms(500));
    let after: usize = world.nodes.iter().map(|node| node.tenures).sum();
    // A frame is under way for 60 µs on the average.
    assert!(after - before > 6_000, "{} hops", after - before);
    eprintln!("{} {:?}", after - before, world.broadcasts);
}

/// The first answers to a heartbeat confirm a view, the next ones a quorum.
#[test]
fn an_idle_ring_has_a_quorum_in_each_tenure_and_tells_of_no_step_on_the_way() {
    for (n, expect) in [(3, None), (4, None), (4, Some(4)), (5, None), (8, None)] {
        let constants = Constants {
            expect,
            ..Constants::default()
        };
        let mut world = World::new(n, constants, u64::from(n));
        world.run(ms(1_500));
        world.grades.clear();
        world.run(ms(20_000));
        let told = world.grades.len();
        assert!(told > 150, "{n} nodes: {told}");
        let views = world.grades.iter().filter(|&&grade| grade != Grade::Quorum);
        assert_eq!(
            views.count(),
            0,
            "of {told}, {n} nodes, expected {expect:?}"
        );
    }
}

#[test]
fn a_request_costs_one_hop_whatever_the_rings_size() {
    for n in [3, 8] {
        let mut world = ring(n);
        let at = usize::from(n) - 1;
        world.run_until(ms(500), |world| world.nodes[0].may_use_token());
        let tenures = |world: &World| world.nodes.iter().map(|node| node.tenures).sum::<usize>();
        let before = tenures(&world);
        world.command(at, Command::WantToken);
        let took = world.run_until(ms(5), |world| world.nodes[at].may_use_token());
        assert!(took < ms(1), "{took:?}");
        assert_eq!(tenures(&world) - before, 1);
    }
}

#[test]
fn invariant_3_every_member_that_wants_the_token_gets_it_within_members_plus_1_tenures() {
    for (n, seed) in [(2, 1), (3, 2), (5, 3), (8, 4)] {
        let mut world = World::new(n, Constants::default(), seed);
        world.run(ms(1_500));
        let count = usize::from(n);
        for at in 0..count {
            world.command(at, Command::WantToken);
        }
        world.run(ms(1));
        let mut waiting: Vec<_> = (0..count).collect();
        let all = |world: &World| world.nodes.iter().map(|node| node.tenures).sum::<usize>();
        let before = all(&world);
        while !waiting.is_empty() {
            let has_it = |world: &World| world.nodes.iter().position(Node::may_use_token);
            world.run_until(ms(100), |world| has_it(world).is_some());
            let at = has_it(&world).expect("just seen");
            waiting.retain(|&other| other != at);
            world.run(ms(3));
            world.command(at, Command::WorkDone);
        }
        assert!(all(&world) - before <= count + 1, "{n} nodes");
    }
}

#[test]
fn under_contention_every_wanting_member_is_served_once_a_round() {
    let mut world = ring(5);
    let wanting = [1, 2, 4];
    for at in wanting {
        world.command(at, Command::WantToken);
    }
    let mut served = Vec::new();
    while served.len() < 12 {
        world.run_until(ms(100), |world| {
            wanting.iter().any(|&at| world.nodes[at].may_use_token())
        });
        let at = wanting
            .into_iter()
            .find(|&at| world.nodes[at].may_use_token());
        let at = at.expect("just seen");
        served.push(at);
        world.run(ms(2));
        world.command(at, Command::WorkDone);
        world.command(at, Command::WantToken);
        world.run_until(ms(100), |world| !world.nodes[at].may_use_token());
    }
    let round = &served[..3];
    assert!(served.chunks(3).all(|other| other == round), "{served:?}");
}

#[test]
fn a_graceful_exit_leaves_no_gap() {
    let mut world = ring(3);
    world.run_until(ms(500), |world| world.nodes[1].may_use_token());
    world.command(1, Command::ShutDown);
    world.run_checking(ms(500), |world| {
        assert!(world.owners().count() >= 1, "{}", world.trace());
    });
    assert!(world.live().any(Lab2::is_finished));
}

#[test]
fn in_a_ring_of_two_without_idle_hold_a_node_can_leave() {
    let constants = Constants {
        idle_hold: Duration::ZERO,
        ..Constants::default()
    };
    let mut world = World::new(2, constants, 1);
    world.run(ms(500));
    world.command(1, Command::ShutDown);
    world.run(ms(50));
    assert!(
        world.nodes[1]
            .machine
            .as_ref()
            .is_some_and(Lab2::is_finished)
    );
    assert_eq!(world.nodes[0].state(), Some(State::Owner));
}

#[test]
fn two_rings_that_meet_become_one_and_the_weaker_token_is_destroyed() {
    let mut world = World::dark(6, Constants::default(), 3);
    for at in 0..6 {
        world.nodes[at].island = at % 2 == 0;
        world.link_up(at);
    }
    world.run(ms(1_500));
    let strongest = world.owners().filter_map(Node::token);
    let strongest = strongest
        .max_by(ring_codec::lab2::Token::strength)
        .expect("two");
    assert_eq!(
        world.owners().filter(|node| node.may_use_token()).count(),
        2
    );
    for node in &mut world.nodes {
        node.island = false;
    }
    world.run(ms(300));
    let mut owners = world.owners();
    let owner = owners.next().and_then(Node::token).expect("an owner");
    assert!(owner.same_chain(&strongest));
    assert_eq!(owners.count(), 0);
}

#[test]
fn a_wrong_ip_in_the_tables_is_corrected_by_its_member() {
    let mut world = ring(4);
    world.change_ip(2, ip(99));
    world.run(ms(500));
    for machine in world.live() {
        let mut members = machine.members();
        let found = members.find(|member| member.mac == mac(3));
        assert_eq!(found.map(|member| member.ip), Some(ip(99)));
    }
}

#[test]
fn invariant_5_a_changed_ip_that_one_member_missed_gets_to_it_while_the_token_rests() {
    for new in [ip(99), ip(1), ring_codec::lab2::NO_IP] {
        let mut world = ring(4);
        world.run_until(ms(500), |world| world.nodes[0].may_use_token());
        world.command(0, Command::WantToken);
        world.nodes[3].island = true;
        world.change_ip(2, new);
        world.run(ms(1));
        world.nodes[3].island = false;
        world.run(ms(2_000));
        for _ in 0..100 {
            world.run(ms(37));
            for machine in world.live() {
                let mut members = machine.members();
                let found = members.find(|member| member.mac == mac(3));
                assert_eq!(found.map(|member| member.ip), Some(new));
            }
        }
    }
}

#[test]
fn a_ring_whose_token_is_weaker_than_one_that_a_member_has_held_replaces_it_without_an_election() {
    let mut world = ring(4);
    world.nodes[3].island = true;
    world.run(ms(1_500));
    let held_alone = world.nodes[3].token().expect("elected on its island");
    world.kill(3);
    world.nodes[3].island = false;
    world.restart(3);
    let elections = world.broadcasts_of(Kind::GeneratingToken);
    world.run(ms(220));
    assert_eq!(world.broadcasts_of(Kind::GeneratingToken), elections);
    let mut tokens = world.owners().filter_map(Node::token);
    let stronger = tokens.all(|token| token.is_stronger_than(&held_alone));
    assert!(stronger, "{}", world.trace());
    assert!(world.owners().count() > 0, "{}", world.trace());
}
