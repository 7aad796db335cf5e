//! Networks: interfaces, raw frames, datagrams, connections, and what travels over Unix sockets.

mod altname;
pub mod ancillary;
mod arrival;
mod datagrams;
mod filter;
mod interface;
mod internet;
mod messages;
mod packet;
mod ring;
mod rival;
mod tcp;
mod udp;
mod watch;

pub use interface::{Address, Interface};
pub use packet::{OpenError, PacketSocket};
pub use rival::user_of_rival;
pub use tcp::{TcpConnection, TcpNetwork, TcpOptions};
pub use udp::{UdpLink, UdpOptions};
pub use watch::InterfaceWatch;
