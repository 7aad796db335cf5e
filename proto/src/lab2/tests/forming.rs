//! Tests of rings of several state machines, on a network without faults.

use std::time::Duration;

use ring_codec::lab2::Kind;

use super::network::Network;
use super::node::Node;
use super::notation::{ip, mac, ms};
use crate::lab2::{Command, Constants, Grade, Lab2, State};

fn ring(n: u8) -> Network {
    let mut network = Network::new(n, Constants::default(), 1);
    network.run(ms(1_500));
    network
}

#[test]
fn a_lone_node_becomes_owner_after_two_answer_timeouts() {
    let mut network = Network::new(1, Constants::default(), 1);
    network.run(ms(199));
    assert_eq!(network.nodes[0].state(), Some(State::Generating));
    network.run(ms(1));
    assert_eq!(network.nodes[0].state(), Some(State::Owner));
}

#[test]
fn nodes_that_start_together_elect_one_owner() {
    for n in 2..=8 {
        let mut network = Network::new(n, Constants::default(), u64::from(n));
        network.run(ms(205));
        assert_eq!(network.owners().count(), 1, "{n} nodes");
    }
}

#[test]
fn nodes_that_start_one_after_the_other_form_one_ring() {
    let mut network = Network::with_links_down(5, Constants::default(), 1);
    for at in 0..5 {
        network.link_up(at);
        network.run(ms(70));
    }
    network.run(ms(1_500));
    assert_eq!(
        network.owners().filter(|node| node.may_use_token()).count(),
        1
    );
    let digest = network.live().next().map(Lab2::digest);
    assert!(
        network
            .live()
            .all(|machine| Some(machine.digest()) == digest)
    );
    assert_eq!(digest.map(|digest| digest.size), Some(5));
}

