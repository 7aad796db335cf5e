//! Sections 7 and 10 with several servers: what holds through crashes, restarts and cuts.

use std::time::Duration;

use ring_codec::ftn::Message;

use super::notation::*;
use super::rig::{CT, HB, MS, ST, options, quorum};
use super::world::World;
use crate::ftn::server::{Options, majority};

fn with_majority(count: usize) -> Options {
    quorum(majority(count))
}

/// Three servers that are READY, and clients 1 to 3 with live sessions.
fn three(options: Options) -> World {
    let mut world = World::ready(3, options);
    for k in 1..=3 {
        world.add(k);
    }
    world.pass_until(2 * HB, |world| {
        world.clients.values().all(|p| p.confirmed.is_some())
    });
    world
}

/// All combinations of servers and quorums come up, to one leader and all READY.
#[test]
fn servers_that_start_together_become_ready() {
    for count in [1, 2, 3, 5] {
        for quorum in [1, majority(count)] {
            let world = World::ready(
                count,
                Options {
                    quorum,
                    ..options()
                },
            );
            assert_eq!(world.leaders().len(), 1);
        }
    }
}

#[test]
fn servers_come_up_with_the_usual_grace() {
    for quorum in [1, 2] {
        let grace = CT;
        let world = World::ready(
            3,
            Options {
                grace,
                quorum,
                ..options()
            },
        );
        assert!(world.now().as_nanos() > 15_000_000_000);
    }
}

/// 7.7: one leader within ST + 2 HB after the last one's crash (Q > 1: + 4 HB); a crashed server's tokens are
/// served again ST + one exchange with each client after the crash.
#[test]
fn a_crash_is_mended_within_the_promised_time() {
    for (options, limit) in [(options(), ST + 2 * HB), (with_majority(3), ST + 4 * HB)] {
        for leader_crashes in [true, false] {
            let mut world = three(options);
            let leader = world.leaders()[0];
            let crashed = if leader_crashes {
                leader
            } else {
                (leader + 1) % 3
            };
            let name = name_of(crashed, &[R; 3], 0);
            world.want(1, &name, X);
            world.pass_until(HB, |world| world.holds(1, &name));
            world.want(2, &name, X);
            world.pass(100 * MS);
            world.crash(crashed);
            if leader_crashes {
                world.pass_until(limit, |world| world.leaders().len() == 1);
            } else {
                // The leader hears of it by a HEARTBEAT less, up to HB later.
                world.pass(ST + HB);
            }
            world.give_back(1, &name, Some("new"));
            world.pass_until(2 * HB, |world| world.holds(2, &name));
            assert_eq!(world.clients[&2].held[&name].1, "new");
            assert!(!world.holds(1, &name));
        }
    }
}

/// A token that is held survives the crash of its server, and of its heir, and their return.
#[test]
fn what_is_held_survives_crashes_one_after_the_other() {
    let mut world = three(options());
    let names: Vec<String> = (0..3).map(|s| name_of(s, &[R; 3], 0)).collect();
    for name in &names {
        world.want(1, name, X);
        world.want(2, name, X);
    }
    world.pass(HB);
    for round in 0..6 {
        let crashed = round % 3;
        world.crash(crashed);
        world.pass(2 * ST);
        for name in &names {
            assert!(world.holds(1, name) && !world.holds(2, name));
        }
        world.start(crashed);
        world.pass_until(2 * ST, |world| {
            world.snapshots().all(|s| states(s.states) == "RRR")
        });
        let held: usize = world.snapshots().map(|s| s.held).sum();
        assert_eq!(held, 3, "round {round}");
    }
    for name in &names {
        world.give_back(1, name, None);
    }
    world.pass_until(3 * HB, |world| {
        names.iter().all(|name| world.holds(2, name))
    });
}

/// Section 10: "at the start a server simply serves": the only server restarts, clients hold on.
#[test]
fn the_only_servers_restart_takes_no_token_from_who_holds_it() {
    let grace = CT;
    let mut world = World::ready(1, Options { grace, ..options() });
    world.add(1);
    world.add(2);
    world.pass(HB);
    world.want(1, "a", X);
    world.pass(HB);
    assert!(world.holds(1, "a"));
    world.crash(0);
    world.pass(HB);
    world.start(0);
    world.want(2, "a", X);
    for _ in 0..30 {
        world.pass(HB);
        assert!(!world.holds(2, "a"));
    }
    assert_eq!(world.server(0).counters().adopted, 2);
    world.give_back(1, "a", None);
    world.pass_until(2 * HB, |world| world.holds(2, "a"));
}

/// Section 10: "leader = lowest-numbered server that is up": 0 crashes and restarts at once with an empty list.
/// The best memory leads, and goes on leading.
#[test]
fn a_leader_that_restarts_at_once_does_not_end_all_sessions() {
    let mut world = three(options());
    let leader = world.leaders()[0];
    assert_eq!(leader, 0);
    world.crash(0);
    world.pass(MS);
    world.start(0);
    world.pass_until(3 * ST, |world| {
        world.snapshots().all(|s| states(s.states) == "RRR")
    });
    assert_ne!(world.leaders(), [0]);
    assert!(world.snapshots().all(|s| s.sessions.len() == 3));
}

/// Section 10: "READY to DOWN by the leader on silence": a crash and restart within ST is no silence. It says
/// DOWN first.
#[test]
fn a_restart_within_st_is_noticed() {
    let mut world = three(options());
    let name = name_of(1, &[R; 3], 0);
    world.want(1, &name, X);
    world.pass(HB);
    world.crash(1);
    world.start(1);
    world.pass_until(2 * ST, |world| {
        world.snapshots().all(|s| states(s.states) == "RRR")
    });
    world.want(2, &name, X);
    world.pass(2 * HB);
    assert!(world.holds(1, &name) && !world.holds(2, &name));
    assert_eq!(world.server(1).counters().reclaimed, 1);
}

