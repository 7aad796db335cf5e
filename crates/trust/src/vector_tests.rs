//! Tests that the code computes the results of the vectors in `docs/reference/trust.md`.
#![expect(clippy::disallowed_methods, reason = "the test reads the page")]

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use zerocopy::FromBytes;

use crate::mac::{MAC_LEN, MacKeys};
use crate::trailer::{Kind, Trailer};
use crate::{Authenticator, DropReason, Keyring, NONCE_LEN, Origin, PseudoHeader, Verdict};

pub(crate) fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|it| !it.is_whitespace()).collect();
    let byte = |pair: &[char]| u8::from_str_radix(&String::from_iter(pair), 16);
    digits
        .chunks(2)
        .map(|pair| byte(pair).expect("a byte"))
        .collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
    digits.collect()
}

/// Returns the input and the result of each vector, by its name.
pub(crate) fn vectors() -> BTreeMap<String, (Vec<u8>, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/trust.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let blocks = page.split("```text vector/trust/").skip(1).map(|block| {
        let (name, rest) = block.split_once('\n').expect("a name");
        let (body, _) = rest.split_once("```").expect("an end");
        let (lines, result) = body.split_once("= ").expect("a result");
        let input = lines
            .lines()
            .flat_map(|line| bytes(line.split(';').next().unwrap_or_default()));
        (name.to_owned(), (input.collect(), result.trim().to_owned()))
    });
    blocks.collect()
}

pub(crate) fn keyring(vectors: &BTreeMap<String, (Vec<u8>, String)>) -> Keyring {
    let (key, id) = &vectors["key"];
    Keyring::parse(&format!("{id} {}", hex(key))).expect("a legal key")
}

#[test]
fn keys_are_derived_as_on_the_page() {
    let vectors = vectors();
    let keyring = keyring(&vectors);
    for name in [
        "derived-message",
        "derived-challenge",
        "derived-answer",
        "derived-message-to-all",
    ] {
        let (context, expected) = &vectors[name];
        let context = std::str::from_utf8(context).expect("ASCII");
        assert_eq!(
            &hex(&keyring.keys()[0].derive(context)[..]),
            expected,
            "{name}"
        );
    }
}

#[test]
fn messages_have_the_macs_of_the_page() {
    let vectors = vectors();
    let keyring = keyring(&vectors);
    let keys = MacKeys::new(&keyring.keys()[0]);
    for (name, kind) in [
        ("message", Kind::Message),
        ("challenge", Kind::Challenge),
        ("answer", Kind::Answer),
        ("datagram", Kind::Message),
        ("datagram-to-all", Kind::MessageToAll),
    ] {
        let (input, expected) = &vectors[name];
        let signed = [&input[..], &[0; MAC_LEN]].concat();
        let mac = keys.sign(kind, &[], Trailer::covered(&signed));
        assert_eq!(&hex(&mac), expected, "{name}");
        let (_, trailer) = Trailer::ref_from_suffix(&signed).expect("long enough");
        let id = keyring.signing_id().get();
        let (boot, counter) = (trailer.boot(), trailer.counter());
        let time = Duration::from_millis(trailer.time().into());
        assert_eq!(
            *trailer,
            Trailer::new(kind, id, boot, counter, time),
            "{name}"
        );
    }
}

/// Checks that a sender makes the pseudo-headers of the page.
#[test]
fn datagrams_are_signed_as_on_the_page() {
    let vectors = vectors();
    let keys = MacKeys::new(&keyring(&vectors).keys()[0]);
    let [from, to] = [([192, 0, 2, 1], 4000), ([192, 0, 2, 2], 4001)].map(SocketAddr::from);
    for (name, kind, header, len) in [
        ("datagram", Kind::Message, PseudoHeader::new(from, to), 36),
        (
            "datagram-to-all",
            Kind::MessageToAll,
            PseudoHeader::to_all(from),
            18,
        ),
    ] {
        let (input, expected) = &vectors[name];
        let signed = [&input[len..], &[0; MAC_LEN]].concat();
        let addresses = header.covered(kind).expect("a datagram");
        assert_eq!(addresses, &input[..len], "{name}");
        let mac = keys.sign(kind, addresses, Trailer::covered(&signed));
        assert_eq!(&hex(&mac), expected, "{name}");
    }
}

/// Checks that a receiver understands the frames of the page. The answer has an unknown nonce.
#[test]
fn a_receiver_knows_the_messages_of_the_page() {
    let vectors = vectors();
    let mut receiver = Authenticator::new(&keyring(&vectors), false, [1; 32]);
    let mut open = |name: &str| {
        let (input, mac) = &vectors[name];
        let signed = [&input[..], &bytes(mac)].concat();
        let sender: [u8; 6] = signed[6..12].try_into().expect("six bytes");
        receiver.open(
            Duration::ZERO,
            Duration::ZERO,
            &Origin::of_frame(sender),
            &signed,
        )
    };
    assert_eq!(open("message"), Verdict::Drop(DropReason::Unproven));
    assert_eq!(open("challenge"), Verdict::Consume);
    assert_eq!(open("answer"), Verdict::Drop(DropReason::Stale));
    let mut buffer = [0; 100];
    let mut nonces = Vec::new();
    while receiver
        .poll_transmit(Duration::ZERO, &mut buffer, |_, _| (0, PseudoHeader::FRAME))
        .is_some()
    {
        nonces.push(buffer[..NONCE_LEN].to_vec());
    }
    // There are two challenges, and the answer to the challenge of the page.
    assert_eq!(nonces.len(), 3);
    assert_eq!(nonces[2], vectors["challenge"].0[14..][..NONCE_LEN]);
}
