use std::vec::Vec;

use hex_literal::hex;
use proptest::prelude::*;

use super::*;
use crate::Field;
use crate::writer::encode;

fn shortest(value: i64) -> Vec<u8> {
    let mut buf = [0xaa; FORM_BYTES_MAX];
    let len = encode(&mut buf, |w| put(w, value)).unwrap();
    buf[..len].to_vec()
}

/// Returns `value` in the long form of `len` bytes, as the FTN document shows the bits.
fn long_form(value: i64, len: usize) -> Vec<u8> {
    let mut bytes = Vec::from(&i128::from(value).to_be_bytes()[16 - len..]);
    bytes[0] = bytes[0] & 0x0f | LONG_FORM_BIT | u8::try_from(len - 2).unwrap() << 4;
    bytes
}

#[test]
fn values_at_every_border_have_the_shortest_form() {
    let cases: [(i64, &[u8]); 14] = [
        (0, &hex!("00")),
        (63, &hex!("3f")),
        (-1, &hex!("7f")),
        (-64, &hex!("40")),
        (64, &hex!("80 40")),
        (-65, &hex!("8f bf")),
        (2047, &hex!("87 ff")),
        (-2048, &hex!("88 00")),
        (2048, &hex!("90 08 00")),
        (-2049, &hex!("9f f7 ff")),
        (i32::MAX.into(), &hex!("b0 7f ff ff ff")),
        (i32::MIN.into(), &hex!("bf 80 00 00 00")),
        (i64::MAX, &hex!("f0 7f ff ff ff ff ff ff ff")),
        (i64::MIN, &hex!("ff 80 00 00 00 00 00 00 00")),
    ];
    for (value, bytes) in cases {
        assert_eq!(shortest(value), bytes, "{value}");
        assert_eq!(long(&mut Reader::new(bytes), Field::Id), Ok(value));
    }
}

#[test]
fn a_value_that_does_not_fit_is_refused() {
    let offset_of = |error: DecodeError| (error.offset, error.problem);
    let too_wide_for_int = [i64::from(i32::MAX) + 1, i64::from(i32::MIN) - 1];
    for value in too_wide_for_int {
        let error = int(&mut Reader::new(&shortest(value)), Field::Id).unwrap_err();
        assert_eq!(offset_of(error), (0, Problem::DoesNotFit { bits: 32 }));
    }
    // 2^63 and -2^63 - 1 have a form of 68 bits.
    for bytes in [hex!("f0 8000000000000000"), hex!("ff 7fffffffffffffff")] {
        let error = long(&mut Reader::new(&bytes), Field::Id).unwrap_err();
        assert_eq!(offset_of(error), (0, Problem::DoesNotFit { bits: 64 }));
    }
}

#[test]
fn a_negative_length_is_refused() {
    let error = string(&mut Reader::new(&hex!("7f 61")), Field::Name).unwrap_err();
    assert_eq!(error.field, Field::Name);
    assert_eq!(error.problem, Problem::Illegal { value: -1 });
}

proptest! {
    #[test]
    fn every_long_decodes_from_its_shortest_form(value: i64, scale in 0..64) {
        let value = value >> scale;
        let bytes = shortest(value);
        prop_assert_eq!(long(&mut Reader::new(&bytes), Field::Id), Ok(value));
        for len in 2..bytes.len() {
            prop_assert_ne!(long(&mut Reader::new(&long_form(value, len)), Field::Id), Ok(value));
        }
    }

    #[test]
    fn every_longer_form_decodes_to_the_same_value(value: i64, scale in 0..64) {
        let value = value >> scale;
        for len in shortest(value).len().max(2)..=FORM_BYTES_MAX {
            let bytes = long_form(value, len);
            let mut reader = Reader::new(&bytes);
            prop_assert_eq!(long(&mut reader, Field::Id), Ok(value));
            prop_assert!(reader.rest().is_empty());
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        for cut in 0..bytes.len() {
            let _ = long(&mut Reader::new(&bytes[cut..]), Field::Id);
            let _ = string(&mut Reader::new(&bytes[cut..]), Field::Id);
        }
    }
}
