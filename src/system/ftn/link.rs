//! Opens the server's socket, with buffers that suit the number of clients.

use std::io;
use std::net::SocketAddr;

use ring_host::UdpSlot;
use ring_runtime::net::UdpOptions;

/// Requested buffer per client, in bytes. After a change of the leader, each client sends two datagrams at once. The
/// kernel doubles the requested size, and counts 1,280 bytes for a short datagram.
const BUFFER_PER_CLIENT: usize = 1_280;
/// Minimum requested buffer, in bytes.
const BUFFER_MIN: usize = 1 << 20;

/// Binds an address. The socket has buffers for this number of clients.
pub(super) fn bind(address: SocketAddr, clients: usize) -> io::Result<UdpSlot> {
    let buffer = Some(
        clients
            .saturating_mul(BUFFER_PER_CLIENT)
            .clamp(BUFFER_MIN, i32::MAX as usize / 2),
    );
    let options = UdpOptions {
        merges: true,
        receive_buffer: buffer,
        send_buffer: buffer,
        ..UdpOptions::default()
    };
    UdpSlot::bind(address, options)
}
