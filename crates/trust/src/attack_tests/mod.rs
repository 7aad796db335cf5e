//! Attacks of a host without a key, in every order up to a bound, and in random orders.
#![expect(clippy::disallowed_methods, reason = "the test reads a corpus")]

mod world;

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use world::{Step, World};

/// Number of steps of which each order is tried.
const STEPS: usize = 8;

/// Tries each order of steps. Node 0 sends and restarts, and the attacker delivers recorded messages of both nodes.
fn explore(world: &World, path: &mut Vec<Step>, count: &mut u64) {
    *count += 1;
    if path.len() == STEPS {
        return;
    }
    let settled = world.clone().settle();
    assert_eq!(settled, Ok(()), "after {path:?}");
    let last = path.last().copied();
    let sends = path
        .iter()
        .filter(|step| matches!(step, Step::Send(_)))
        .count();
    let mut steps: Vec<Step> = (0..world.recorded_len()).map(Step::Deliver).collect();
    if sends < 3 {
        steps.push(Step::Send(0));
    }
    // Two such steps after each other have the effect of one.
    if !matches!(last, None | Some(Step::Restart(0))) {
        steps.push(Step::Restart(0));
    }
    if !matches!(last, None | Some(Step::Restart(_))) {
        steps.push(Step::Restart(1));
    }
    if !matches!(last, None | Some(Step::Wait(_))) {
        // The second time is longer than the life of a nonce and the age of a message.
        steps.extend([150, 501].map(Step::Wait));
    }
    for step in steps {
        let mut next = world.clone();
        path.push(step);
        assert_eq!(next.step(step), Ok(()), "{path:?}");
        explore(&next, path, count);
        path.pop();
    }
}

#[test]
fn no_order_of_replays_and_restarts_delivers_a_message_wrongly() {
    let mut count = 0;
    explore(&World::new(), &mut Vec::new(), &mut count);
    assert!(count > 100_000, "{count} orders");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_random_attack_delivers_a_message_wrongly(input in vec(any::<u8>(), 3..400)) {
        prop_assert_eq!(World::new().run(&input), Ok(()));
    }
}

/// The inputs with which the fuzzer begins.
#[test]
fn no_attack_of_the_corpus_delivers_a_message_wrongly() {
    let corpus =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machine/fuzz/corpus/signatures");
    let files = fs::read_dir(corpus).expect("the corpus is there");
    let inputs = files.map(|file| fs::read(file.expect("a file").path()).expect("a file"));
    let count = inputs
        .map(|input| assert_eq!(World::new().run(&input), Ok(())))
        .count();
    assert!(count > 2, "{count} inputs");
}
