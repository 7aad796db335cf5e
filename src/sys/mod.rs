//! What the daemon asks of the kernel: links and connections, waiting, time, a share of the CPU, and
//! power over the processes that it starts, and files that are its own.
//!
//! The only room with `unsafe` in it, and each file that needs it says so at its head: everywhere
//! else in the crate it is denied. Nothing here knows a word of any protocol.

pub mod clock;
pub mod handed;
mod lock;
mod names;
mod net;
pub mod owned;
mod process;
mod random;
pub mod runtime;
mod wait;

pub use lock::{FileLock, FileLockError, Holder, LockError, RingLock};
pub use names::{Names, parse_mac};
pub use net::{
    Address, Interface, InterfaceWatch, OpenError, PacketSocket, TcpConnection, TcpNetwork,
    TcpOptions, UdpLink, UdpOptions, ancillary, user_of_rival,
};
pub use process::{
    Hierarchy, IgnoredSignals, KeptLine, KillFile, Killed, Lifeline, Survivor, Tied, Tree,
    broken_pipe, child, descriptors, freezer, group, inherited, nice, rights,
    stand_in_as_process_1,
};
pub use random::random;
pub use wait::{Alarm, Interest, Poller, Ready};
