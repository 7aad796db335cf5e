//! The kernel's packet filter in front of a recording: what it is not about costs it no room.

use socket2::SockFilter;

/// `sll_pkttype` of a frame to everybody.
const BROADCAST: u32 = 1;
/// `sll_pkttype` of a frame that this machine itself sends.
const OUTGOING: u32 = 4;
/// Where a filter finds what is not in the frame (`SKF_AD_OFF` and the offsets from there).
const BESIDE: u32 = 0xffff_f000;
const PACKET_TYPE: u32 = BESIDE + 4;
const INTERFACE: u32 = BESIDE + 8;
const ETHERTYPE_OFFSET: u32 = 12;

const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Which destinations are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destinations {
    All,
    Broadcast,
}

/// Passes frames of one EtherType, or of all, to these destinations, that come in from any interface
/// but these.
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
        // Interfaces are numbered with 31 bits.
        let number = u32::try_from(*interface).unwrap_or(0);
        program.extend([SockFilter::new(JUMP_IF_EQUAL, 0, 1, number), refuse()]);
    }
    program.push(SockFilter::new(RETURN, 0, 0, u32::MAX));
    program
}
