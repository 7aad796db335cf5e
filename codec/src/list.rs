//! Lists whose entries vary in length. The bytes of a list belong to a decoded message, or to the caller.

use core::fmt;
use core::iter::FusedIterator;

use crate::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

/// An entry of a [`List`]. Only this crate can implement the trait, because its methods take types that other crates
/// cannot name.
pub trait Item<'a>: Copy {
    /// The smallest length of an entry in bytes, at least 1.
    #[doc(hidden)]
    const MIN_LEN: usize;

    /// Reads one entry.
    #[doc(hidden)]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;

    /// Writes one entry.
    #[doc(hidden)]
    fn write(&self, writer: &mut Writer<'_>);
}

/// A list of entries whose lengths vary. The list borrows the bytes of a decoded message, or a slice to encode.
///
/// Decoding has checked every entry, so iterating cannot fail. Two lists are equal if their entries are equal.
#[derive(Clone, Copy)]
pub struct List<'a, T> {
    source: Source<'a, T>,
}

#[derive(Clone, Copy)]
enum Source<'a, T> {
    Slice(&'a [T]),
    Wire { count: usize, bytes: &'a [u8] },
}

impl<T> List<'_, T> {
    /// Returns the number of entries.
    pub const fn len(&self) -> usize {
        match self.source {
            Source::Slice(entries) => entries.len(),
            Source::Wire { count, .. } => count,
        }
    }

    /// Whether the list is empty.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a, T: Item<'a>> List<'a, T> {
    /// Iterates over the entries in order.
    pub fn iter(&self) -> Iter<'a, T> {
        Iter {
            source: self.source,
        }
    }

    pub(crate) fn read(reader: &mut Reader<'a>, count: usize) -> Result<Self, DecodeError> {
        let before = reader.rest();
        let first = reader.offset();
        for behind in (0..count).rev() {
            reader.expect_at_least(T::MIN_LEN);
            if let Err(error) = T::read(reader) {
                reader.expect_beyond(behind.saturating_mul(T::MIN_LEN));
                return Err(error);
            }
        }
        // The range is valid, because the reader has already read these bytes.
        let bytes = before.get(..reader.offset() - first).unwrap_or_default();
        Ok(Self {
            source: Source::Wire { count, bytes },
        })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        for entry in self {
            entry.write(writer);
        }
    }
}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        Self::from(&[])
    }
}

impl<'a, T> From<&'a [T]> for List<'a, T> {
    fn from(entries: &'a [T]) -> Self {
        Self {
            source: Source::Slice(entries),
        }
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for List<'a, T> {
    fn from(entries: &'a [T; N]) -> Self {
        Self::from(entries.as_slice())
    }
}

impl<'a, T: Item<'a> + PartialEq> PartialEq for List<'a, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<'a, T: Item<'a> + Eq> Eq for List<'a, T> {}

impl<'a, T: Item<'a> + fmt::Debug> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a, T: Item<'a>> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T: Item<'a>> IntoIterator for &List<'a, T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

/// An iterator over the entries of a [`List`], in order.
#[derive(Clone)]
pub struct Iter<'a, T> {
    source: Source<'a, T>,
}

impl<'a, T: Item<'a>> Iterator for Iter<'a, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        match &mut self.source {
            Source::Slice(entries) => {
                let (first, rest) = entries.split_first()?;
                *entries = rest;
                Some(*first)
            }
            Source::Wire { count, bytes } => {
                *count = count.checked_sub(1)?;
                let mut reader = Reader::new(bytes);
                // The decoder has already read this entry without an error.
                let entry = T::read(&mut reader).ok();
                *bytes = reader.rest();
                entry
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = match self.source {
            Source::Slice(entries) => entries.len(),
            Source::Wire { count, .. } => count,
        };
        (left, Some(left))
    }
}

impl<'a, T: Item<'a>> ExactSizeIterator for Iter<'a, T> {}
impl<'a, T: Item<'a>> FusedIterator for Iter<'a, T> {}
