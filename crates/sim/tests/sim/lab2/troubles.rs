//! Each assumption that a node can check is broken here. The node reports it, and later its end.

use std::time::Duration;

use ring_proto::lab2::{Constants, Lab2, Trouble};
use ring_sim::lab2::{Fault, World};

const MS: Duration = Duration::from_millis(1);

fn ring(nodes: usize) -> World<Lab2> {
    ring_with(nodes, Constants::default())
}

fn ring_with(nodes: usize, constants: Constants) -> World<Lab2> {
    let mut world = World::<Lab2>::new(nodes, constants, 1);
    world.start_all();
    world.run(3_000 * MS);
    world
}

/// Whether a node reports such a diagnostic.
fn tells(world: &World<Lab2>, at: usize, such: fn(&Trouble) -> bool) -> bool {
    let machine = world.machine(at).expect("it runs");
    machine.troubles().any(|trouble| such(&trouble))
}

fn all_tell(
    world: &World<Lab2>,
    nodes: impl IntoIterator<Item = usize>,
    such: fn(&Trouble) -> bool,
) {
    for at in nodes {
        assert!(tells(world, at, such), "n{at}");
    }
}

/// Applies a fault, and runs for so many milliseconds.
fn after(world: &mut World<Lab2>, fault: &Fault, ms: u32) {
    world.act(fault);
    world.run(ms * MS);
}

/// Makes node 0 want the token for some work.
fn want(world: &mut World<Lab2>, work_us: u64) {
    world.act(&Fault::Want {
        node: 0,
        work_us,
        quorum: false,
    });
}

fn is_quiet(world: &World<Lab2>) -> bool {
    world.live().all(|at| !tells(world, at, |_| true))
}

#[test]
fn a_deaf_member_is_told_of_by_all_that_hear_it() {
    let mut world = ring(4);
    assert!(is_quiet(&world));
    let deaf = |deaf| Fault::Deaf { node: 2, deaf };
    after(&mut world, &deaf(true), 3_000);
    all_tell(&world, [0, 1, 3], |it| {
        matches!(it, Trouble::MemberDeaf { .. })
    });
    after(&mut world, &deaf(false), 2_000);
    assert!(is_quiet(&world));
}

#[test]
fn an_owner_that_one_member_does_not_hear_is_told_of_by_that_one() {
    let mut world = ring(4);
    want(&mut world, 60_000_000);
    world.run(1_000 * MS);
    after(&mut world, &Fault::Cut { from: 0, to: 2 }, 5_000);
    let such = |it: &Trouble| matches!(it, Trouble::OwnerUnheard { .. });
    let told: Vec<_> = (0..4).filter(|&at| tells(&world, at, such)).collect();
    assert_eq!((told, world.owner()), (vec![2], Some(0)));
    after(&mut world, &Fault::Mend { from: 0, to: 2 }, 1_000);
    assert!(is_quiet(&world));
}

#[test]
fn answers_that_take_longer_than_offers_last_are_told_of() {
    let mut world = ring(3);
    let by_us = 20_000;
    let jitter_us = 0;
    after(&mut world, &Fault::Delay { by_us, jitter_us }, 2_000);
    let such = |it: &Trouble| matches!(it, Trouble::AnswerLate { .. });
    assert!(world.live().any(|at| tells(&world, at, such)));
}

/// Its acknowledgements leave when their givers may have re-created the token.
#[test]
fn a_member_that_is_too_slow_to_say_in_time_that_it_took_the_token_tells_of_itself() {
    let mut world = ring(3);
    let slow = |turn_us| Fault::Slow { node: 1, turn_us };
    let such = |it: &Trouble| matches!(it, Trouble::TakenLate { .. });
    after(&mut world, &slow(2_000), 2_000);
    assert!(is_quiet(&world), "slow, and in time");
    after(&mut world, &slow(8_000), 2_000);
    assert!(tells(&world, 1, such));
    assert!(![0, 2].iter().any(|&at| tells(&world, at, such)));
}

/// The parts of their tables are longer than the network carries.
#[test]
fn tables_that_cannot_become_equal_are_told_of() {
    let mut world = ring(4);
    world.kill(3);
    let (first, count, spoke) = (0, 100, false);
    let dead = Fault::Dead {
        first,
        count,
        spoke,
    };
    after(&mut world, &dead, 2_000);
    world.act(&Fault::Narrow { mtu: 300 });
    world.start(3);
    world.run(30_000 * MS);
    assert!(tells(&world, 3, |it| matches!(
        it,
        Trouble::TablesDiffer { .. }
    )));
    after(&mut world, &Fault::Narrow { mtu: 1_500 }, 5_000);
    // The dead stations are still members.
    let mends = |it: &Trouble| !matches!(it, Trouble::NoQuorum { .. });
    assert!(!world.live().any(|at| tells(&world, at, mends)));
    assert!(world.common_digest().is_some());
}

