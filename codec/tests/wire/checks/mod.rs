//! Checks of each format with any bytes and any values. Tests and fuzz targets share these checks. A check panics on a
//! violation.

pub(crate) mod andrews;
pub(crate) mod ftn;
pub(crate) mod jitterbug;
pub(crate) mod lab2;

use std::fmt::Debug;

use ring_codec::{DecodeError, EncodeError, Problem, StreamState, Streamed};

/// The value to which every byte of an output buffer is set before encoding. A byte with a different value was written
/// by the encoder.
const FILL: u8 = 0xa5;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// The name of the fuzz target, the corpus and the module.
    pub name: &'static str,
    /// The page with the layouts and the worked examples, in the folder `docs`.
    pub page: &'static str,
    /// If the bytes decode, checks that the result encodes to the same bytes. If the bytes do not decode, checks that
    /// the error has a correct offset.
    pub bytes: fn(&[u8]),
    /// Whether these bytes are exactly one message.
    pub decodes: fn(&[u8]) -> bool,
    /// Checks that a legal value, built from these bytes, survives encoding and decoding.
    pub value: fn(&[u8]),
}

pub(crate) const FORMATS: [Format; 4] = [
    Format {
        name: "andrews",
        page: "board/messages.md",
        bytes: andrews::bytes,
        decodes: andrews::decodes,
        value: andrews::value,
    },
    Format {
        name: "ftn",
        page: "token-service/messages.md",
        bytes: ftn::bytes,
        decodes: ftn::decodes,
        value: ftn::value,
    },
    Format {
        name: "jitterbug",
        page: "jitterbug/datagrams.md",
        bytes: jitterbug::bytes,
        decodes: jitterbug::decodes,
        value: jitterbug::value,
    },
    Format {
        name: "lab2",
        page: "reference/lab2/frames.md",
        bytes: lab2::bytes,
        decodes: lab2::decodes,
        value: lab2::value,
    },
];

/// Returns the output of `encode`. The function must write exactly `len` bytes.
fn encode_checked(len: usize, encode: impl Fn(&mut [u8]) -> Result<usize, EncodeError>) -> Vec<u8> {
    let mut buf = vec![FILL; len + 16];
    assert_eq!(
        encode(&mut buf),
        Ok(len),
        "the predicted length differs from the written one"
    );
    assert!(
        buf[len..].iter().all(|b| *b == FILL),
        "the encoder wrote behind the message"
    );
    buf.truncate(len);
    if let Some(have) = len.checked_sub(1) {
        let mut short = vec![FILL; have];
        let too_small = EncodeError::BufferTooSmall { need: len, have };
        assert_eq!(encode(&mut short), Err(too_small));
        assert!(
            short.iter().all(|b| *b == FILL),
            "the encoder wrote into a short buffer"
        );
    }
    buf
}

/// Checks that an error's offset lies in the input and that its lengths are correct.
fn check_error(error: DecodeError, input: &[u8]) {
    assert!(error.offset <= input.len(), "{error}");
    let left = input.len() - error.offset;
    match error.problem {
        Problem::Truncated { need, have } => {
            assert!(have < need, "{error}");
            assert_eq!(have, left, "{error}");
        }
        Problem::Trailing { extra } => assert_eq!(extra, left, "{error}"),
        _ => assert!(left > 0, "{error}"),
    }
}

/// Returns the message at the start of an ended stream, and its length. Checks that the size of the portions does not
/// change the result.
fn decode_in_portions<'a, M: PartialEq + Debug>(
    bytes: &'a [u8],
    decode: impl Fn(&'a [u8], StreamState) -> Result<Streamed<M>, DecodeError>,
) -> Option<(M, usize)> {
    let open = decode(bytes, StreamState::Open);
    let ended = decode(bytes, StreamState::Ended);
    match (&open, &ended) {
        (Ok(Streamed::Incomplete { .. }), Ok(Streamed::Message { consumed, .. })) => {
            assert_eq!(
                *consumed,
                bytes.len(),
                "the end completed only a part of the stream"
            );
        }
        (Ok(Streamed::Incomplete { .. }), Err(error)) => {
            assert!(error.is_truncated(), "{error}");
            check_portions(bytes, &open, &decode);
        }
        _ => {
            assert_eq!(open, ended);
            check_portions(bytes, &open, &decode);
        }
    }
    match ended {
        Ok(Streamed::Message { message, consumed }) => Some((message, consumed)),
        Ok(Streamed::Incomplete { .. }) => panic!("the decoder waits on an ended stream"),
        Err(error) => {
            check_error(error, bytes);
            None
        }
    }
}

/// Supplies the bytes in the portions that the decoder asks for. The decoder must reach the result `whole` in a few
/// steps, and must not ask for bytes after the message.
fn check_portions<'a, M: PartialEq + Debug>(
    bytes: &'a [u8],
    whole: &Result<Streamed<M>, DecodeError>,
    decode: &impl Fn(&'a [u8], StreamState) -> Result<Streamed<M>, DecodeError>,
) {
    let mut have = 0;
    for _ in 0..64 {
        let result = decode(&bytes[..have], StreamState::Open);
        if let Ok(Streamed::Incomplete { more }) = result {
            assert!(more > 0);
            have += more;
            if have > bytes.len() {
                // The available bytes may be illegal, but they are no message.
                assert!(!matches!(whole, Ok(Streamed::Message { .. })));
                return;
            }
            continue;
        }
        assert_eq!(result, *whole);
        if let Ok(Streamed::Message { consumed, .. }) = result {
            assert_eq!(
                consumed, have,
                "the decoder asked for bytes after the message"
            );
        }
        return;
    }
    panic!("the decoder took too many steps");
}
