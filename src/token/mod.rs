//! The token service from a program's side: the list of its servers.
//!
//! May name `ring_codec` and `ring_proto`, of this crate [`driver`](crate::driver), [`host`](crate::host),
//! [`observe`](crate::observe) and [`sys`](crate::sys): no daemon, no command.

mod servers;

pub use servers::{ServerList, ServersError, read_list, read_servers};
