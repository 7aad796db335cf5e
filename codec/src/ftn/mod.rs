//! The FTN token service: a group of servers keeps tokens for clients, in UDP datagrams
//! (`docs/token-service/messages.md`). This module encodes and decodes datagrams. This module applies no rule of the
//! protocol.
//!
//! A message is a sequence of values of variable length. The first value is the message's type. It determines the other
//! values. Every message begins with the same head:
//!
//! ```text
//!   type  int  11 to 15, 21 to 25, 31 to 35, 41 or 42
//!   from  int  sender: a server's index or a session's id
//!   to    int  recipient: a server's index or a session's id
//!   ssig  int  signature of the list of servers
//! ```
//!
//! Each type has a module with its fields and an example. Start reading at [`Datagram`].
//!
//! # Values
//! | value | on the wire |
//! |---|---|
//! | int, long | `0snn nnnn`, 7 bits; or `1bbb snnn nnnn nnnn …`, 12 + 8·bbb bits in bbb + 2 bytes; two's complement |
//! | string | the number of its bytes as an int, then these bytes, which may have any values |
//! | token | two strings: name, data |
//! | seq | two longs: the configuration's number and the round |
//! | array | the number of its entries as an int, then the entries |
//!
//! # One value, several forms A long form may contain a small number. Decoding accepts any form, and encoding writes
//! the shortest form. A decoded [`Datagram`] keeps its bytes, and encoding writes these bytes again. A new datagram
//! with the same values encodes to the shortest form. The old and the new datagram have different bytes only if
//! [`is_shortest`](Datagram::is_shortest) returns `false`.
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
//! # Refused datagrams
//! The decoder reports the first field that fails:
//!
//! | [`field`](crate::DecodeError::field) | [`problem`](crate::DecodeError::problem) | reason |
//! |---|---|---|
//! | any | `Truncated` | the datagram is too short |
//! | any | `DoesNotFit` | an int of more than 32 bits, or a long of more than 64 bits |
//! | any | `Illegal` | a negative length or count, or a value that is not defined for the field |
//! | `configuration`, `round` | `Illegal` | a negative number, or a round of more than 32 bits |
//! | `part` | `Illegal` | a number that is negative, or not below `parts` |
//! | `holders` | `WrongLength` | another number than the `access` requires |
//! | `datagram` | `Trailing` | bytes after the message, or after its [terms] |
//!
//! The encoder refuses the same values.

mod datagram;
mod display;
mod first_part;
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
pub use first_part::find_name;
pub use hash::{hash, rehash, server_sequence, server_signature};
pub use message::{Kind, Message};
pub use terms::{ServerTerms, Terms};
pub use value::{Access, Assignment, Flags, Holders, ListedSession, ServerState, Token};
