//! The kernel's filter for a packet socket. The filter drops frames that are not for this process, so that they do not
//! wake the process.

use std::io;
use std::os::fd::AsFd;

use socket2::{SockFilter, SockRef};

// Codes of the instructions of classic BPF. The conditions of jumps compare the accumulator.
const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Returns a filter that accepts a frame only if both conditions hold:
///
/// - The frame arrived at the interface itself. Other interfaces, such as a VLAN or a macvlan, can be on top of this
///   interface. Their frames also reach the sockets of this interface, but belong to a different network segment. Such
///   a frame has the index of the upper interface.
/// - The frame is for this host or is a broadcast. The filter drops multicast frames. It also drops unicast frames for
///   other hosts, which a bridge may flood. The filter also drops frames of a VLAN that this host does not use, because
///   the kernel marks them as frames for another host.
///
/// The filter does not check the EtherType. The socket is bound to one EtherType, so the filter sees no frames of other
/// types.
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

/// Returns the offset at which a filter reads this field of the frame's metadata.
fn ancillary(field: libc::c_int) -> u32 {
    (libc::SKF_AD_OFF + field).cast_unsigned()
}

fn statement(code: u32, k: u32) -> SockFilter {
    jump(code, k, 0, 0)
}

/// Makes a jump. If the condition holds, the jump skips `jt` instructions. Otherwise it skips `jf` instructions.
fn jump(code: u32, k: u32, jt: u8, jf: u8) -> SockFilter {
    // All codes are below 256.
    let code = u16::try_from(code).unwrap_or(u16::MAX);
    SockFilter::new(code, jt, jf, k)
}

/// Attaches a filter that drops all frames.
pub(super) fn attach_refusal(socket: &impl AsFd) -> io::Result<()> {
    SockRef::from(socket).attach_filter(&[statement(RETURN, 0)])
}

pub(super) fn attach(socket: &impl AsFd, index: u32) -> io::Result<()> {
    SockRef::from(socket).attach_filter(&program(index))
}
