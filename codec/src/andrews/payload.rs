//! Reads a payload and checks the length that the frame's header declares.

use super::HEADER_LEN;
use crate::layout::Layout;
use crate::reader::Reader;
use crate::{DecodeError, Field, Problem};

/// The offset of payloadLen in a frame.
pub(super) const LEN_OFFSET: usize = 8;

/// Reads the next part of the payload. Fails if the part exceeds the declared length.
pub(super) fn view<'a, T: Layout>(reader: &mut Reader<'a>) -> Result<&'a T, DecodeError> {
    let end = reader.offset() + size_of::<T>();
    if end > reader.declared_end() {
        return Err(wrong_length(reader, end as u64));
    }
    reader.view()
}

/// Checks that the payload ends at the offset `end` according to its declared length, and returns an error otherwise.
pub(super) fn require_end(reader: &Reader<'_>, end: u64) -> Result<(), DecodeError> {
    if end == reader.declared_end() as u64 {
        return Ok(());
    }
    Err(wrong_length(reader, end))
}

#[cold]
fn wrong_length(reader: &Reader<'_>, end: u64) -> DecodeError {
    let problem = Problem::WrongLength {
        value: (reader.declared_end() - HEADER_LEN) as u64,
        expected: end - HEADER_LEN as u64,
    };
    DecodeError::new(Field::PayloadLen, LEN_OFFSET, problem)
}
