//! ALIVE, type 14, from a client to the leader: a sign of life. The message has no fields after the head.
//!
//! # Example
//! ```
//! use ring_codec::ftn::{Datagram, Header, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "0e 83e8 00 84d2" // type, from, to, ssig
//! );
//! let header = Header { from: 1000, to: 0, ssig: 1234 };
//! let message = Message::Alive;
//! let datagram = Datagram::new(header, message);
//! assert_eq!(Datagram::decode(&bytes)?, datagram);
//! # let mut buf = [0xaa; 128];
//! # let len = datagram.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
