//! The writer of all four formats.
//!
//! The same code writes a message in two passes. In the first pass, the writer has no buffer, and only measures and
//! checks the message. In the second pass, the writer writes into the caller's buffer. So the predicted length equals
//! the written length, and a refused message writes no bytes.

use zerocopy::{Immutable, IntoBytes};

use crate::{EncodeError, Field};

/// Writes fields in order. When the buffer is full, the writer only counts bytes. This type is public only because of
/// [`Item`](crate::list::Item). Other crates cannot name this type.
#[derive(Debug)]
pub struct Writer<'b> {
    buf: &'b mut [u8],
    len: usize,
    refused: Option<EncodeError>,
}

impl Writer<'_> {
    fn new(buf: &mut [u8]) -> Writer<'_> {
        Writer {
            buf,
            len: 0,
            refused: None,
        }
    }

    #[inline]
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        if let Some(to) = self.buf.get_mut(self.len..end) {
            to.copy_from_slice(bytes);
        }
        self.len = end;
    }

    /// Writes a fixed layout, or several layouts in a row.
    #[inline]
    pub(crate) fn layout<T: IntoBytes + Immutable + ?Sized>(&mut self, value: &T) {
        self.bytes(value.as_bytes());
    }

    /// Marks the message as illegal. If the message is already illegal, the first reason stays.
    #[inline]
    pub(crate) fn refuse(&mut self, reason: EncodeError) {
        self.refused.get_or_insert(reason);
    }

    /// Marks the message as illegal if the format does not allow a value.
    #[inline]
    pub(crate) fn require(&mut self, legal: bool, field: Field) {
        if !legal {
            self.refuse(EncodeError::Illegal { field });
        }
    }

    /// Marks the message as illegal if a field is longer than `max`.
    #[inline]
    pub(crate) fn require_len(&mut self, field: Field, len: usize, max: usize) {
        if len > max {
            self.refuse(EncodeError::TooLong { field, len, max });
        }
    }
}

/// Returns the number of bytes that `write` writes.
#[inline]
pub(crate) fn measure(write: impl FnOnce(&mut Writer<'_>)) -> usize {
    let mut writer = Writer::new(&mut []);
    write(&mut writer);
    writer.len
}

/// Writes to the start of `buf`, if all values are legal and the message fits.
#[inline]
pub(crate) fn encode(
    buf: &mut [u8],
    write: impl Fn(&mut Writer<'_>),
) -> Result<usize, EncodeError> {
    let mut dry = Writer::new(&mut []);
    write(&mut dry);
    if let Some(reason) = dry.refused {
        return Err(reason);
    }
    let (need, have) = (dry.len, buf.len());
    if need > have {
        return Err(EncodeError::BufferTooSmall { need, have });
    }
    write(&mut Writer::new(buf));
    Ok(need)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_unless_everything_fits() {
        let mut buf = [0xaa; 4];
        let long = |w: &mut Writer<'_>| {
            w.bytes(&[1, 2, 3]);
            w.bytes(&[4, 5]);
        };
        let error = encode(&mut buf, long).unwrap_err();
        assert_eq!(error, EncodeError::BufferTooSmall { need: 5, have: 4 });
        assert_eq!(buf, [0xaa; 4]);
        assert_eq!(measure(long), 5);
    }

    #[test]
    fn the_first_reason_to_refuse_is_reported() {
        let mut buf = [0xaa; 4];
        let error = encode(&mut buf, |w| {
            w.bytes(&[1]);
            w.require(true, Field::Id);
            w.require_len(Field::Data, 3, 2);
            w.require(false, Field::Kind);
        });
        let (field, len, max) = (Field::Data, 3, 2);
        assert_eq!(error, Err(EncodeError::TooLong { field, len, max }));
        assert_eq!(buf, [0xaa; 4]);
    }
}
