//! The one reader of all four formats: a position in borrowed bytes.
//!
//! No call panics, copies what it can borrow, or reads past the end. A call that finds too few
//! bytes returns [`Problem::Truncated`] with the field's name and offset and takes nothing.

use byteorder::{BigEndian, ByteOrder};
use zerocopy::FromBytes;

use crate::layout::{Layout, LayoutField, first_gap};
use crate::{DecodeError, Field, Problem};

/// Reads fields off the front of a byte slice. Public for [`Item`](crate::list::Item)'s sake alone:
/// no path leads to it from outside.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
    /// The least length of the whole input that is known to be needed.
    needed: usize,
    /// The most entries that a count may announce.
    max_count: u32,
    /// Where the message says that it ends.
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

    /// Bounds what [`count`](Self::count) accepts.
    pub(crate) const fn limit_counts(&mut self, max: u32) {
        self.max_count = max;
    }

    /// Bytes read so far, which is the offset of the next field.
    #[inline]
    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    /// Notes that the message says of itself to end `len` bytes from here.
    pub(crate) fn declare_end(&mut self, len: usize) {
        self.declared_end = self.offset.saturating_add(len);
    }

    /// Where the message says that it ends, as an offset.
    pub(crate) const fn declared_end(&self) -> usize {
        self.declared_end
    }

    /// The bytes not read yet.
    #[inline]
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Notes that the message takes at least `len` bytes from here on. Changes no result but
    /// [`missing`](Self::missing).
    #[inline]
    pub(crate) fn expect_at_least(&mut self, len: usize) {
        self.needed = self.needed.max(self.offset.saturating_add(len));
    }

    /// Notes that what is known to be needed is followed by at least `len` bytes more.
    pub(crate) fn expect_beyond(&mut self, len: usize) {
        self.needed = self.needed.saturating_add(len);
    }

    /// How many bytes the input is known to lack at least.
    pub(crate) fn missing(&self) -> usize {
        self.needed
            .saturating_sub(self.offset.saturating_add(self.rest.len()))
    }

    /// A fixed layout.
    #[inline]
    pub(crate) fn view<T: Layout>(&mut self) -> Result<&'a T, DecodeError> {
        match T::ref_from_prefix(self.rest) {
            Ok((view, rest)) => {
                self.rest = rest;
                self.offset += size_of::<T>();
                Ok(view)
            }
            Err(_) => Err(self.cut_layout::<T>()),
        }
    }

    /// A fixed layout at the end of a message, if it is there and one; anything else is padding.
    #[inline]
    pub(crate) fn trailer<T: Layout>(&mut self, is_one: impl FnOnce(&T) -> bool) -> Option<&'a T> {
        let (view, rest) = T::ref_from_prefix(self.rest).ok()?;
        is_one(view).then(|| {
            self.rest = rest;
            self.offset += size_of::<T>();
            view
        })
    }

    /// `count` fixed layouts in a row, which `field` names together.
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
            Err(_) => Err(self.cut(field, count.saturating_mul(size_of::<T>()))),
        }
    }

    /// `len` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, field: Field, len: usize) -> Result<&'a [u8], DecodeError> {
        match self.rest.split_at_checked(len) {
            Some((bytes, rest)) => {
                self.rest = rest;
                self.offset += len;
                Ok(bytes)
            }
            None => Err(self.cut(field, len)),
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

    /// The number of entries of a list, which must be within the limit.
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

    /// Refuses bytes after a datagram's message.
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

    /// Says that a message without a length of its own may go on: it lacks a byte, or the end.
    pub(crate) fn wait_for_end(&mut self) -> DecodeError {
        self.cut(Field::Data, self.rest.len().saturating_add(1))
    }

    /// The error for `need` bytes that are not there.
    #[inline]
    fn cut(&mut self, field: Field, need: usize) -> DecodeError {
        self.expect_at_least(need);
        truncated(field, self.offset, need, self.rest.len())
    }

    /// The error for a layout that is not there in full.
    #[inline]
    fn cut_layout<T: Layout>(&mut self) -> DecodeError {
        self.expect_at_least(size_of::<T>());
        truncated_layout(T::FIELDS, self.offset, self.rest.len())
    }
}

// Out of line, and by value: a reader whose address is passed on could not live in registers.

#[cold]
fn truncated(field: Field, offset: usize, need: usize, have: usize) -> DecodeError {
    DecodeError::new(field, offset, Problem::Truncated { need, have })
}

#[cold]
fn truncated_layout(fields: &[LayoutField], offset: usize, have: usize) -> DecodeError {
    let gap = first_gap(fields, have);
    truncated(gap.field, offset + gap.offset, gap.need, gap.have)
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
