//! JOIN, type 1: a new node asks the coordinator to add it to the ring.
//!
//! The payload is empty.
//!
//! # Example
//! ```
//! use ring_codec::andrews::{Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "01 01 0000" // version, type, reserved
//!     "00000002 00000000" // srcId, payloadLen
//! );
//! let frame = Frame { src_id: 2, message: Message::Join };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
