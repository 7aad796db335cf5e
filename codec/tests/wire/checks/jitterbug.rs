//! Checks of Jitterbug.

use std::net::IpAddr;

use arbitrary::{Result, Unstructured};
use ring_codec::jitterbug::{Kind, MAX_NODES, Message, Node, Terms, TokenId, node_list_hash};
use ring_codec::{StreamState, Streamed};

use super::{check_error, decode_in_portions, encode_checked};

/// Checks that these bytes decode to a message, as a datagram and on a stream, and that the message encodes to the same
/// bytes. If the bytes do not decode, checks that the error has a correct offset.
pub(crate) fn bytes(input: &[u8]) {
    match Message::decode_datagram(input) {
        Ok(message) => check_bytes(message, input),
        Err(error) => check_error(error, input),
    }
    let decode = |bytes, state| Message::decode_stream(bytes, state, MAX_NODES);
    if let Some((message, consumed)) = decode_in_portions(input, decode) {
        check_bytes(message, &input[..consumed]);
    }
}

fn check_bytes(message: Message<'_>, input: &[u8]) {
    assert_eq!(encode(&message), input);
    if let Message::Tp4 { node_list } = message {
        assert_eq!(node_list.iter().count(), node_list.len());
        // The hash does not include the byte with the type.
        let hash = input[1..].iter().fold(0_i32, |hash, byte| {
            hash.wrapping_mul(577)
                .wrapping_add(byte.cast_signed().into())
        });
        assert_eq!(node_list_hash(&node_list), hash);
    }
}

fn encode(message: &Message<'_>) -> Vec<u8> {
    encode_checked(message.encoded_len(), |buf| message.encode(buf))
}

/// Whether these bytes are exactly one message.
pub(crate) fn decodes(input: &[u8]) -> bool {
    let is_whole = |decoded| match decoded {
        Ok(Streamed::Message { consumed, .. }) => consumed == input.len(),
        _ => false,
    };
    Message::decode_datagram(input).is_ok()
        || is_whole(Message::decode_stream(input, StreamState::Ended, MAX_NODES))
}

/// Checks that a legal message, built from these bytes, survives encoding and decoding.
pub(crate) fn value(seed: &[u8]) {
    let _ = build(&mut Unstructured::new(seed));
}

fn build(u: &mut Unstructured<'_>) -> Result<()> {
    let random = u.int_in_range(1..=i32::MAX.unsigned_abs())?;
    let token_id = TokenId::new(random, u.arbitrary()?).expect("1 to 2^31 - 1");
    match *u.choose(&Kind::ALL)? {
        Kind::Tr1 => {
            let node_tcp_port = u.arbitrary()?;
            check(Message::Tr1 {
                token_id,
                node_tcp_port,
                terms: optional_terms(u)?,
            });
        }
        Kind::Tr2 => check(Message::Tr2 {
            token_id,
            terms: optional_terms(u)?,
        }),
        Kind::Tp1 => {
            let node_list_hash = u.arbitrary()?;
            check(Message::Tp1 {
                token_id,
                node_list_hash,
            });
        }
        Kind::Tp2 => check(Message::Tp2),
        Kind::Tp3 => check(Message::Tp3),
        Kind::Tp4 => {
            let nodes = u
                .arbitrary_iter()?
                .collect::<Result<Vec<(IpAddr, u16)>>>()?;
            let nodes: Vec<_> = nodes
                .into_iter()
                .map(|(ip, port)| Node { ip, port })
                .collect();
            let node_list = nodes.as_slice().into();
            check(Message::Tp4 { node_list });
        }
        Kind::Tp5 => {
            let data = u.arbitrary()?;
            check(Message::Tp5 { token_id, data });
        }
        Kind::Tp6 => check(Message::Tp6 { terms: terms(u)? }),
    }
    Ok(())
}

fn optional_terms(u: &mut Unstructured<'_>) -> Result<Option<Terms>> {
    u.arbitrary::<bool>()?.then(|| terms(u)).transpose()
}

fn terms(u: &mut Unstructured<'_>) -> Result<Terms> {
    Ok(Terms {
        lease_us: u.arbitrary()?,
        shortest_us: u.arbitrary()?,
        longest_us: u.arbitrary()?,
        renew_ms: u.arbitrary()?,
        pass_ms: u.arbitrary()?,
        follows: u.arbitrary()?,
        policy: u.arbitrary()?,
        is_followed: u.arbitrary()?,
        asks: u.arbitrary()?,
    })
}

fn check(message: Message<'_>) {
    let out = encode(&message);
    if message.kind().is_datagram() {
        assert_eq!(Message::decode_datagram(&out), Ok(message));
        return;
    }
    let consumed = out.len();
    assert_eq!(
        Message::decode_stream(&out, StreamState::Ended, MAX_NODES),
        Ok(Streamed::Message { message, consumed })
    );
}
