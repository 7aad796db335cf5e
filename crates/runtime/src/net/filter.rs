//! The kernel's filter for a packet socket, so that no other frame wakes the process.

use std::io;
use std::os::fd::AsFd;

use socket2::{SockFilter, SockRef};

// Instructions of classic BPF. The conditions apply to the accumulator.
const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Returns a filter that accepts a frame only if both conditions hold:
///
/// - The frame came in by the interface itself. A frame of a VLAN or macvlan on top of it passes the sockets of both,
///   but belongs to another segment. The kernel has put the upper interface's index on it.
/// - The frame is for this host or a broadcast. The filter drops multicast, and unicast for others that a bridge
///   floods. It also drops frames of a VLAN that is not set up on this host, which the kernel marks as another
///   host's.
///
/// The filter does not check the EtherType: the socket is bound to one.
/// even come as far as this.
fn program(index: u32) -> [SockFilter; 7] {
    let host = u32::from(libc::PACKET_HOST);
    let broadcast = u32::from(libc::PACKET_BROADCAST);
    [
        statement(LOAD_WORD, ancillary(libc::SKF_AD_IFINDEX)),
        jump(JUMP_IF_EQUAL, index, 0, 4),
        statement(LOAD_WORD, ancillary(libc::SKF_AD_PKTTYPE)),
        jump(JUMP_IF_EQUAL, host, 1, 0),
        jump(JUMP_IF_EQUAL, broadcast, 0, 1),
        statement(RETURN, u32::MAX),
        statement(RETURN, 0),
    ]
}

/// Returns the offset at which the kernel shows metadata of the frame.
fn ancillary(field: libc::c_int) -> u32 {
    (libc::SKF_AD_OFF + field).cast_unsigned()
}

fn statement(code: u32, k: u32) -> SockFilter {
    jump(code, k, 0, 0)
}

/// Makes an instruction. A jump skips `jt` instructions if its condition holds, else `jf`.
fn jump(code: u32, k: u32, jt: u8, jf: u8) -> SockFilter {
    // All codes are below 256.
    let code = u16::try_from(code).unwrap_or(u16::MAX);
    SockFilter::new(code, jt, jf, k)
}

pub(super) fn attach(socket: &impl AsFd, index: u32) -> io::Result<()> {
    SockRef::from(socket).attach_filter(&program(index))
}
