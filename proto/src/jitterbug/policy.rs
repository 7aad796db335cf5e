//! The built-in computation and decisions (`docs/jitterbug.md`, section 9): pure functions of bytes.

/// Returns the digest of the computation and the decision (`docs/wire-formats.md`, "Jitterbug"): FNV-1a in 64 bits. A
/// command is its line after `sh -c `.
pub const fn digest(compute: &str, decide: &str) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
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

/// Returns a decimal number plus one. The number may have any length, leading zeros stay, and no data gives `1`.
/// `None`: the data is no number.
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
    next.insert(0, b'1');
    Some(next)
}

/// Whether received data continues: if it has more bytes, or as many and is not bytewise smaller.
pub fn greater(received: &[u8], own: &[u8]) -> bool {
    (received.len(), received) >= (own.len(), own)
}

/// Whether received data continues: if it has at least as many bytes.
pub fn longer(received: &[u8], own: &[u8]) -> bool {
    received.len() >= own.len()
}
