//! Tests that the code computes the results of the vectors in `docs/reference/trust.md`.

use crate::streams::{SecureStream, StreamKeys, preface};
use crate::vector_tests::{bytes, hex, keyring, vectors};

#[test]
fn the_key_of_streams_is_derived_as_on_the_page() {
    let vectors = vectors();
    let (context, expected) = &vectors["derived-stream"];
    assert_eq!(context, StreamKeys::CONTEXT.as_bytes());
    let keys = StreamKeys::new(&keyring(&vectors), false);
    let (_, key) = keys.first().expect("a key");
    assert_eq!(&hex(key), expected);
}

#[test]
fn a_prologue_is_as_on_the_page() {
    let vectors = vectors();
    let (input, expected) = &vectors["prologue"];
    let id = keyring(&vectors).signing_id().get();
    let ends = super::pair::ends();
    assert_eq!(ends.prologue(preface::write(id)), *input);
    assert_eq!(blake3::hash(input).to_hex().as_str(), expected);
}

/// The page contains the seeds of both sides, and the bytes that both sides send.
#[test]
fn a_stream_is_as_on_the_page() {
    let vectors = vectors();
    let keys = StreamKeys::new(&keyring(&vectors), false);
    let ends = super::pair::ends();
    let mut initiator = SecureStream::initiator(&keys, &ends, [1; 32]);
    let mut responder = SecureStream::responder(ends, [2; 32]);
    let check = |stream: &mut SecureStream, name: &str| {
        let (start, rest) = &vectors[name];
        let expected = [&start[..], &bytes(rest)].concat();
        assert_eq!(hex(stream.output()), hex(&expected), "{name}");
        stream.advance(expected.len());
        expected
    };
    let question = check(&mut initiator, "stream-question");
    responder.receive(&keys, &question).expect("a question");
    let answer = check(&mut responder, "stream-answer");
    initiator.receive(&keys, &answer).expect("an answer");
    initiator.seal(b"hi");
    initiator.seal_end();
    let records = check(&mut initiator, "stream-records");
    responder.receive(&keys, &records).expect("records");
    let mut data = [0; 9];
    assert_eq!(responder.read(&mut data), 2);
    assert!(data.starts_with(b"hi") && responder.has_ended());
}
