//! What the kernel lets through to a packet socket, so that nothing else wakes the process.

use std::io;
use std::os::fd::AsFd;

use socket2::{SockFilter, SockRef};

// Instructions of classic BPF; the conditions are over the accumulator.
const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Accepts a frame if all of this holds:
///
/// - It came in by the interface itself. A frame of a VLAN, or for a macvlan, on top of it passes
///   the sockets of both, but is of another segment; the kernel has put the upper interface's
///   index on it.
/// - It is for this host or for all. Unicast for others, which a bridge floods, and multicast are
///   not; nor is a frame of a VLAN that nobody on this host is in, which the kernel marks as
///   another host's.
///
/// The EtherType is not looked at: the socket is bound to one, so that frames of others do not
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

/// The offset at which the kernel shows something that it knows about the frame.
fn ancillary(field: libc::c_int) -> u32 {
    (libc::SKF_AD_OFF + field).cast_unsigned()
}

fn statement(code: u32, k: u32) -> SockFilter {
    jump(code, k, 0, 0)
}

/// An instruction; a jump skips `jt` instructions if its condition holds, else `jf`.
fn jump(code: u32, k: u32, jt: u8, jf: u8) -> SockFilter {
    // All codes are below 256.
    let code = u16::try_from(code).unwrap_or(u16::MAX);
    SockFilter::new(code, jt, jf, k)
}

/// Attaches the program to `socket`.
pub(super) fn attach(socket: &impl AsFd, index: u32) -> io::Result<()> {
    SockRef::from(socket).attach_filter(&program(index))
}
