//! The reader of all four formats: a position in borrowed bytes.
//!
//! No call panics, copies bytes that it can borrow, or reads past the end. If too few bytes are left, a call returns
//! [`Problem::Truncated`] with the field's name and offset, and consumes no bytes.

use byteorder::{BigEndian, ByteOrder};
use zerocopy::FromBytes;

use crate::layout::{Layout, LayoutField, first_gap};
use crate::{DecodeError, Field, Problem};

/// Reads fields from the front of a byte slice. This type is public only because of [`Item`](crate::list::Item). Other
/// crates cannot name this type.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
    /// The smallest possible length of the whole input, according to the bytes read up to here.
    needed: usize,
    /// The largest number of entries that a count may announce.
    max_count: u32,
    /// The end offset of the message, according to the length in the message.
    declared_end: usize,
}

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) const fn new(input: &'a [u8]) -> Self {
        Self {
            rest: input,
            offset: 0,
            needed: 0,
            max_count: u32::MAX,
            declared_end: usize::MAX,
        }
    }

    /// Limits the values that [`count`](Self::count) accepts.
    pub(crate) const fn limit_counts(&mut self, max: u32) {
        self.max_count = max;
    }

    /// Returns the number of bytes read, which is the offset of the next field.
    #[inline]
    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    /// Records that the declared length makes the message end `len` bytes after the current offset.
    pub(crate) fn declare_end(&mut self, len: usize) {
        self.declared_end = self.offset.saturating_add(len);
    }

    /// Returns the declared end of the message, as an offset.
    pub(crate) const fn declared_end(&self) -> usize {
        self.declared_end
    }

    /// Returns the unread bytes.
    #[inline]
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Records that at least `len` more bytes are needed. This affects only [`missing`](Self::missing).
    #[inline]
    pub(crate) fn expect_at_least(&mut self, len: usize) {
        self.needed = self.needed.max(self.offset.saturating_add(len));
    }

    /// Records that the message contains at least `len` bytes after the bytes that are already known to be needed.
    pub(crate) fn expect_beyond(&mut self, len: usize) {
        self.needed = self.needed.saturating_add(len);
    }

    /// Returns the smallest number of bytes that the input lacks.
    pub(crate) fn missing(&self) -> usize {
        self.needed
            .saturating_sub(self.offset.saturating_add(self.rest.len()))
    }

    /// Reads a fixed layout.
    #[inline]
    pub(crate) fn view<T: Layout>(&mut self) -> Result<&'a T, DecodeError> {
        match T::ref_from_prefix(self.rest) {
            Ok((view, rest)) => {
                self.rest = rest;
                self.offset += size_of::<T>();
                Ok(view)
            }
            Err(_) => Err(self.layout_truncation::<T>()),
        }
    }

    /// Reads a fixed layout at the end of a message. If the next bytes have a different layout, they are padding.
    #[inline]
    pub(crate) fn trailer<T: Layout>(
        &mut self,
        is_valid: impl FnOnce(&T) -> bool,
    ) -> Option<&'a T> {
        let (view, rest) = T::ref_from_prefix(self.rest).ok()?;
        is_valid(view).then(|| {
            self.rest = rest;
            self.offset += size_of::<T>();
            view
        })
    }

    /// Reads `count` fixed layouts in a row. An error names `field`, and not a field of the layouts.
    #[inline]
    pub(crate) fn views<T: Layout>(
        &mut self,
        field: Field,
        count: usize,
    ) -> Result<&'a [T], DecodeError> {
        match <[T]>::ref_from_prefix_with_elems(self.rest, count) {
            Ok((views, rest)) => {
                self.rest = rest;
                self.offset += size_of_val::<[T]>(views);
                Ok(views)
            }
            Err(_) => Err(self.truncation(field, count.saturating_mul(size_of::<T>()))),
        }
    }

    /// Reads `len` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, field: Field, len: usize) -> Result<&'a [u8], DecodeError> {
        match self.rest.split_at_checked(len) {
            Some((bytes, rest)) => {
                self.rest = rest;
                self.offset += len;
                Ok(bytes)
            }
            None => Err(self.truncation(field, len)),
        }
    }

    #[inline]
    pub(crate) fn u8(&mut self, field: Field) -> Result<u8, DecodeError> {
        self.bytes(field, size_of::<u8>()).map(|b| b[0])
    }

    #[inline]
    pub(crate) fn u32(&mut self, field: Field) -> Result<u32, DecodeError> {
        self.bytes(field, size_of::<u32>()).map(BigEndian::read_u32)
    }

    /// Reads the number of entries of a list, which must be within the limit.
    pub(crate) fn count(&mut self, field: Field) -> Result<u32, DecodeError> {
        let offset = self.offset;
        let count = self.u32(field)?;
        if count > self.max_count {
            let (value, max) = (count.into(), self.max_count.into());
            let problem = Problem::TooLarge { value, max };
            return Err(DecodeError::new(field, offset, problem));
        }
        Ok(count)
    }

    pub(crate) fn end_of_datagram(&self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            extra => Err(DecodeError::new(
                Field::Datagram,
                self.offset,
                Problem::Trailing { extra },
            )),
        }
    }

    /// Returns the error for a message that declares no length, so that it ends only with its stream. Before the stream
    /// ends, a message without a length may always get one more byte.
    pub(crate) fn wait_for_end(&mut self) -> DecodeError {
        self.truncation(Field::Data, self.rest.len().saturating_add(1))
    }

    /// Returns the error for `need` missing bytes.
    #[inline]
    fn truncation(&mut self, field: Field, need: usize) -> DecodeError {
        self.expect_at_least(need);
        truncation_error(field, self.offset, need, self.rest.len())
    }

    /// Returns the error for an incomplete layout.
    #[inline]
    fn layout_truncation<T: Layout>(&mut self) -> DecodeError {
        self.expect_at_least(size_of::<T>());
        truncated_layout(T::FIELDS, self.offset, self.rest.len())
    }
}

