//! Fuzzes the signatures with the steps of an attacker, with any message, and with any key file.

#![no_main]

#[path = "../../../../crates/trust/src/attack_tests/world/mod.rs"]
mod world;

use std::time::Duration;

use ring_trust::{Authenticator, Keyring, Origin, Verdict};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    assert_eq!(world::World::run(input), Ok(()));
    let keyring = Keyring::parse(&format!("7 {}", "00".repeat(32))).expect("a legal key");
    let mut receiver = Authenticator::new(&keyring, false, [1; 32]);
    let verdict = receiver.open(
        Duration::ZERO,
        Duration::ZERO,
        &Origin::of_frame(2_u8),
        input,
    );
    assert!(matches!(verdict, Verdict::Drop(_)), "{verdict:?}");
    if let Ok(text) = std::str::from_utf8(input) {
        let _ = Keyring::parse(text);
    }
});
