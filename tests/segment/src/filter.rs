//! Packet filter of a recording's socket. Because of the filter, frames that the test does not record take no space in
//! the socket's buffer.

use socket2::SockFilter;

/// `sll_pkttype` of a broadcast frame.
const BROADCAST: u32 = 1;
/// `sll_pkttype` of a frame that this machine sends.
const OUTGOING: u32 = 4;
/// Base address of the values outside of the frame (`SKF_AD_OFF`). The constants below add an offset to this address.
const ANCILLARY_OFFSET: u32 = 0xffff_f000;
const PACKET_TYPE: u32 = ANCILLARY_OFFSET + 4;
const INTERFACE: u32 = ANCILLARY_OFFSET + 8;
const ETHERTYPE_OFFSET: u32 = 12;

const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destinations {
    All,
    Broadcast,
}

/// Returns a filter for incoming frames with these destinations, of one EtherType or of all EtherTypes. The filter
/// rejects frames from `ignored` interfaces.
pub(crate) fn incoming(
    ethertype: Option<u16>,
    destinations: Destinations,
    ignored: &[usize],
) -> Vec<SockFilter> {
    let refuse = || SockFilter::new(RETURN, 0, 0, 0);
    let mut program = vec![SockFilter::new(LOAD_WORD, 0, 0, PACKET_TYPE)];
    program.extend([SockFilter::new(JUMP_IF_EQUAL, 0, 1, OUTGOING), refuse()]);
    if destinations == Destinations::Broadcast {
        program.extend([SockFilter::new(JUMP_IF_EQUAL, 1, 0, BROADCAST), refuse()]);
    }
    if let Some(ethertype) = ethertype {
        program.push(SockFilter::new(LOAD_HALF, 0, 0, ETHERTYPE_OFFSET));
        program.extend([
            SockFilter::new(JUMP_IF_EQUAL, 1, 0, u32::from(ethertype)),
            refuse(),
        ]);
    }
    program.push(SockFilter::new(LOAD_WORD, 0, 0, INTERFACE));
    for interface in ignored {
        // Interface numbers have 31 bits.
        let number = u32::try_from(*interface).unwrap_or(0);
        program.extend([SockFilter::new(JUMP_IF_EQUAL, 0, 1, number), refuse()]);
    }
    program.push(SockFilter::new(RETURN, 0, 0, u32::MAX));
    program
}
