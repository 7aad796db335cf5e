//! Runs the checks on random bytes, on random values, and on valid messages with random changes.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::checks::FORMATS;
use crate::corpus;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn random_bytes_are_a_message_or_an_error(input in vec(any::<u8>(), 0..300)) {
        for format in FORMATS {
            (format.bytes)(&input);
        }
    }

    #[test]
    fn legal_values_survive_encoding_and_decoding(seed in vec(any::<u8>(), 0..3_000)) {
        for format in FORMATS {
            (format.value)(&seed);
        }
    }

    #[test]
    fn changed_messages_are_messages_or_errors(
        (format, mut bytes) in select(corpus::all()),
        changes in vec((any::<Index>(), any::<u8>()), 0..4),
        cut in any::<Index>(),
        more in vec(any::<u8>(), 0..40),
    ) {
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        bytes.extend(more);
        (format.bytes)(&bytes);
    }
}
