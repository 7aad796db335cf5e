//! Runs one state machine of each system through random scripts, and checks it with a small oracle.

mod checks;
mod ftn;
mod jitterbug;
mod script;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};

/// Runs the scripts that fuzzing has stored, including every script that ever failed.
fn run_corpus(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machine/fuzz/corpus");
    let mut count = 0;
    for entry in fs::read_dir(corpus.join(target)).expect("a corpus") {
        let path = entry.expect("an entry").path();
        println!("{}", path.display());
        run(&fs::read(path).expect("a file"));
        count += 1;
    }
    assert!(count > 50, "the corpus has only {count} inputs");
}

#[test]
fn the_corpus_passes() {
    run_corpus("machine", checks::run);
}

#[test]
fn the_corpus_of_servers_of_the_token_service_passes() {
    run_corpus("ftn_server", ftn::run_server);
}

#[test]
fn the_corpus_of_clients_of_the_token_service_passes() {
    run_corpus("ftn_client", ftn::run_client);
}

#[test]
fn the_corpus_of_nodes_of_jitterbug_passes() {
    run_corpus("jitterbug_node", jitterbug::run);
}

/// Returns a configuration that always runs the same scripts, unless the environment variables request more scripts.
fn config() -> Config {
    let given = Config {
        failure_persistence: None,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return given;
    }
    Config {
        cases: 2_000,
        rng_seed: RngSeed::Fixed(0x1ab2),
        ..given
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_scripts_pass(script in prop::collection::vec(any::<u8>(), 0..1_500)) {
        checks::run(&script);
    }

    #[test]
    fn random_scripts_pass_at_a_server_of_the_token_service(
        script in prop::collection::vec(any::<u8>(), 0..1_500)
    ) {
        ftn::run_server(&script);
    }

    #[test]
    fn random_scripts_pass_at_a_client_of_the_token_service(
        script in prop::collection::vec(any::<u8>(), 0..1_500)
    ) {
        ftn::run_client(&script);
    }

    #[test]
    fn random_scripts_pass_at_a_node_of_jitterbug(
        script in prop::collection::vec(any::<u8>(), 0..1_500)
    ) {
        jitterbug::run(&script);
    }
}
