//! Adds the checksums that a kernel expects the network interface to add. Virtual interfaces do not add TCP and UDP
//! checksums.

const ETHERNET_HEADER_LEN: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Writes the checksum into a frame that contains a complete TCP segment or UDP datagram over IPv4. Does not change
/// other frames.
pub(crate) fn complete(frame: &mut [u8]) {
    // A shorter frame contains neither a TCP segment nor a UDP datagram.
    let _ = try_complete(frame);
}

fn try_complete(frame: &mut [u8]) -> Option<()> {
    if frame.get(ETHERNET_HEADER_LEN - 2..ETHERNET_HEADER_LEN)? != IPV4 {
        return None;
    }
    let ip = frame.get(ETHERNET_HEADER_LEN..)?;
    let header = usize::from(ip[0] & 0x0f) * 4;
    let length = usize::from(u16::from_be_bytes(ip.get(2..4)?.try_into().ok()?));
    let at = match *ip.get(9)? {
        TCP => 16,
        UDP => 6,
        _ => return None,
    };
    let protocol = u32::from(ip[9]);
    let addresses = sum(ip.get(12..20)?);
    let segment = frame.get_mut(ETHERNET_HEADER_LEN + header..ETHERNET_HEADER_LEN + length)?;
    segment.get_mut(at..at + 2)?.fill(0);
    let pseudo = addresses + protocol + u32::try_from(segment.len()).ok()?;
    let checksum = fold(pseudo + sum(segment));
    // In UDP the value 0 means that the datagram has no checksum.
    let checksum = if checksum == 0 { 0xffff } else { checksum };
    segment
        .get_mut(at..at + 2)?
        .copy_from_slice(&checksum.to_be_bytes());
    Some(())
}

/// Returns the checksum of an IPv4 header whose field for the checksum is 0.
pub(crate) fn of_header(header: &[u8]) -> u16 {
    fold(sum(header))
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or_default()
}

fn sum(bytes: &[u8]) -> u32 {
    let words = bytes.chunks(2);
    words
        .map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |&low| u32::from(low)))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::complete;

    #[test]
    fn a_datagram_gets_the_checksum_of_its_header_addresses_and_bytes() {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00]);
        // 10.0.0.1 to 10.0.0.2, 3 bytes after the UDP header.
        frame.extend([
            0x45, 0, 0, 31, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        frame.extend([0, 1, 0, 2, 0, 11, 0x12, 0x34, b'a', b'b', b'c']);
        complete(&mut frame);
        // 0x0a00 + 1 + 0x0a00 + 2 + 17 + 11 + 1 + 2 + 11 + 0x6162 + 0x6300, folded and inverted.
        assert_eq!(frame[40..42], (!0xd88f_u16).to_be_bytes());
        let is_as_it_was = |mut other: Vec<u8>| {
            let before = other.clone();
            complete(&mut other);
            other == before
        };
        assert!(is_as_it_was(frame[..30].to_vec()) && is_as_it_was(vec![0; 60]));
    }
}
