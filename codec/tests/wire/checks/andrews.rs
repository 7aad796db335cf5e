//! Checks of Andrews.

use arbitrary::{Result, Unstructured};
use ring_codec::U32;
use ring_codec::andrews::{Election, Frame, Kind, Message, Method};

use super::{check_error, decode_in_portions, encode_checked};

/// Checks that these bytes decode to a frame, as a datagram and on a stream, and that the frame encodes to the same
/// bytes. If the bytes do not decode, checks that the error has a correct offset.
pub(crate) fn bytes(input: &[u8]) {
    match Frame::decode_datagram(input) {
        Ok(frame) => assert_eq!(encode(&frame), input),
        Err(error) => check_error(error, input),
    }
    if let Some((frame, consumed)) = decode_in_portions(input, Frame::decode_stream) {
        assert_eq!(encode(&frame), input[..consumed]);
    }
}

fn encode(frame: &Frame<'_>) -> Vec<u8> {
    encode_checked(frame.encoded_len(), |buf| frame.encode(buf))
}

/// Whether these bytes are exactly one message.
pub(crate) fn decodes(input: &[u8]) -> bool {
    Frame::decode_datagram(input).is_ok()
}

/// Checks that a legal frame, built from these bytes, survives encoding and decoding.
pub(crate) fn value(seed: &[u8]) {
    let _ = build(&mut Unstructured::new(seed));
}

fn build(u: &mut Unstructured<'_>) -> Result<()> {
    let src_id = u.arbitrary()?;
    let kind = *u.choose(&Kind::ALL)?;
    let choice = u.int_in_range(0..=4)?;
    let ids = u.arbitrary_iter()?.collect::<Result<Vec<u32>>>()?;
    let ids: Vec<_> = ids.into_iter().map(U32::new).collect();
    let message = match kind {
        Kind::Join => Message::Join,
        Kind::Successor => Message::Successor {
            successor_id: u.arbitrary()?,
        },
        Kind::SuccessorRequest => Message::SuccessorRequest,
        Kind::Token => Message::Token {
            sequence: u.arbitrary()?,
        },
        Kind::TokenAck => Message::TokenAck {
            sequence: u.arbitrary()?,
        },
        Kind::CoordinatorElection => Message::CoordinatorElection {
            election: match choice {
                0 => Election::RingBased { ids: &ids },
                1 => Election::ChangRoberts {
                    candidate: u.arbitrary()?,
                },
                2 => Election::Bully,
                3 => Election::BullyOk,
                _ => Election::Coordinator {
                    method: *u.choose(&[Method::RingBased, Method::ChangRoberts, Method::Bully])?,
                    coordinator_id: u.arbitrary()?,
                },
            },
        },
    };
    let frame = Frame { src_id, message };
    let out = encode(&frame);
    assert_eq!(Frame::decode_datagram(&out), Ok(frame));
    Ok(())
}
