//! Tests of the promises in `docs/reference/lab2/promises.md`, in networks whose faults follow from a seed: loss,
//! duplication, reordering, splits, stalls and restarts. After every event, `network` checks the invariants that must
//! always hold. The tests here check the invariants that must hold after the end of the faults.

use std::cmp::Reverse;
use std::ops::Range;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use ring_codec::lab2::{Kind, NO_IP, Token};

use super::network::Network;
use super::node::{NetworkConditions, Node};
use super::notation::{ip, ms};
use crate::lab2::{Command, Constants, Lab2};

/// A fault, or a request.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// Number of frames in 1,000 that are lost or duplicated.
    Lose(u32),
    Double(u32),
    /// Longest delay of a frame, in milliseconds.
    Delay(u64),
    /// Split of the network. Each bit stands for one node, and a set bit puts its node on the second side of the split.
    Part(u8),
    Stop(u8),
    GoOn(u8),
    Kill(u8),
    Restart(u8),
    JobAction(u8),
    Done(u8),
    /// The link refuses the node's frames, or accepts them again.
    Refuse(u8),
    Accept(u8),
    /// Index of a node, and the last byte of its new IP address. 0 means no address.
    Move(u8, u8),
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        (0..400_u32).prop_map(Fault::Lose),
        (0..300_u32).prop_map(Fault::Double),
        (1..20_u64).prop_map(Fault::Delay),
        any::<u8>().prop_map(Fault::Part),
        any::<u8>().prop_map(Fault::Stop),
        any::<u8>().prop_map(Fault::GoOn),
        any::<u8>().prop_map(Fault::Kill),
        any::<u8>().prop_map(Fault::Restart),
        any::<u8>().prop_map(Fault::JobAction),
        any::<u8>().prop_map(Fault::Done),
        any::<u8>().prop_map(Fault::Refuse),
        any::<u8>().prop_map(Fault::Accept),
        any::<(u8, u8)>().prop_map(|(n, to)| Fault::Move(n, to)),
    ]
}

/// A ring and its faults. The number of each fault is the time between the previous fault and this fault, in
/// milliseconds.
#[derive(Debug, Clone)]
struct Scenario {
    nodes: u8,
    seed: u64,
    idle_hold: Duration,
    faults: Vec<(u64, Fault)>,
    /// Whether killed nodes stay dead.
    dead_stay: bool,
}

fn scenario(nodes: Range<u8>) -> impl Strategy<Value = Scenario> {
    let idle_hold = prop_oneof![1 => Just(ms(0)), 2 => Just(ms(1)), 4 => Just(ms(10))];
    let faults = prop::collection::vec((0..300_u64, fault()), 0..14);
    (nodes, any::<u64>(), idle_hold, faults, any::<bool>()).prop_map(
        |(nodes, seed, idle_hold, faults, dead_stay)| Scenario {
            nodes,
            seed,
            idle_hold,
            faults,
            dead_stay,
        },
    )
}

fn apply(network: &mut Network, fault: Fault) {
    let count = network.nodes.len();
    let at = |n: u8| usize::from(n) % count;
    match fault {
        Fault::Lose(of_1000) => network.conditions.lost = of_1000,
        Fault::Double(of_1000) => network.conditions.doubled = of_1000,
        Fault::Delay(millis) => network.conditions.delay = ms(millis),
        Fault::Part(islands) => {
            for (n, node) in network.nodes.iter_mut().enumerate() {
                node.island = islands >> (n % 8) & 1 == 1;
            }
        }
        Fault::Stop(n) => network.stall(at(n)),
        Fault::GoOn(n) => network.resume(at(n)),
        Fault::Kill(n) => network.kill(at(n)),
        Fault::Restart(n) => network.restart(at(n)),
        Fault::JobAction(n) => network.command(at(n), Command::WantToken),
        Fault::Done(n) => network.command(at(n), Command::WorkDone),
        Fault::Refuse(n) => network.nodes[at(n)].refused = true,
        Fault::Accept(n) => network.nodes[at(n)].refused = false,
        Fault::Move(n, 0) => network.change_ip(at(n), NO_IP),
        Fault::Move(n, to) => network.change_ip(at(n), ip(to)),
    }
}

/// Runs a scenario. Returns the network after the last fault.
fn run_scenario(scenario: &Scenario) -> Network {
    let constants = Constants {
        idle_hold: scenario.idle_hold,
        ..Constants::default()
    };
    let mut network = Network::new(scenario.nodes, constants, scenario.seed);
    for &(after, fault) in &scenario.faults {
        network.run(ms(after));
        apply(&mut network, fault);
    }
    network.conditions = NetworkConditions::CLEAR;
    for node in &mut network.nodes {
        node.island = false;
        node.refused = false;
    }
    for at in 0..network.nodes.len() {
        network.resume(at);
        if !scenario.dead_stay || network.nodes[0].machine.is_none() {
            network.restart(at);
        }
    }
    network
}

/// Returns the longest time that invariant 2 allows until there is exactly one owner.
fn time_to_settle(constants: &Constants, nodes: usize) -> Duration {
    let hand_over = constants.idle_hold + constants.handover_timeout();
    constants.waiter_timeout()
        + 2 * constants.looser_timeout()
        + 2 * constants.looser_answer_timeout()
        + hand_over * u32::try_from(nodes).expect("few")
}

