//! Random attacks of a host without a key on the bytes of a stream.

mod world;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::fuzz_corpus::fuzz_corpus;
use world::World;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_random_attack_changes_the_data_of_a_stream(input in vec(any::<u8>(), 1..300)) {
        prop_assert_eq!(World::run(&input), Ok(()));
    }
}

/// Runs the initial inputs of the fuzzer.
#[test]
fn no_attack_of_the_corpus_changes_the_data_of_a_stream() {
    for input in fuzz_corpus("streams") {
        assert_eq!(World::run(&input), Ok(()));
    }
}