/// Section 10: "messages of DOWN servers are discarded": X grants A (late), crashes, restarts, surveys (A holds
/// nothing), grants B; then the first GRANT arrives. New msgnums at every survey.
#[test]
fn a_grant_of_a_former_life_is_not_taken() {
    let mut world = three(options());
    let name = name_of(1, &[R; 3], 0);
    world.keeps = |message, to| matches!(message, Message::Grant { .. }) && to == client(1);
    world.want(1, &name, X);
    world.pass(HB);
    assert!(!world.kept.is_empty());
    world.crash(1);
    world.start(1);
    world.want(2, &name, X);
    world.clients.get_mut(&1).unwrap().wants.clear();
    world.want(1, &name, X);
    world.pass(3 * ST);
    assert!(world.holds(2, &name) || !world.kept.is_empty());
    world.release();
    world.pass(HB);
    assert!(!(world.holds(1, &name) && world.holds(2, &name)));
}

/// Section 10: "servers elect a leader": with Q a majority the side of a cut that is smaller serves nothing, and
/// the larger goes on; its number is the larger when the cut heals.
#[test]
fn the_smaller_side_of_a_cut_serves_nothing() {
    let mut world = three(with_majority(3));
    let leader = world.leaders()[0];
    let alone = server(leader);
    world.loses = Box::new(move |from, to| {
        let between = from.port() == 4000 && to.port() == 4000;
        between && (from == alone || to == alone)
    });
    world.pass(ST + 4 * HB);
    let isolated = world.snapshots().find(|s| s.index == leader).unwrap();
    assert!(!isolated.authority);
    let others: Vec<_> = world.snapshots().filter(|s| s.index != leader).collect();
    assert!(
        others
            .iter()
            .any(|s| s.authority && s.leader != Some(leader))
    );
    // All clients can reach all servers; each name is served by one side alone.
    let names: Vec<String> = (0..3).map(|s| name_of(s, &[R; 3], 0)).collect();
    for name in &names {
        world.want(1, name, X);
        world.want(2, name, X);
    }
    world.pass(2 * HB);
    for name in &names {
        assert!(!(world.holds(1, name) && world.holds(2, name)));
        assert!(world.holds(1, name) || world.holds(2, name), "{name}");
    }
    world.loses = Box::new(|_, _| false);
    world.pass_until(3 * ST, |world| {
        world.snapshots().all(|s| states(s.states) == "RRR")
    });
    assert_eq!(world.leaders().len(), 1);
    assert_ne!(world.leaders(), [leader]);
    for name in &names {
        assert!(!(world.holds(1, name) && world.holds(2, name)));
    }
}

/// Section 7.3: with Q = 1 each side of a cut leads; when it heals one gives way, and all agree again.
#[test]
fn with_a_quorum_of_one_a_healed_cut_leaves_one_leader() {
    let mut world = three(options());
    world.loses = Box::new(|from, to| {
        let between = from.port() == 4000 && to.port() == 4000;
        between && (from == server(2)) != (to == server(2))
    });
    world.pass(2 * ST + 4 * HB);
    assert_eq!(world.leaders().len(), 2);
    world.loses = Box::new(|_, _| false);
    world.pass_until(4 * ST, |world| {
        world.leaders().len() == 1 && world.snapshots().all(|s| states(s.states) == "RRR")
    });
}

/// Section 10: "TRANSFER says who holds": a token goes home to its server when that is back, with its data.
#[test]
fn tokens_go_home_when_their_server_is_back() {
    let mut world = three(options());
    let name = name_of(2, &[R; 3], 0);
    world.crash(2);
    world.pass(ST + HB);
    world.want(1, &name, X);
    world.pass(HB);
    world.give_back(1, &name, Some("data"));
    world.pass(HB);
    world.start(2);
    world.pass_until(2 * ST, |world| {
        world.snapshots().all(|s| states(s.states) == "RRR")
    });
    world.want(2, &name, S);
    world.pass(HB);
    assert_eq!(world.clients[&2].held[&name].1, "data");
    assert_eq!(world.server(2).counters().grants, 1);
}

/// Lost datagrams delay things and change nothing: every third between servers, and with clients, is lost.
#[test]
fn lost_datagrams_are_borne() {
    let mut world = three(options());
    let count = std::cell::Cell::new(0_u32);
    world.loses = Box::new(move |_, _| {
        count.set(count.get() + 1);
        count.get().is_multiple_of(3)
    });
    for round in 0..5 {
        for server in 0..3 {
            let name = name_of(server, &[R; 3], round);
            world.want(1, &name, X);
            world.pass_until(4 * HB, |world| world.holds(1, &name));
            world.give_back(1, &name, Some("d"));
            world.pass_until(Duration::from_secs(8), |world| !world.holds(1, &name));
        }
    }
}

/// A client that is silent ends, wherever its tokens are; the others get them.
#[test]
fn tokens_of_a_silent_client_are_free_everywhere() {
    let mut world = three(options());
    let names: Vec<String> = (0..3).map(|s| name_of(s, &[R; 3], 0)).collect();
    for name in &names {
        world.want(1, name, X);
    }
    world.pass(HB);
    for name in &names {
        world.want(2, name, X);
    }
    world.clients.remove(&1);
    world.pass(CT / 2);
    assert!(names.iter().all(|name| !world.holds(2, name)));
    world.pass_until(CT, |world| names.iter().all(|name| world.holds(2, name)));
}
