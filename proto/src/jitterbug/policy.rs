//! How data goes on where no program says so (`docs/jitterbug.md`, section 9): pure functions of bytes.

/// A decimal number plus one, of any length, and with as many leading zeros as there is room for; nothing at all gives
/// `1`. `None`: it is no number.
#[must_use]
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

/// Whether received data continues rather than the own: that with more bytes, or the bytewise larger one.
#[must_use]
pub fn greater(received: &[u8], own: &[u8]) -> bool {
    (received.len(), received) >= (own.len(), own)
}

/// Whether received data continues rather than the own: that with more bytes, or the received one.
#[must_use]
pub fn longer(received: &[u8], own: &[u8]) -> bool {
    received.len() >= own.len()
}
