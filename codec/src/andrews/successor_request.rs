//! SUCCESSOR_REQUEST, type 3: a node whose successor failed asks the coordinator for a new successor.
//!
//! The payload is empty.
//!
//! # Example
//! ```
//! use ring_codec::andrews::{Frame, Message};
//!
//! let bytes = hex_literal::hex!(
//!     "01 03 0000" // version, type, reserved
//!     "00000006 00000000" // srcId, payloadLen
//! );
//! let frame = Frame { src_id: 6, message: Message::SuccessorRequest };
//! assert_eq!(Frame::decode_datagram(&bytes)?, frame);
//! # let mut buf = [0xaa; 64];
//! # let len = frame.encode(&mut buf)?;
//! # assert_eq!(buf[..len], bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
