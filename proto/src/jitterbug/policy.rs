//! The built-in computation and decisions (`docs/jitterbug/protocol/data.md` D1, D6): pure functions of bytes.

/// Returns the digest of the computation and the decision (`docs/jitterbug/datagrams.md`): FNV-1a in 64 bits. A
/// command is represented by its line after `sh -c `.
pub const fn digest(compute: &str, decide: &str) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    // The zero byte separates the two texts, so that `ab` and `c` differ from `a` and `bc`.
    fnv1a(
        fnv1a(fnv1a(OFFSET, compute.as_bytes()), &[0]),
        decide.as_bytes(),
    )
}

const fn fnv1a(mut hash: u64, mut bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    while let [first, rest @ ..] = bytes {
        hash = (hash ^ *first as u64).wrapping_mul(PRIME);
        bytes = rest;
    }
    hash
}

/// Returns a decimal number plus 1. The number may have any length and keeps its leading zeros. Empty data give `1`.
/// Returns `None` if the data are not a number.
pub fn counter(data: &[u8]) -> Option<Vec<u8>> {
    if !data.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut next = data.to_vec();
    for digit in next.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return Some(next);
        }
        *digit = b'0';
    }
    // Every digit was a 9, or there was no digit.
    next.insert(0, b'1');
    Some(next)
}

/// Whether the node keeps the received data. The received data must be longer than the node's own data, or equally long
/// and bytewise at least as large.
pub fn greater(received: &[u8], own: &[u8]) -> bool {
    // The length comes first, because a longer decimal number is larger.
    (received.len(), received) >= (own.len(), own)
}

/// Whether the node keeps the received data. The received data must have at least as many bytes as the node's own data.
pub fn longer(received: &[u8], own: &[u8]) -> bool {
    received.len() >= own.len()
}
