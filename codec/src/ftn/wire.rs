//! Integers and strings on the wire.

use byteorder::{BigEndian, ByteOrder};

use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, Problem};

/// If this bit of the first byte is 1, the number has a long form.
const LONG_FORM_BIT: u8 = 0x80;
/// Length of the longest form in bytes: the first byte, whose `bbb` is 7, and 8 more bytes.
const FORM_BYTES_MAX: usize = 9;

/// Returns the number of value bits of the long form with `len` bytes. All bits except the first four are value bits.
const fn long_bits(len: usize) -> usize {
    8 * len - 4
}

/// Whether `value` fits the two's complement of `bits` bits.
const fn fits(value: i128, bits: usize) -> bool {
    sign_extend(value, bits) == value
}

/// Reads the low `bits` bits of `value` as a number in two's complement, and returns this number.
const fn sign_extend(value: i128, bits: usize) -> i128 {
    let unused = i128::BITS as usize - bits;
    value << unused >> unused
}

fn integer(reader: &mut Reader<'_>, field: Field, bits: u32) -> Result<i128, DecodeError> {
    let offset = reader.offset();
    let first = reader.rest().first().copied().unwrap_or_default();
    let value = if first & LONG_FORM_BIT == 0 {
        sign_extend(reader.u8(field)?.into(), 7)
    } else {
        let len = usize::from(first >> 4 & 7) + 2;
        let bytes = reader.bytes(field, len)?;
        let raw = BigEndian::read_uint128(bytes, len).cast_signed();
        sign_extend(raw, long_bits(len))
    };
    if fits(value, bits as usize) {
        return Ok(value);
    }
    Err(DecodeError::new(
        field,
        offset,
        Problem::DoesNotFit { bits },
    ))
}

/// Reads an int, 32 bits.
pub(super) fn int(reader: &mut Reader<'_>, field: Field) -> Result<i32, DecodeError> {
    // Cannot truncate: `integer` has checked that the value fits.
    #[expect(clippy::cast_possible_truncation)]
    integer(reader, field, i32::BITS).map(|value| value as i32)
}

/// Reads a long, 64 bits.
pub(super) fn long(reader: &mut Reader<'_>, field: Field) -> Result<i64, DecodeError> {
    // Cannot truncate: `integer` has checked that the value fits.
    #[expect(clippy::cast_possible_truncation)]
    integer(reader, field, i64::BITS).map(|value| value as i64)
}

/// Number of low bits of a seq that contain the round.
const ROUND_BITS: u32 = 32;

/// Reads a seq: two longs, the configuration's number and the round.
pub(super) fn seq(reader: &mut Reader<'_>) -> Result<i128, DecodeError> {
    let configuration = natural(reader, Field::Configuration, i64::MAX)?;
    let round = natural(reader, Field::Round, (1 << ROUND_BITS) - 1)?;
    Ok(i128::from(configuration) << ROUND_BITS | i128::from(round))
}

/// Reads a long from 0 to `max`.
fn natural(reader: &mut Reader<'_>, field: Field, max: i64) -> Result<i64, DecodeError> {
    let offset = reader.offset();
    let value = long(reader, field)?;
    if (0..=max).contains(&value) {
        return Ok(value);
    }
    Err(DecodeError::new(field, offset, Problem::Illegal { value }))
}

/// Reads an int. Returns an error if `meaning_of` returns no value for this int.
pub(super) fn decode_enum<T>(
    reader: &mut Reader<'_>,
    field: Field,
    meaning_of: impl FnOnce(i32) -> Option<T>,
) -> Result<T, DecodeError> {
    let offset = reader.offset();
    let value = int(reader, field)?;
    meaning_of(value).ok_or_else(|| {
        let value = value.into();
        DecodeError::new(field, offset, Problem::Illegal { value })
    })
}

/// Reads the length of a string or the number of an array's entries.
pub(super) fn length(reader: &mut Reader<'_>, field: Field) -> Result<usize, DecodeError> {
    decode_enum(reader, field, |value| usize::try_from(value).ok())
}

/// Reads the number of a part, and then the total number of parts. The total must be larger than the part's number.
pub(super) fn part(reader: &mut Reader<'_>) -> Result<(i32, i32), DecodeError> {
    let offset = reader.offset();
    let part = int(reader, Field::Part)?;
    let parts = int(reader, Field::Parts)?;
    if !(0..parts).contains(&part) {
        let value = part.into();
        let problem = Problem::Illegal { value };
        return Err(DecodeError::new(Field::Part, offset, problem));
    }
    Ok((part, parts))
}

/// Writes the number of a part, and then the total number of parts. The total must be larger than the part's number.
pub(super) fn put_part(writer: &mut Writer<'_>, part: i32, parts: i32) {
    writer.require((0..parts).contains(&part), Field::Part);
    put(writer, part);
    put(writer, parts);
}

/// Reads a string.
pub(super) fn string<'a>(reader: &mut Reader<'a>, field: Field) -> Result<&'a [u8], DecodeError> {
    let len = length(reader, field)?;
    reader.bytes(field, len)
}

/// Writes an int or a long in its shortest form.
pub(super) fn put(writer: &mut Writer<'_>, value: impl Into<i64>) {
    let value = i128::from(value.into());
    if fits(value, 7) {
        writer.bytes(&[value.to_le_bytes()[0] & !LONG_FORM_BIT]);
        return;
    }
    // Every long fits the longest form.
    let len = (2..FORM_BYTES_MAX)
        .find(|len| fits(value, long_bits(*len)))
        .unwrap_or(FORM_BYTES_MAX);
    let bits = long_bits(len);
    let head = 0b1000 | (len as u128 - 2);
    let number = value.cast_unsigned() & ((1 << bits) - 1) | head << bits;
    let mut form = [0; FORM_BYTES_MAX];
    BigEndian::write_uint128(&mut form, number, len);
    writer.bytes(form.get(..len).unwrap_or_default());
}

/// Writes a seq, whose configuration must fit a long.
pub(super) fn put_seq(writer: &mut Writer<'_>, seq: i128) {
    let configuration = i64::try_from(seq >> ROUND_BITS).ok().filter(|c| *c >= 0);
    writer.require(configuration.is_some(), Field::Configuration);
    put(writer, configuration.unwrap_or_default());
    // Cannot truncate: only 32 bits are left.
    put(writer, (seq & ((1 << ROUND_BITS) - 1)) as i64);
}

/// Writes the length of a string or the number of an array's entries. The length or number must fit an int.
pub(super) fn put_length(writer: &mut Writer<'_>, field: Field, len: usize) {
    writer.require_len(field, len, i32::MAX as usize);
    put(writer, i32::try_from(len).unwrap_or(i32::MAX));
}

/// Writes a string.
pub(super) fn put_string(writer: &mut Writer<'_>, field: Field, bytes: &[u8]) {
    put_length(writer, field, bytes.len());
    writer.bytes(bytes);
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