#[test]
fn a_node_that_can_send_nothing_tells_of_itself() {
    let mut world = ring(4);
    let refuse = |of_1000| Fault::Refuse { node: 2, of_1000 };
    let such = |it: &Trouble| matches!(it, Trouble::CannotSend);
    after(&mut world, &refuse(500), 2_000);
    assert!(!tells(&world, 2, such), "some frames leave");
    after(&mut world, &refuse(1_000), 2_000);
    assert!(tells(&world, 2, such));
    after(&mut world, &refuse(0), 2_000);
    // Diagnostics of a moment are remembered.
    let lasts = |it: &Trouble| !matches!(it, Trouble::TakenLate { .. });
    assert!(world.live().all(|at| !tells(&world, at, lasts)));
}

#[test]
fn a_node_that_no_broadcast_reaches_tells_of_itself_and_is_named_by_the_others() {
    let mut world = ring(4);
    let lose = |lost| Fault::Broadcast { node: 2, lost };
    world.act(&lose(true));
    // Its own tenures do not count. In this time each member broadcasts something.
    world.run(16_000 * MS);
    assert!(tells(&world, 2, |it| matches!(
        it,
        Trouble::BroadcastsUnheard
    )));
    all_tell(&world, [0, 1, 3], |it| {
        matches!(it, Trouble::MemberUnreached { .. })
    });
    after(&mut world, &lose(false), 2_000);
    assert!(is_quiet(&world));
}

#[test]
fn a_member_whose_times_are_far_from_the_rings_is_told_of_by_all() {
    for percent in [1, 10_000] {
        let mut world = ring(4);
        let (node, expect) = (2, None);
        let start = |percent| Fault::Constants {
            node,
            percent,
            expect,
        };
        after(&mut world, &start(percent), 3_000);
        all_tell(&world, 0..4, |it| matches!(it, Trouble::Apart { .. }));
        after(&mut world, &start(100), 2_000);
        assert!(is_quiet(&world));
    }
}

#[test]
fn a_ring_in_which_no_quorum_is_possible_says_so() {
    let constants = Constants {
        expect: Some(4),
        ..Constants::default()
    };
    let mut world = ring_with(4, constants);
    assert!(is_quiet(&world));
    world.kill(2);
    world.kill(3);
    world.run(15_000 * MS);
    all_tell(
        &world,
        [0, 1],
        |it| matches!(it, Trouble::NoQuorum { present: 2, silent, .. } if silent.count() == 2),
    );
    world.start(3);
    world.run(2_000 * MS);
    let such = |it: &Trouble| matches!(it, Trouble::NoQuorum { .. });
    assert!(!world.live().any(|at| tells(&world, at, such)));
}

#[test]
fn an_interface_that_no_promise_fits_is_told_of_by_all() {
    let mut world = ring(4);
    let set = |mtu| Fault::Mtu { node: 2, mtu };
    after(&mut world, &set(68), 3_000);
    all_tell(&world, 0..4, |it| matches!(it, Trouble::MtuTooSmall { .. }));
    after(&mut world, &set(1_500), 3_000);
    assert!(is_quiet(&world));
}

/// It receives an answer now and then. It must not stand for election while there is an owner, even if it is late.
#[test]
fn a_node_that_no_broadcast_reaches_destroys_nobodys_token() {
    let constants = Constants {
        idle_hold: ring_proto::lab2::FOREVER,
        ..Constants::default()
    };
    let mut world = ring_with(4, constants);
    let owner = world.owner().expect("there is one");
    let node = (owner + 2) % 4;
    let before = world.stats().counters.elections;
    let lost = true;
    world.act(&Fault::Broadcast { node, lost });
    for _ in 0..40 {
        // Each stall makes it late by more than a heartbeat.
        after(&mut world, &Fault::Pause { node }, 230);
        after(&mut world, &Fault::Resume { node }, 370);
    }
    assert_eq!(world.stats().counters.elections, before);
    assert_eq!((world.owner(), world.violations()), (Some(owner), &[][..]));
}

/// The two take each other's frames for their own. The others name them by their IPs.
#[test]
fn an_address_of_two_stations_is_told_of_by_both_and_by_others() {
    let mut world = ring(4);
    after(&mut world, &Fault::Twin { node: 3, of: 2 }, 3_000);
    all_tell(&world, 0..4, |it| {
        matches!(it, Trouble::AddressShared { .. })
    });
}

