//! Fuzzes encrypted streams with the steps of an attacker, and with any bytes in pieces of any length.

#![no_main]

#[path = "../../../../crates/trust/src/stream_attack_tests/world/mod.rs"]
mod world;

use ring_trust::{Keyring, SecureStream, StreamEnds, StreamKeys, StreamState};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    assert_eq!(world::World::run(input), Ok(()));
    let Some((&piece_len, bytes)) = input.split_first() else {
        return;
    };
    let keyring = Keyring::parse(&format!("7 {}", "00".repeat(32))).expect("a legal key");
    let keys = StreamKeys::new(&keyring, false);
    let ends = StreamEnds {
        system: "fuzz",
        initiator: ([192, 0, 2, 1], 1).into(),
        responder: ([192, 0, 2, 2], 2).into(),
    };
    for mut stream in [
        SecureStream::initiator(&keys, &ends, [1; 32]),
        SecureStream::responder(ends, [2; 32]),
    ] {
        for piece in bytes.chunks(usize::from(piece_len).max(1)) {
            let _ = stream.receive(&keys, piece);
            let state = stream.state();
            assert!(!matches!(
                state,
                StreamState::Plain | StreamState::Encrypted
            ));
            assert_eq!(stream.read(&mut [0]), 0);
            assert!(!stream.has_ended());
        }
    }
});
