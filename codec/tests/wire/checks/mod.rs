//! What holds for any bytes and for any values, format by format. The tests and the fuzz targets
//! share it: each function panics where a promise is broken.

pub(crate) mod andrews;
pub(crate) mod ftn;
pub(crate) mod jitterbug;
pub(crate) mod lab2;

use std::fmt::Debug;

use ring_codec::{DecodeError, EncodeError, Problem, StreamState, Streamed};

/// What buffers are filled with before something is written into them.
const DIRT: u8 = 0xa5;

/// One format's checks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Format {
    /// Its name: of its fuzz target, its corpus and its module.
    pub name: &'static str,
    /// Whatever decodes encodes to the same bytes; what does not says why and where.
    pub bytes: fn(&[u8]),
    /// Whether these bytes are a whole message.
    pub decodes: fn(&[u8]) -> bool,
    /// A legal value made from these bytes decodes from what it encodes to.
    pub value: fn(&[u8]),
}

/// Every format.
pub(crate) const FORMATS: [Format; 4] = [
    Format {
        name: "andrews",
        bytes: andrews::bytes,
        decodes: andrews::decodes,
        value: andrews::value,
    },
    Format {
        name: "ftn",
        bytes: ftn::bytes,
        decodes: ftn::decodes,
        value: ftn::value,
    },
    Format {
        name: "jitterbug",
        bytes: jitterbug::bytes,
        decodes: jitterbug::decodes,
        value: jitterbug::value,
    },
    Format {
        name: "lab2",
        bytes: lab2::bytes,
        decodes: lab2::decodes,
        value: lab2::value,
    },
];

/// What `encode` writes, which must be `len` bytes and leave all others alone.
fn written(len: usize, encode: impl Fn(&mut [u8]) -> Result<usize, EncodeError>) -> Vec<u8> {
    let mut buf = vec![DIRT; len + 16];
    assert_eq!(encode(&mut buf), Ok(len), "the predicted length");
    assert!(buf[len..].iter().all(|b| *b == DIRT), "nothing past it");
    buf.truncate(len);
    if let Some(have) = len.checked_sub(1) {
        let mut short = vec![DIRT; have];
        let too_small = EncodeError::BufferTooSmall { need: len, have };
        assert_eq!(encode(&mut short), Err(too_small));
        assert!(short.iter().all(|b| *b == DIRT), "nothing at all");
    }
    buf
}

/// An error points into the input, and what it says of lengths is so.
fn located(error: DecodeError, input: &[u8]) {
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

/// The message at the front of a stream that has ended, and its length; checks that the same comes
/// of it however few bytes arrive at a time.
fn streamed<'a, M: PartialEq + Debug>(
    bytes: &'a [u8],
    decode: impl Fn(&'a [u8], StreamState) -> Result<Streamed<M>, DecodeError>,
) -> Option<(M, usize)> {
    let open = decode(bytes, StreamState::Open);
    let ended = decode(bytes, StreamState::Ended);
    match (&open, &ended) {
        (Ok(Streamed::Incomplete { .. }), Ok(Streamed::Message { consumed, .. })) => {
            assert_eq!(*consumed, bytes.len(), "what only the end completes");
        }
        (Ok(Streamed::Incomplete { .. }), Err(error)) => {
            assert!(error.is_truncated(), "{error}");
            fed(bytes, &open, &decode);
        }
        _ => {
            assert_eq!(open, ended);
            fed(bytes, &open, &decode);
        }
    }
    match ended {
        Ok(Streamed::Message { message, consumed }) => Some((message, consumed)),
        Ok(Streamed::Incomplete { .. }) => panic!("nothing more can come"),
        Err(error) => {
            located(error, bytes);
            None
        }
    }
}

/// Brings the bytes in the portions that the decoder asks for. It must arrive at `whole`, without
/// asking for a byte that the message does not have, and in few steps.
fn fed<'a, M: PartialEq + Debug>(
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
                // What is there may be wrong already, but it is no message.
                assert!(!matches!(whole, Ok(Streamed::Message { .. })));
                return;
            }
            continue;
        }
        assert_eq!(result, *whole);
        if let Ok(Streamed::Message { consumed, .. }) = result {
            assert_eq!(consumed, have, "no byte too many asked for");
        }
        return;
    }
    panic!("too many steps");
}