#[test]
fn the_token_of_an_idle_ring_visits_every_member() {
    let mut network = ring(5);
    let before: Vec<_> = network.nodes.iter().map(|node| node.tenures).collect();
    network.run(ms(10_000));
    for (node, before) in network.nodes.iter().zip(before) {
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
    let mut network = Network::new(4, constants, 1);
    network.run(ms(500));
    let before: usize = network.nodes.iter().map(|node| node.tenures).sum();
    network.run(ms(500));
    let after: usize = network.nodes.iter().map(|node| node.tenures).sum();
    // A frame takes 60 µs on average.
    assert!(after - before > 6_000, "{} hops", after - before);
    eprintln!("{} {:?}", after - before, network.broadcasts);
}

/// After the first answers to a heartbeat, a tenure has only the grade `all-heard`. After the next answers, the tenure
/// has the grade `quorum`.
#[test]
fn an_idle_ring_has_a_quorum_in_each_tenure_and_reports_no_view() {
    for (n, expect) in [(3, None), (4, None), (4, Some(4)), (5, None), (8, None)] {
        let constants = Constants {
            expect,
            ..Constants::default()
        };
        let mut network = Network::new(n, constants, u64::from(n));
        network.run(ms(1_500));
        network.grades.clear();
        network.run(ms(20_000));
        let told = network.grades.len();
        assert!(told > 150, "{n} nodes: {told}");
        let views = network
            .grades
            .iter()
            .filter(|&&grade| grade != Grade::Quorum);
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
        let mut network = ring(n);
        let at = usize::from(n) - 1;
        network.run_until(ms(500), |network| network.nodes[0].may_use_token());
        let tenures =
            |network: &Network| network.nodes.iter().map(|node| node.tenures).sum::<usize>();
        let before = tenures(&network);
        network.command(at, Command::WantToken);
        let took = network.run_until(ms(5), |network| network.nodes[at].may_use_token());
        assert!(took < ms(1), "{took:?}");
        assert_eq!(tenures(&network) - before, 1);
    }
}

#[test]
fn invariant_3_every_member_that_wants_the_token_gets_it_within_members_plus_1_tenures() {
    for (n, seed) in [(2, 1), (3, 2), (5, 3), (8, 4)] {
        let mut network = Network::new(n, Constants::default(), seed);
        network.run(ms(1_500));
        let count = usize::from(n);
        for at in 0..count {
            network.command(at, Command::WantToken);
        }
        network.run(ms(1));
        let mut waiting: Vec<_> = (0..count).collect();
        let all = |network: &Network| network.nodes.iter().map(|node| node.tenures).sum::<usize>();
        let before = all(&network);
        while !waiting.is_empty() {
            let has_it = |network: &Network| network.nodes.iter().position(Node::may_use_token);
            network.run_until(ms(100), |network| has_it(network).is_some());
            let at = has_it(&network).expect("just seen");
            waiting.retain(|&other| other != at);
            network.run(ms(3));
            network.command(at, Command::WorkDone);
        }
        assert!(all(&network) - before <= count + 1, "{n} nodes");
    }
}

#[test]
fn under_contention_every_wanting_member_is_served_once_a_round() {
    let mut network = ring(5);
    let wanting = [1, 2, 4];
    for at in wanting {
        network.command(at, Command::WantToken);
    }
    let mut served = Vec::new();
    while served.len() < 12 {
        network.run_until(ms(100), |network| {
            wanting.iter().any(|&at| network.nodes[at].may_use_token())
        });
        let at = wanting
            .into_iter()
            .find(|&at| network.nodes[at].may_use_token());
        let at = at.expect("just seen");
        served.push(at);
        network.run(ms(2));
        network.command(at, Command::WorkDone);
        network.command(at, Command::WantToken);
        network.run_until(ms(100), |network| !network.nodes[at].may_use_token());
    }
    let round = &served[..3];
    assert!(served.chunks(3).all(|other| other == round), "{served:?}");
}

#[test]
fn a_graceful_exit_leaves_no_gap() {
    let mut network = ring(3);
    network.run_until(ms(500), |network| network.nodes[1].may_use_token());
    network.command(1, Command::ShutDown);
    network.run_checking(ms(500), |network| {
        assert!(network.owners().count() >= 1, "{}", network.trace());
    });
    assert!(network.live().any(Lab2::is_finished));
}

#[test]
fn in_a_ring_of_two_without_idle_hold_a_node_can_leave() {
    let constants = Constants {
        idle_hold: Duration::ZERO,
        ..Constants::default()
    };
    let mut network = Network::new(2, constants, 1);
    network.run(ms(500));
    network.command(1, Command::ShutDown);
    network.run(ms(50));
    assert!(
        network.nodes[1]
            .machine
            .as_ref()
            .is_some_and(Lab2::is_finished)
    );
    assert_eq!(network.nodes[0].state(), Some(State::Owner));
}

#[test]
fn two_rings_that_meet_become_one_and_the_weaker_token_is_destroyed() {
    let mut network = Network::with_links_down(6, Constants::default(), 3);
    for at in 0..6 {
        network.nodes[at].island = at % 2 == 0;
        network.link_up(at);
    }
    network.run(ms(1_500));
    let strongest = network.owners().filter_map(Node::token);
    let strongest = strongest
        .max_by(ring_codec::lab2::Token::strength)
        .expect("two");
    assert_eq!(
        network.owners().filter(|node| node.may_use_token()).count(),
        2
    );
    for node in &mut network.nodes {
        node.island = false;
    }
    network.run(ms(300));
    let mut owners = network.owners();
    let owner = owners.next().and_then(Node::token).expect("an owner");
    assert!(owner.same_chain(&strongest));
    assert_eq!(owners.count(), 0);
}

#[test]
fn a_wrong_ip_in_the_tables_is_corrected_by_its_member() {
    let mut network = ring(4);
    network.change_ip(2, ip(99));
    network.run(ms(500));
    for machine in network.live() {
        let mut members = machine.members();
        let found = members.find(|member| member.mac == mac(3));
        assert_eq!(found.map(|member| member.ip), Some(ip(99)));
    }
}

#[test]
fn invariant_5_a_changed_ip_that_one_member_missed_reaches_it_while_the_token_rests() {
    for new in [ip(99), ip(1), ring_codec::lab2::NO_IP] {
        let mut network = ring(4);
        network.run_until(ms(500), |network| network.nodes[0].may_use_token());
        network.command(0, Command::WantToken);
        network.nodes[3].island = true;
        network.change_ip(2, new);
        network.run(ms(1));
        network.nodes[3].island = false;
        network.run(ms(2_000));
        for _ in 0..100 {
            network.run(ms(37));
            for machine in network.live() {
                let mut members = machine.members();
                let found = members.find(|member| member.mac == mac(3));
                assert_eq!(found.map(|member| member.ip), Some(new));
            }
        }
    }
}

#[test]
fn a_token_weaker_than_one_a_member_has_held_is_replaced_without_an_election() {
    let mut network = ring(4);
    network.nodes[3].island = true;
    network.run(ms(1_500));
    let held_alone = network.nodes[3].token().expect("elected on its side");
    network.kill(3);
    network.nodes[3].island = false;
    network.restart(3);
    let elections = network.broadcasts_of(Kind::GeneratingToken);
    network.run(ms(220));
    assert_eq!(network.broadcasts_of(Kind::GeneratingToken), elections);
    let mut tokens = network.owners().filter_map(Node::token);
    let stronger = tokens.all(|token| token.is_stronger_than(&held_alone));
    assert!(stronger, "{}", network.trace());
    assert!(network.owners().count() > 0, "{}", network.trace());
}
