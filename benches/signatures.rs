//! Benchmark of signing and verifying frames, without system calls.
//!
//! `cargo bench --bench signatures [FILTER]`

use std::hint::black_box;
use std::time::Duration;

use criterion::Criterion;
use ring_trust::{Authenticator, Destination, Keyring, Origin, PseudoHeader, TRAILER_LEN, Verdict};

/// Lengths of a TAKE_TOKEN without data, a TAKE_TOKEN with a standing, and a frame of the largest size.
const FRAME_LENS: [usize; 3] = [54, 108, 1470];
const NOW: Duration = Duration::from_secs(1000);

fn node(boot: u8) -> Authenticator<u8> {
    let keyring = Keyring::parse(&format!("7 {}", "5a".repeat(32))).expect("a legal key");
    Authenticator::new(&keyring, false, [boot; 32])
}

/// Carries challenges and answers from one node to the other node.
fn carry_replies(from: &mut Authenticator<u8>, name: u8, to: &mut Authenticator<u8>) {
    let mut buffer = [0; 100];
    while let Some((_, len)) = from.poll_transmit(NOW, &mut buffer, |_, _| (0, PseudoHeader::FRAME))
    {
        to.open(NOW, Duration::ZERO, &Origin::of_frame(name), &buffer[..len]);
    }
}

/// Returns two nodes that have proven themselves to each other.
fn proven_pair() -> (Authenticator<u8>, Authenticator<u8>) {
    let (mut left, mut right) = (node(1), node(2));
    let mut buffer = [0; 100];
    let len = left
        .seal(NOW, &Destination::FRAME, &mut buffer, 54)
        .expect("enough room");
    right.open(NOW, Duration::ZERO, &Origin::of_frame(1), &buffer[..len]);
    for _ in 0..2 {
        carry_replies(&mut right, 2, &mut left);
        carry_replies(&mut left, 1, &mut right);
    }
    (left, right)
}

fn sign_and_verify(c: &mut Criterion) {
    for len in FRAME_LENS {
        let (mut left, mut right) = proven_pair();
        let mut buffer = vec![0x5a; len + TRAILER_LEN];
        c.bench_function(&format!("sign and verify/{len} bytes"), |b| {
            b.iter(|| {
                let signed = left.seal(NOW, &Destination::FRAME, black_box(&mut buffer), len);
                let signed = &buffer[..signed.expect("enough room")];
                let verdict =
                    right.open(NOW, Duration::ZERO, &Origin::of_frame(1), black_box(signed));
                assert!(matches!(verdict, Verdict::Deliver { .. }));
            });
        });
    }
}

/// Measures the messages of an attacker.
fn drop_attacks(c: &mut Criterion) {
    let (mut left, mut right) = proven_pair();
    let mut buffer = [0x5a; 54 + TRAILER_LEN];
    left.seal(NOW, &Destination::FRAME, &mut buffer, 54)
        .expect("enough room");
    right.open(NOW, Duration::ZERO, &Origin::of_frame(1), &buffer);
    let mut forged = buffer;
    forged[20] ^= 1;
    for (name, bytes) in [
        ("unsigned", &[0x5a; 54][..]),
        ("forged", &forged),
        ("replayed", &buffer),
    ] {
        c.bench_function(&format!("drop/{name}"), |b| {
            b.iter(|| {
                let verdict =
                    right.open(NOW, Duration::ZERO, &Origin::of_frame(1), black_box(bytes));
                assert!(matches!(verdict, Verdict::Drop(_)));
            });
        });
    }
}

fn main() {
    let mut c = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    sign_and_verify(&mut c);
    drop_attacks(&mut c);
    c.final_summary();
}
