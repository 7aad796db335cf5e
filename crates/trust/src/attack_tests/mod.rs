//! Attacks of a host without a key. The tests try all orders of a few steps, and random orders of many steps.

mod world;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::fuzz_corpus::fuzz_corpus;
use world::{Step, World};

/// The steps of which the test tries each order. Node 0 sends and restarts. The attacker delivers recorded messages of
/// both nodes.
#[derive(Clone, Copy)]
struct Attacks {
    /// Number of steps.
    steps: usize,
    /// Whether the attacker also delivers messages to their senders.
    reflects: bool,
}

/// Tries each order of steps. After each step, checks that the nodes accept each other's messages if the attacker
/// stops.
fn explore(attacks: Attacks, world: &World, path: &mut Vec<Step>, count: &mut u64) {
    *count += 1;
    if path.len() == attacks.steps {
        return;
    }
    let settled = world.clone().settle();
    assert_eq!(settled, Ok(()), "after {path:?}");
    for step in next_steps(attacks, world, path) {
        let mut next = world.clone();
        path.push(step);
        assert_eq!(next.step(step), Ok(()), "{path:?}");
        explore(attacks, &next, path, count);
        path.pop();
    }
}

fn next_steps(attacks: Attacks, world: &World, path: &[Step]) -> Vec<Step> {
    let last = path.last().copied();
    let sends = path.iter().filter(|step| matches!(step, Step::Send { .. }));
    let mut steps: Vec<Step> = (0..world.recorded().len()).map(Step::Deliver).collect();
    if attacks.reflects {
        let records = world.recorded().enumerate();
        steps.extend(
            records.map(|(record, (sender, receiver))| Step::Misdeliver {
                record,
                from: receiver,
                to: sender,
            }),
        );
    }
    if sends.count() < 3 {
        steps.push(Step::Send { from: 0, to: 1 });
    }
    // Two successive steps of this kind have the same effect as one.
    if !matches!(last, None | Some(Step::Restart(0))) {
        steps.push(Step::Restart(0));
    }
    if !matches!(last, None | Some(Step::Restart(_))) {
        steps.push(Step::Restart(1));
    }
    if !matches!(last, None | Some(Step::Wait(_))) {
        // The second time is longer than the lifetime of a nonce, and longer than the maximum age of a message.
        steps.extend([150, 501].map(Step::Wait));
    }
    steps
}

fn number_of_orders(attacks: Attacks) -> u64 {
    let mut count = 0;
    explore(attacks, &World::new(2), &mut Vec::new(), &mut count);
    count
}

#[test]
fn no_order_of_replays_and_restarts_delivers_a_message_wrongly() {
    let count = number_of_orders(Attacks {
        steps: 8,
        reflects: false,
    });
    assert!(count > 100_000, "{count} orders");
}

#[test]
fn no_order_of_reflections_delivers_a_message_wrongly() {
    let count = number_of_orders(Attacks {
        steps: 6,
        reflects: true,
    });
    assert!(count > 10_000, "{count} orders");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_random_attack_delivers_a_message_wrongly(input in vec(any::<u8>(), 3..400)) {
        prop_assert_eq!(World::run(&input), Ok(()));
    }
}

/// Runs the initial inputs of the fuzzer.
#[test]
fn no_attack_of_the_corpus_delivers_a_message_wrongly() {
    for input in fuzz_corpus("signatures") {
        assert_eq!(World::run(&input), Ok(()));
    }
}
