//! The FTN token service: tokens served to clients by a group of servers, in UDP datagrams
//! (`docs/wire-formats.md`, "FTN token service").
//!
//! A message is a sequence of values, each of variable length; what they mean follows from the
//! first, the type. Every message begins with the same head:
//!
//! ```text
//!   type  int  11 to 15, 21 to 25, 31 to 35, 41 or 42
//!   from  int  the sender: a server's index or a session's id
//!   to    int  the recipient, likewise
//!   ssig  int  the signature of the server list
//! ```
//!
//! Each type has a module with its fields and a worked example.
//!
//! # Values
//! | value | on the wire |
//! |---|---|
//! | int, long | `0snn nnnn`, 7 bits; or `1bbb snnn nnnn nnnn …`, 12 + 8·bbb bits in bbb + 2 bytes; two's complement |
//! | string | its length as an int, then that many bytes, of any value |
//! | token | two strings: name, data |
//! | seq | two longs: the configuration's number and the round |
//! | array | the number of its entries as an int, then these |
//!
//! # One value, several forms
//! A long form may hold a small number. Decoding takes any form; encoding a message writes the
//! shortest. So that decoding and encoding still give the same bytes back, a decoded [`Datagram`]
//! remembers the bytes that it came from and encodes to them; a new one made from the same values
//! encodes to the shortest form. The two differ if and only if
//! [`is_shortest`](Datagram::is_shortest) says no.
//!
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "8019 900000 83e8 84d2" // type in 2 bytes, from in 3, to, ssig
//!     "a0000005" // msgnum in 4 bytes
//! );
//! let header = Header { from: 0, to: 1000, ssig: 1234 };
//! let shortest = Datagram::new(header, Message::Confirm { msgnum: 5 });
//! let datagram = Datagram::decode(&bytes)?;
//! assert_eq!(datagram, shortest);
//! assert!(!datagram.is_shortest());
//!
//! let mut buf = [0; 16];
//! assert_eq!(datagram.encode(&mut buf)?, 13);
//! assert_eq!(buf[..13], bytes);
//! assert_eq!(shortest.encode(&mut buf)?, 7);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is refused
//! The first that fails is reported:
//!
//! | [`field`](crate::DecodeError::field) | [`problem`](crate::DecodeError::problem) | reason |
//! |---|---|---|
//! | any | `Truncated` | the datagram is too short |
//! | any | `DoesNotFit` | more than 32 bits for an int, or 64 for a long |
//! | any | `Illegal` | a negative length or count, or none of the values that the field has |
//! | `configuration`, `round` | `Illegal` | below 0, or a round of more than 32 bits |
//! | `part` | `Illegal` | a part is none of its `parts` |
//! | `holders` | `WrongLength` | not as many as the `access` calls for |
//! | `datagram` | `Trailing` | bytes after the message, or after its [terms] |
//!
//! Encoding refuses what decoding would refuse.

mod datagram;
mod display;
mod hash;
mod message;
mod value;
mod wire;

pub mod alive;
pub mod catalog;
pub mod config;
pub mod confirm;
pub mod elect;
pub mod grant;
pub mod heartbeat;
pub mod login;
pub mod logout;
pub mod part;
pub mod parted;
pub mod request;
pub mod return_;
pub mod revoke;
pub mod state;
pub mod terms;
pub mod transfer;
pub mod transferred;

pub use datagram::{Datagram, Header};
pub use hash::{hash, rehash, server_sequence, server_signature};
pub use message::{Kind, Message};
pub use terms::{Pace, Terms};
pub use value::{Access, Assignment, Client, Flags, Holders, ServerState, Token};
