//! Several servers: crashes, restarts and splits (Q1 to Q8).

use std::time::Duration;

use ring_codec::ftn::Message;

use super::network::Network;
use super::notation::*;
use super::rig::{CT, HB, MS, ST, options, quorum};
use crate::ftn::server::{Options, majority};

fn with_majority(count: usize) -> Options {
    quorum(majority(count))
}

/// Returns three READY servers. Clients 1 to 3 have live sessions.
fn three(options: Options) -> Network {
    let mut network = Network::ready(3, options);
    for k in 1..=3 {
        network.add(k);
    }
    network.pass_until(2 * HB, |network| {
        network.clients.values().all(|p| p.confirmed.is_some())
    });
    network
}

/// For each number of servers and each quorum, one server leads and all servers are READY.
#[test]
fn servers_that_start_together_become_ready() {
    for count in [1, 2, 3, 5] {
        for needed in [1, majority(count)] {
            let network = Network::ready(count, quorum(needed));
            assert_eq!(network.leaders().len(), 1);
        }
    }
}

#[test]
fn servers_become_ready_after_the_default_grace() {
    for quorum in [1, 2] {
        let grace = CT;
        let network = Network::ready(
            3,
            Options {
                grace,
                quorum,
                ..options()
            },
        );
        assert!(network.now().as_nanos() > 15_000_000_000);
    }
}

/// Q7. One server leads ST + 2 HB after the leader's crash (Q > 1: ST + 4 HB). A crashed server's tokens are served
/// again after ST and one exchange of messages with each client.
#[test]
fn after_a_crash_the_group_serves_again_within_the_promised_time() {
    for (options, limit) in [(options(), ST + 2 * HB), (with_majority(3), ST + 4 * HB)] {
        for leader_crashes in [true, false] {
            let mut network = three(options);
            let leader = network.leaders()[0];
            let crashed = if leader_crashes {
                leader
            } else {
                (leader + 1) % 3
            };
            let name = name_of(crashed, &[R; 3], 0);
            network.want(1, &name, X);
            network.pass_until(HB, |network| network.holds(1, &name));
            network.want(2, &name, X);
            network.pass(100 * MS);
            network.crash(crashed);
            if leader_crashes {
                network.pass_until(limit, |network| network.leaders().len() == 1);
            } else {
                // The last HEARTBEAT that the leader has from the crashed server may be up to HB younger than the
                // crash.
                network.pass(ST + HB);
            }
            network.give_back(1, &name, Some("new"));
            network.pass_until(2 * HB, |network| network.holds(2, &name));
            assert_eq!(network.clients[&2].held[&name].1, "new");
            assert!(!network.holds(1, &name));
        }
    }
}

#[test]
fn held_tokens_survive_the_crash_and_return_of_each_server_in_turn() {
    let mut network = three(options());
    let names: Vec<String> = (0..3).map(|s| name_of(s, &[R; 3], 0)).collect();
    for name in &names {
        network.want(1, name, X);
        network.want(2, name, X);
    }
    network.pass(HB);
    for round in 0..6 {
        let crashed = round % 3;
        network.crash(crashed);
        network.pass(2 * ST);
        for name in &names {
            assert!(network.holds(1, name) && !network.holds(2, name));
        }
        network.start(crashed);
        network.pass_until_ready(2 * ST);
        let held: usize = network.snapshots().map(|s| s.held).sum();
        assert_eq!(held, 3, "round {round}");
    }
    for name in &names {
        network.give_back(1, name, None);
    }
    network.pass_until(3 * HB, |network| {
        names.iter().all(|name| network.holds(2, name))
    });
}

/// Decision 16: at its start a server simply serves.
#[test]
fn a_restart_of_the_only_server_takes_no_token_from_its_holder() {
    let grace = CT;
    let mut network = Network::ready(1, Options { grace, ..options() });
    network.add(1);
    network.add(2);
    network.pass(HB);
    network.want(1, "a", X);
    network.pass(HB);
    assert!(network.holds(1, "a"));
    network.crash(0);
    network.pass(HB);
    network.start(0);
    network.want(2, "a", X);
    for _ in 0..30 {
        network.pass(HB);
        assert!(!network.holds(2, "a"));
    }
    assert_eq!(network.server(0).counters().adopted, 2);
    network.give_back(1, "a", None);
    network.pass_until(2 * HB, |network| network.holds(2, "a"));
}

/// Decision 10: the leader is the lowest-numbered server that is up. In this implementation, the server with
/// the newest acknowledged knowledge leads.
#[test]
fn a_leader_that_restarts_at_once_does_not_end_all_sessions() {
    let mut network = three(options());
    let leader = network.leaders()[0];
    assert_eq!(leader, 0);
    network.crash(0);
    network.pass(MS);
    network.start(0);
    network.pass_until_ready(3 * ST);
    assert_ne!(network.leaders(), [0]);
    assert!(network.snapshots().all(|s| s.sessions.len() == 3));
}

