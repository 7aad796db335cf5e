//! WHERE_IS_TOKEN, kind 5: a LOOSER asks which node has the token.
//!
//! The message has no fields after the header.
//!
//! ```text
//!   at  bytes  field
//!   14      1  kind              = 5
//!   15      1  reserved          = 0
//!   16      6  messageAuthorMAC  the Ethernet source
//! ```
//!
//! # Example
//! ```
//! use ring_codec::MacAddr;
//! use ring_codec::lab2::{self, Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "ffffffffffff 020000000001 88b5" // destination, source, EtherType
//!     "05 00 020000000001"             // kind, reserved, messageAuthorMAC
//! );
//! let frame = Frame::decode(&bytes)?;
//! assert_eq!(frame.destination, MacAddr::BROADCAST);
//! assert_eq!(frame.author, MacAddr([2, 0, 0, 0, 0, 1]));
//! assert_eq!(frame.message, Message::WhereIsToken);
//! # let mut buf = [0xaa; lab2::FRAME_LEN_MAX];
//! # let len = frame.encode(lab2::ETHERTYPE, &mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
