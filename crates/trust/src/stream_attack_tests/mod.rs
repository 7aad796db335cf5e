//! Random attacks of a host without a key on the bytes of a stream.
#![expect(clippy::disallowed_methods, reason = "the test reads a corpus")]

mod world;

use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;

use world::World;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_random_attack_changes_the_data_of_a_stream(input in vec(any::<u8>(), 1..300)) {
        prop_assert_eq!(World::run(&input), Ok(()));
    }
}

/// The inputs with which the fuzzer begins.
#[test]
fn no_attack_of_the_corpus_changes_the_data_of_a_stream() {
    let corpus =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machine/fuzz/corpus/streams");
    let files = fs::read_dir(corpus).expect("the corpus is there");
    let inputs = files.map(|file| fs::read(file.expect("a file").path()).expect("a file"));
    let count = inputs
        .map(|input| assert_eq!(World::run(&input), Ok(())))
        .count();
    assert!(count > 2, "{count} inputs");
}
