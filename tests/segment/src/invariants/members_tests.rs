use super::check_equal_digests;
use crate::invariants::test_frames::{DIGEST, here, mac, seen_frame, token};
use crate::wire::{Digest, Message};

#[test]
fn only_the_last_digest_counts() {
    let stale = Message::Ping {
        digest: Digest { size: 1, hash: 1 },
        ip: [0; 16],
    };
    let before = seen_frame(0, 1, 2, &stale);
    let after = seen_frame(9, 1, 2, &stale);
    let fresh = here(5, 1, token(1, 1, 1));
    let only = [mac(1)];
    check_equal_digests(&[before, fresh.clone()], &only, DIGEST).expect("the last digest is right");
    check_equal_digests(&[fresh.clone(), after], &only, DIGEST)
        .expect_err("the last digest is wrong");
    check_equal_digests(&[fresh], &[mac(2)], DIGEST).expect_err("node 2 sent no digest");
}
