//! A client of the token service: the list of the servers, and a session with the servers
//! (`docs/token-service/use.md`).
//!
//! A [`Session`] sends and receives messages only while one of its methods runs. So a program that works under a token
//! must call [`Session::next`] often, for example in a separate thread. The interval between two calls may be at most a
//! tenth of the client timeout. Without frequent calls of [`Session::next`], the program loses its tokens at the end of
//! the [lease](Session::lease).
//!
//! ```no_run
//! use std::path::Path;
//! use std::time::Duration;
//!
//! use ring_client::token::{Access, Session, WaitLimits, read_servers};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let servers = read_servers(Path::new("/etc/ringd/ftn.servers"))?;
//! let mut session = Session::open(servers, Duration::from_secs(15), "counter")?;
//! let limits = WaitLimits::limited(Duration::from_secs(5));
//! let grant = session.acquire(b"counter", Access::Exclusive, limits)?;
//! let count: u64 = String::from_utf8(grant.data)?.parse().unwrap_or(0);
//! // One call sets the data and releases the token, so no other client sees only one of the two changes.
//! let data = (count + 1).to_string();
//! session.release(b"counter", Some(data.as_bytes()))?;
//! session.log_out()?;
//! # Ok(())
//! # }
//! ```

mod calls;
mod error;
mod hosts;
#[cfg_attr(feature = "signatures", path = "signed_link.rs")]
#[cfg_attr(not(feature = "signatures"), path = "plain_link.rs")]
mod link;
mod observer;
mod servers;
mod session;
mod wait_limits;

pub use calls::Grant;
pub use error::{Error, Obstacle};
pub use hosts::{Hosts, RESOLVE_INTERVAL, Resolution};
#[cfg(feature = "signatures")]
pub use link::check_name;
pub use ring_codec::ftn::Access;
pub use ring_proto::ftn::client::{ClientState, Command, Event, HeldToken, Loss, Refusal};
pub use ring_proto::ftn::{
    CLIENT_TIMEOUT_MIN, DATA_BYTES_MAX, INTRODUCTION_BYTES_MAX, NAME_BYTES_MAX, Servers,
};
#[cfg(feature = "signatures")]
pub use ring_trust::{ClientKeys, KeyringError};
pub use servers::{
    ServerList, ServersError, list_with_addresses, read_list, read_servers, resolve_list,
    resolve_list_within,
};
pub use session::{Session, Wake};
pub use wait_limits::WaitLimits;
