//! Hash functions of the FTN document, and the order of servers that follows from them.
//!
//! Bytes are unsigned. A sum wraps around before it is masked.

/// Mask for the low 31 bits.
const HASH_MASK: u32 = 0x7fff_ffff;

/// Returns the hash of a string, a number of 31 bits.
///
/// ```
/// // (37 * 'a' + 'b') * 37 + 'c'
/// assert_eq!(ring_codec::ftn::hash(b"abc"), (37 * 97 + 98) * 37 + 99);
/// ```
pub fn hash(string: &[u8]) -> u32 {
    let sum = string.iter().fold(0_u32, |h, byte| {
        h.wrapping_mul(37).wrapping_add((*byte).into())
    });
    sum & HASH_MASK
}

/// Returns the next number of a pseudorandom sequence, a number of 31 bits.
///
/// ```
/// assert_eq!(ring_codec::ftn::rehash(0), 453_816_707);
/// assert_eq!(ring_codec::ftn::rehash(1), 314_159_261 + 453_816_707);
/// ```
pub const fn rehash(hash: u32) -> u32 {
    314_159_261_u32.wrapping_mul(hash).wrapping_add(453_816_707) & HASH_MASK
}

/// Returns the signature of a list of servers, `ssig`. The signature has 13 bits and is computed from the
/// `hostname:portnum` strings in their order.
///
/// ```
/// use ring_codec::ftn::{hash, server_signature};
///
/// let servers: [&[u8]; 2] = [b"a:1", b"b:2"];
/// let expected = (39 * u64::from(hash(b"a:1")) + u64::from(hash(b"b:2"))) & 0x1fff;
/// assert_eq!(u64::from(server_signature(servers).unsigned_abs()), expected);
/// ```
pub fn server_signature<'a>(servers: impl IntoIterator<Item = &'a [u8]>) -> i32 {
    let sum = servers.into_iter().fold(0_u32, |h, server| {
        h.wrapping_mul(39).wrapping_add(hash(server))
    });
    (sum & 0x1fff).cast_signed()
}

/// Fills `servers` with all indices from 0 on. The indices stand in the order in which the servers are responsible for
/// the token `name`. The first server of the order that is not DOWN is responsible.
///
/// ```
/// use ring_codec::ftn::{hash, server_sequence};
///
/// let mut servers = [0; 3];
/// server_sequence(b"abc", &mut servers);
/// assert_eq!(servers[0], (hash(b"abc") % 3) as i32);
/// servers.sort();
/// assert_eq!(servers, [0, 1, 2]);
/// ```
pub fn server_sequence(name: &[u8], servers: &mut [i32]) {
    for (server, index) in servers.iter_mut().zip(0..) {
        *server = index;
    }
    let mut h = hash(name);
    let count = servers.len();
    for i in 0..count.saturating_sub(1) {
        servers.swap(i, i + h as usize % (count - i));
        h = rehash(h);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of the FTN document's formula. The function uses numbers so wide that no sum wraps around.
    fn wide_hash(string: &[u8]) -> u128 {
        let sum = string.iter().fold(0, |h, byte| 37 * h + u128::from(*byte));
        sum & 0x7fff_ffff
    }

    #[test]
    fn wrapping_changes_nothing_below_the_mask() {
        let names: [&[u8]; 4] = [
            b"",
            b"swarm",
            b"\xff\xfe\x80\x00 unsigned",
            b"0123456789abcdefghij",
        ];
        for name in names {
            assert_eq!(u128::from(hash(name)), wide_hash(name));
        }
        for h in [0, 1, 12345, HASH_MASK] {
            let wide = (314_159_261 * u64::from(h) + 453_816_707) & 0x7fff_ffff;
            assert_eq!(u64::from(rehash(h)), wide);
        }
        // The test uses all sublists, so that some sums have bits above the mask.
        let servers: [&[u8]; 4] = [b"alpha:4000", b"beta:4001", b"gamma:4002", b"delta:4003"];
        for from in 0..4 {
            for to in from..=4 {
                let list = servers[from..to].iter().copied();
                let wide = list.clone().fold(0, |h, s| 39 * h + wide_hash(s));
                let signature = server_signature(list).cast_unsigned();
                assert_eq!(u128::from(signature), wide & 0x1fff);
            }
        }
    }

    #[test]
    fn the_sequence_is_the_documents_shuffle() {
        // hash("t") is 116, and 116 % 4 = 0. Then h = rehash(116) modulo 3, and once more modulo 2.
        let mut expected = [0, 1, 2, 3];
        let mut h = 116_u64;
        for i in 0..3 {
            expected.swap(i, i + usize::try_from(h).unwrap() % (4 - i));
            h = (314_159_261 * h + 453_816_707) & 0x7fff_ffff;
        }
        let mut servers = [9; 4];
        server_sequence(b"t", &mut servers);
        assert_eq!(servers, expected);
        server_sequence(b"t", &mut []);
    }
}