/// Decision 14: the leader marks a READY server DOWN when it is silent. In this implementation, the server also
/// announces DOWN after its start.
#[test]
fn a_restart_within_st_is_noticed() {
    let mut network = three(options());
    let name = name_of(1, &[R; 3], 0);
    network.want(1, &name, X);
    network.pass(HB);
    network.crash(1);
    network.start(1);
    network.pass_until_ready(2 * ST);
    network.want(2, &name, X);
    network.pass(2 * HB);
    assert!(network.holds(1, &name) && !network.holds(2, &name));
    assert_eq!(network.server(1).counters().reclaimed, 1);
}

/// Decision 3: messages of DOWN servers are discarded. In this implementation, the clients change their
/// msgnums at each survey.
#[test]
fn a_grant_from_before_a_restart_does_not_count() {
    let mut network = three(options());
    let name = name_of(1, &[R; 3], 0);
    network.keeps = |message, to| matches!(message, Message::Grant { .. }) && to == client(1);
    network.want(1, &name, X);
    network.pass(HB);
    assert!(!network.kept.is_empty());
    network.crash(1);
    network.start(1);
    network.want(2, &name, X);
    network.clients.get_mut(&1).unwrap().wants.clear();
    network.want(1, &name, X);
    network.pass(3 * ST);
    assert!(network.holds(2, &name) || !network.kept.is_empty());
    network.release();
    network.pass(HB);
    assert!(!(network.holds(1, &name) && network.holds(2, &name)));
}

/// Decision 12: servers elect a leader. When the split heals, the larger side also has the larger configuration number.
#[test]
fn with_a_majority_the_smaller_side_of_a_split_serves_nothing() {
    let mut network = three(with_majority(3));
    let leader = network.leaders()[0];
    let alone = server(leader);
    network.loses = Box::new(move |from, to| {
        let between = from.port() == 4000 && to.port() == 4000;
        between && (from == alone || to == alone)
    });
    network.pass(ST + 4 * HB);
    let isolated = network.snapshots().find(|s| s.index == leader).unwrap();
    assert!(!isolated.authority);
    let others: Vec<_> = network.snapshots().filter(|s| s.index != leader).collect();
    assert!(
        others
            .iter()
            .any(|s| s.authority && s.leader != Some(leader))
    );
    // All clients reach all servers, and only one side serves each name.
    let names: Vec<String> = (0..3).map(|s| name_of(s, &[R; 3], 0)).collect();
    for name in &names {
        network.want(1, name, X);
        network.want(2, name, X);
    }
    network.pass(2 * HB);
    for name in &names {
        assert!(!(network.holds(1, name) && network.holds(2, name)));
        assert!(network.holds(1, name) || network.holds(2, name), "{name}");
    }
    network.loses = Box::new(|_, _| false);
    network.pass_until_ready(3 * ST);
    assert_eq!(network.leaders().len(), 1);
    assert_ne!(network.leaders(), [leader]);
    for name in &names {
        assert!(!(network.holds(1, name) && network.holds(2, name)));
    }
}

/// Q3.
#[test]
fn with_a_quorum_of_one_a_healed_split_leaves_one_leader() {
    let mut network = three(options());
    network.loses = Box::new(|from, to| {
        let between = from.port() == 4000 && to.port() == 4000;
        between && (from == server(2)) != (to == server(2))
    });
    network.pass(2 * ST + 4 * HB);
    assert_eq!(network.leaders().len(), 2);
    network.loses = Box::new(|_, _| false);
    network.pass_until(4 * ST, |network| {
        network.leaders().len() == 1 && network.snapshots().all(|s| states(s.states) == "RRR")
    });
}

/// Decision 19: a TRANSFER names the holders of each token.
#[test]
fn tokens_go_back_with_their_data_to_a_server_that_starts_again() {
    let mut network = three(options());
    let name = name_of(2, &[R; 3], 0);
    network.crash(2);
    network.pass(ST + HB);
    network.want(1, &name, X);
    network.pass(HB);
    network.give_back(1, &name, Some("data"));
    network.pass(HB);
    network.start(2);
    network.pass_until_ready(2 * ST);
    network.want(2, &name, S);
    network.pass(HB);
    assert_eq!(network.clients[&2].held[&name].1, "data");
    assert_eq!(network.server(2).counters().grants, 1);
}

#[test]
fn the_loss_of_every_third_datagram_is_tolerated() {
    let mut network = three(options());
    let count = std::cell::Cell::new(0_u32);
    network.loses = Box::new(move |_, _| {
        count.set(count.get() + 1);
        count.get().is_multiple_of(3)
    });
    for round in 0..5 {
        for server in 0..3 {
            let name = name_of(server, &[R; 3], round);
            network.want(1, &name, X);
            network.pass_until(4 * HB, |network| network.holds(1, &name));
            network.give_back(1, &name, Some("d"));
            network.pass_until(Duration::from_secs(8), |network| !network.holds(1, &name));
        }
    }
}

#[test]
fn tokens_of_a_silent_client_become_free_at_all_servers() {
    let mut network = three(options());
    let names: Vec<String> = (0..3).map(|s| name_of(s, &[R; 3], 0)).collect();
    for name in &names {
        network.want(1, name, X);
    }
    network.pass(HB);
    for name in &names {
        network.want(2, name, X);
    }
    network.clients.remove(&1);
    network.pass(CT / 2);
    assert!(names.iter().all(|name| !network.holds(2, name)));
    network.pass_until(CT, |network| {
        names.iter().all(|name| network.holds(2, name))
    });
}