/// Checks that exactly one node may use the token. All other owners offered the token and wait for the answer.
fn assert_one_owner(network: &Network) {
    let users = network.owners().filter(|node| node.may_use_token()).count();
    assert!(
        users <= 1,
        "{users} nodes may use the token:\n{}",
        network.trace()
    );
    let mut held = network.owners().filter_map(Node::token);
    let Some(first) = held.next() else {
        panic!("no node holds the token:\n{}", network.trace());
    };
    let one_chain = held.all(|token| token.same_chain(&first));
    assert!(one_chain, "several chains:\n{}", network.trace());
}

/// Checks invariants 2 and 5, after the faults.
fn assert_recovers(scenario: &Scenario) {
    let mut network = run_scenario(scenario);
    let constants = Constants {
        idle_hold: scenario.idle_hold,
        ..Constants::default()
    };
    network.run(time_to_settle(&constants, network.nodes.len()));
    network.run_checking(ms(400), assert_one_owner);
    network.run(ms(600));
    let mut digests = network.live().map(Lab2::digest);
    let first = digests.next().expect("a node runs");
    let equal = digests.all(|digest| digest == first);
    assert!(equal, "tables differ:\n{}", network.trace());
}

/// Checks invariant 4: the owner dies in an undisturbed ring.
fn assert_replaced(nodes: u8, seed: u64, idle_hold: Duration) {
    let constants = Constants {
        idle_hold,
        ..Constants::default()
    };
    let limit = constants.waiter_timeout()
        + constants.looser_timeout()
        + 2 * constants.looser_answer_timeout();
    let mut network = Network::new(nodes, constants, seed);
    network.run(ms(1_000 + seed % 500));
    let strength = |node: &Node| node.token().map(|token| Reverse(token.priority()));
    let owner = (0..network.nodes.len()).max_by_key(|&at| strength(&network.nodes[at]));
    network.kill(owner.expect("a ring"));
    let before = network.broadcasts;
    // A node that was offering the token to the dead owner keeps the token.
    let frames_under_way = ms(1);
    network.run_until(limit + frames_under_way, |network| {
        network.owners().count() > 0
    });
    for kind in [Kind::WhereIsToken, Kind::GeneratingToken, Kind::TokenIsHere] {
        let cost = network.broadcasts_of(kind) - before[kind as usize];
        assert!(
            cost <= 3 * usize::from(nodes.min(10)),
            "{cost} {kind}:\n{}",
            network.trace()
        );
    }
}

/// Returns a configuration that always runs the same few networks. If the environment variable PROPTEST_CASES is set,
/// it decides the number of networks.
fn config(cases: u32) -> Config {
    let given = Config {
        failure_persistence: None,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return given;
    }
    Config {
        cases,
        rng_seed: RngSeed::Fixed(0x1ab2),
        ..given
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn invariants_1_2_5_6_and_7_hold_through_faults_of_all_kinds(scenario in scenario(2..7)) {
        assert_recovers(&scenario);
    }
}

proptest! {
    #![proptest_config(config(12))]

    #[test]
    fn invariants_hold_in_large_rings(scenario in scenario(10..16)) {
        assert_recovers(&scenario);
    }

    #[test]
    fn invariant_4_holds_in_large_rings_at_the_same_cost(
        nodes in 12..40_u8,
        seed in any::<u64>(),
    ) {
        assert_replaced(nodes, seed, ms(10));
    }
}

proptest! {
    #![proptest_config(config(50))]

    #[test]
    fn invariant_4_a_dead_owner_is_replaced_in_time_at_a_cost_of_n_broadcasts(
        nodes in 2..12_u8,
        seed in any::<u64>(),
    ) {
        assert_replaced(nodes, seed, ms(10));
    }
}

/// The stronger token dies with n2 on one side of a split. n1 knows the stronger token, and has a penalty when the
/// split heals. Because of the penalty, the weaker token would reach n1 only much later. Then n1 would refuse the
/// weaker token, and the token would be lost. Instead, n1 objects as soon as it hears of the weaker token.
#[test]
fn a_token_weaker_than_a_members_known_one_is_replaced_before_it_arrives() {
    use Fault::{GoOn, Kill, Part, Stop};
    let scenario = |seed| Scenario {
        nodes: 4,
        seed,
        idle_hold: ms(10),
        faults: vec![
            (89, Stop(0)),
            (582, Part(12)),
            (133, GoOn(1)),
            (399, GoOn(0)),
            (205, Kill(0)),
            (265, Kill(1)),
            (300, Part(12)),
        ],
        dead_stay: true,
    };
    let mut met = 0;
    for scenario in (0..40).map(scenario) {
        assert_recovers(&scenario);
        let mut network = run_scenario(&scenario);
        let known = network.nodes[0].durable.known;
        let held: Vec<_> = network.owners().filter_map(Node::token).collect();
        let &[old] = held.as_slice() else { continue };
        let outgrown = |known: Token| known.is_stronger_than(&old) && !known.same_chain(&old);
        if !known.is_some_and(outgrown) {
            continue;
        }
        met += 1;
        let elections = network.broadcasts_of(Kind::GeneratingToken);
        network.run(ms(2_000));
        assert_eq!(network.broadcasts_of(Kind::GeneratingToken), elections);
        let mut held = network.owners().filter_map(Node::token);
        let replaced = held.all(|token| token.is_stronger_than(&old) && !token.same_chain(&old));
        assert!(replaced, "{}", network.trace());
    }
    assert!(met > 0, "no seed makes such a ring");
}
