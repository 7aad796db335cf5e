//! Interfaces, raw frames, UDP, TCP, and descriptors sent over Unix sockets. This module contains no protocol.

mod altname;
pub mod ancillary;
mod arrival;
mod datagrams;
mod filter;
mod interface;
mod internet;
mod messages;
mod packet;
mod receive_ring;
mod rival;
mod tcp;
mod udp;
mod watch;

pub use interface::{Address, Interface};
pub use packet::{FrameSender, OpenError, PacketSocket};
pub use rival::rival_socket_user;
pub use tcp::{TcpConnection, TcpNetwork, TcpOptions};
pub use udp::{UdpLink, UdpOptions};
pub use watch::InterfaceWatch;
