//! The server's socket, with buffers for its clients.

use std::io;
use std::net::SocketAddr;

use ring_host::UdpSlot;
use ring_runtime::net::UdpOptions;

/// What the kernel is asked to keep for each client, in bytes: after a change of leader all of them send two
/// datagrams at once. The kernel keeps twice what it is asked for, and counts 1,280 bytes for a short datagram.
const A_CLIENT: usize = 1_280;
/// The least that it is asked to keep.
const LEAST: usize = 1 << 20;

/// Binds an address, for so many clients.
pub(super) fn bind(address: SocketAddr, clients: usize) -> io::Result<UdpSlot> {
    let buffer = Some(
        clients
            .saturating_mul(A_CLIENT)
            .clamp(LEAST, i32::MAX as usize / 2),
    );
    let options = UdpOptions {
        receive_buffer: buffer,
        send_buffer: buffer,
        ..UdpOptions::default()
    };
    UdpSlot::bind(address, options)
}