// This function is not inlined and takes values: a reader whose address is passed on cannot stay in registers.

#[cold]
fn truncation_error(field: Field, offset: usize, need: usize, have: usize) -> DecodeError {
    DecodeError::new(field, offset, Problem::Truncated { need, have })
}

#[cold]
fn truncated_layout(fields: &[LayoutField], offset: usize, have: usize) -> DecodeError {
    let gap = first_gap(fields, have);
    truncation_error(gap.field, offset + gap.offset, gap.need, gap.have)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::byteorder::network_endian::U32;

    #[test]
    fn a_failed_read_takes_nothing_and_says_what_is_missing() {
        let mut reader = Reader::new(&[1, 2, 3]);
        let error = reader.u32(Field::Id).unwrap_err();
        assert_eq!((error.field, error.offset), (Field::Id, 0));
        assert_eq!(error.problem, Problem::Truncated { need: 4, have: 3 });
        assert_eq!(reader.missing(), 1);
        assert_eq!(reader.rest(), [1, 2, 3]);
        assert_eq!(reader.u8(Field::Kind), Ok(1));
        assert_eq!(reader.offset(), 1);
    }

    #[test]
    fn lengths_past_the_address_space_are_only_truncation() {
        let mut reader = Reader::new(&[0; 8]);
        reader.u8(Field::Kind).unwrap();
        for count in [usize::MAX, usize::MAX / 4, usize::MAX / 4 + 1] {
            let error = reader.views::<U32>(Field::Ids, count).unwrap_err();
            assert!(matches!(error.problem, Problem::Truncated { have: 7, .. }));
        }
        assert!(reader.bytes(Field::Data, usize::MAX).is_err());
        assert!(reader.missing() > 0);
    }

    #[test]
    fn the_longest_expectation_is_kept() {
        let mut reader = Reader::new(&[0; 4]);
        reader.expect_at_least(10);
        reader.u8(Field::Kind).unwrap();
        reader.expect_at_least(4);
        assert_eq!(reader.missing(), 6);
    }

    #[test]
    fn a_count_above_the_limit_is_wrong_even_if_nothing_follows() {
        let mut reader = Reader::new(&[0, 0, 0, 3]);
        reader.limit_counts(2);
        let error = reader.count(Field::Count).unwrap_err();
        assert_eq!(error.problem, Problem::TooLarge { value: 3, max: 2 });
        let mut reader = Reader::new(&[0, 0, 0, 3]);
        reader.limit_counts(3);
        assert_eq!(reader.count(Field::Count), Ok(3));
    }
}
