//! What the daemon asks of the kernel: raw packets, interfaces, waiting, time, a share of the CPU, and
//! power over the processes that it starts, and files that are its own.
//!
//! The only room with `unsafe` in it, and each file that needs it says so at its head: everywhere
//! else in the crate it is denied. Nothing here knows a word of any protocol.

mod alarm;
pub mod ancillary;
mod arrival;
pub mod broken_pipe;
mod cgroup;
pub mod child;
pub mod clock;
pub mod descriptors;
mod filter;
pub mod group;
pub mod handed;
mod ignored;
pub mod inherited;
mod interface;
mod lifeline;
mod lock;
mod messages;
pub mod nice;
pub mod owned;
mod packet;
mod poller;
mod ring;
mod rival;
pub mod runtime;
mod tcp;
mod udp;
mod watch;

pub use alarm::Alarm;
pub use cgroup::{Hierarchy, KillFile};
pub use ignored::IgnoredSignals;
pub use interface::Interface;
pub use lifeline::{KeptLine, Lifeline, Tied};
pub use lock::{FileLock, FileLockError, Holder, LockError, RingLock};
pub use packet::{OpenError, PacketSocket};
pub use poller::{Interest, Poller, Ready};
pub use rival::user_of_rival;
pub use tcp::{TcpConnection, TcpNetwork, TcpOptions};
pub use udp::{UdpLink, UdpOptions};
pub use watch::InterfaceWatch;