#[test]
fn a_wrong_clock_is_told_of_where_it_is_and_where_its_token_comes() {
    let mut world = ring(3);
    let owner = world.owner().expect("a ring has one");
    let others: Vec<usize> = (0..3).filter(|&at| at != owner).collect();
    let [wrong, right] = others[..] else {
        unreachable!("three nodes, one of them the owner")
    };
    let by_us = 90 * 24 * 60 * 60 * 1_000_000;
    world.act(&Fault::Wall { node: wrong, by_us });
    // No other node can be the next owner.
    world.kill(owner);
    world.kill(right);
    world.run(3_000 * MS);
    assert_eq!(world.owner(), Some(wrong));
    let such = |it: &Trouble| matches!(it, Trouble::ClockAhead { .. });
    assert!(tells(&world, wrong, such));
    world.start(right);
    world.run(2_000 * MS);
    let such = |it: &Trouble| matches!(it, Trouble::TokenAhead { .. });
    assert!(tells(&world, right, such) && !tells(&world, wrong, such));
}

#[test]
fn data_that_give_way_are_told_of() {
    let mut world = ring(3);
    world.act(&Fault::Data {
        node: 0,
        len: 1_000,
    });
    want(&mut world, 1_000);
    world.run(1_000 * MS);
    after(&mut world, &Fault::Mtu { node: 2, mtu: 576 }, 2_000);
    let such = |it: &Trouble| matches!(it, Trouble::DataDropped { .. });
    assert!(world.live().any(|at| tells(&world, at, such)));
}

#[test]
fn a_mute_node_learns_from_the_others_that_they_do_not_hear_it() {
    let mut world = ring(4);
    let others = [0, 1, 3];
    for to in others {
        world.act(&Fault::Cut { from: 2, to });
    }
    world.run(20_000 * MS);
    let by_all = |it: &Trouble| matches!(it, Trouble::Unheard { by } if by.count() == 3);
    let by_any = |it: &Trouble| matches!(it, Trouble::Unheard { .. });
    assert!(tells(&world, 2, by_all));
    assert!(!others.iter().any(|&at| tells(&world, at, by_any)));
    for to in others {
        world.act(&Fault::Mend { from: 2, to });
    }
    world.run(5_000 * MS);
    assert!(is_quiet(&world));
}

/// This `match` fails to compile until a new diagnostic has a test.
const fn broken_by(trouble: &Trouble) -> &'static str {
    match trouble {
        Trouble::MemberDeaf { .. } => "a_deaf_member_is_told_of_by_all_that_hear_it",
        Trouble::AnswerLate { .. } => "answers_that_take_longer_than_offers_last_are_told_of",
        Trouble::OwnerUnheard { .. } => {
            "an_owner_that_one_member_does_not_hear_is_told_of_by_that_one"
        }
        Trouble::TablesDiffer { .. } => "tables_that_cannot_become_equal_are_told_of",
        Trouble::CannotSend => "a_node_that_can_send_nothing_tells_of_itself",
        Trouble::AddressShared { .. } => {
            "an_address_of_two_stations_is_told_of_by_both_and_by_others"
        }
        Trouble::TokenAhead { .. } | Trouble::ClockAhead { .. } => {
            "a_wrong_clock_is_told_of_where_it_is_and_where_its_token_comes"
        }
        Trouble::DataDropped { .. } => "data_that_give_way_are_told_of",
        Trouble::BroadcastsUnheard | Trouble::MemberUnreached { .. } => {
            "a_node_that_no_broadcast_reaches_tells_of_itself_and_is_named_by_the_others"
        }
        Trouble::MtuTooSmall { .. } => "an_interface_that_no_promise_fits_is_told_of_by_all",
        Trouble::TakenLate { .. } => {
            "a_member_that_is_too_slow_to_say_in_time_that_it_took_the_token_tells_of_itself"
        }
        Trouble::Apart { .. } => "a_member_whose_times_are_far_from_the_rings_is_told_of_by_all",
        Trouble::NoQuorum { .. } => "a_ring_in_which_no_quorum_is_possible_says_so",
        Trouble::Unheard { .. } => "a_mute_node_learns_from_the_others_that_they_do_not_hear_it",
    }
}

#[test]
fn each_trouble_is_broken_by_a_test_of_this_file() {
    let file = include_str!("troubles.rs");
    let (tests, list) = file.split_once("const fn broken_by").expect("the list");
    let (list, _) = list.split_once("#[test]").expect("its end");
    assert!(list.contains(broken_by(&Trouble::CannotSend)));
    for name in list.split('"').skip(1).step_by(2) {
        let declared = format!("#[test]\nfn {name}()");
        assert!(tests.contains(&declared), "{name} is gone");
    }
}
