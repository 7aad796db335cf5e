//! Fixed layouts with the names of their fields. With these names, an error can name the missing field. For valid
//! bytes, one check of the length is enough.

use zerocopy::byteorder::network_endian::{I32, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Field, MacAddr};

/// One field of a fixed layout.
pub(crate) struct LayoutField {
    name: Field,
    len: usize,
    parts: &'static [LayoutField],
}

impl LayoutField {
    /// Creates the field of type `T` with this name in the format's document.
    pub(crate) const fn of<T: Layout>(name: Field) -> Self {
        Self {
            name,
            len: size_of::<T>(),
            parts: T::FIELDS,
        }
    }
}

/// A type whose layout in memory is its wire format.
pub(crate) trait Layout:
    FromBytes + IntoBytes + KnownLayout + Immutable + Unaligned
{
    /// The fields in wire order. The list is empty for a type without named parts.
    const FIELDS: &'static [LayoutField];
}

macro_rules! without_parts {
    ($($ty:ty),*) => { $(impl Layout for $ty { const FIELDS: &'static [LayoutField] = &[]; })* };
}

without_parts!(u8, U16, U32, U64, I32, MacAddr);

impl<const N: usize> Layout for [u8; N] {
    const FIELDS: &'static [LayoutField] = &[];
}

/// The first field of a layout that is not completely present in the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) field: Field,
    /// Offset of the field in the layout, in bytes.
    pub(crate) offset: usize,
    /// Length of the field, in bytes.
    pub(crate) need: usize,
    /// Number of the field's bytes that are present.
    pub(crate) have: usize,
}

/// Takes the fields of a layout, and the number of bytes that are present (`have`). Returns the first field that is not
/// completely present. If all fields are present, returns an empty gap after the last field.
pub(crate) fn first_gap(fields: &[LayoutField], have: usize) -> Gap {
    let mut offset = 0;
    for field in fields {
        let left = have.saturating_sub(offset);
        if left < field.len {
            if field.parts.is_empty() {
                return Gap {
                    field: field.name,
                    offset,
                    need: field.len,
                    have: left,
                };
            }
            let part = first_gap(field.parts, left);
            return Gap {
                offset: offset + part.offset,
                ..part
            };
        }
        offset += field.len;
    }
    Gap {
        field: Field::End,
        offset,
        need: 0,
        have: 0,
    }
}

/// Defines a fixed layout from rows of `field: Type = Name` in wire order, where `Name` is a [`Field`].
macro_rules! layout {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty = $wire:ident,)*
    }) => {
        $(#[$meta])*
        #[derive(
            Debug,
            Clone,
            Copy,
            PartialEq,
            Eq,
            zerocopy::FromBytes,
            zerocopy::IntoBytes,
            zerocopy::Immutable,
            zerocopy::KnownLayout,
            zerocopy::Unaligned,
        )]
        #[repr(C)]
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $ty,)*
        }

        impl $crate::layout::Layout for $name {
            const FIELDS: &'static [$crate::layout::LayoutField] =
                &[$($crate::layout::LayoutField::of::<$ty>($crate::Field::$wire)),*];
        }
    };
}

pub(crate) use layout;

#[cfg(test)]
mod tests {
    use super::*;

    layout! {
        struct Inner {
            a: U32 = Count,
            b: u8 = Method,
        }
    }

    layout! {
        struct Outer {
            first: U16 = Version,
            inner: Inner = Header,
            last: [u8; 3] = Address,
        }
    }

    #[test]
    fn a_gap_is_the_innermost_field_that_is_cut() {
        let at = |have| {
            let gap = first_gap(Outer::FIELDS, have);
            (gap.field, gap.offset, gap.need, gap.have)
        };
        assert_eq!(at(0), (Field::Version, 0, 2, 0));
        assert_eq!(at(1), (Field::Version, 0, 2, 1));
        assert_eq!(at(2), (Field::Count, 2, 4, 0));
        assert_eq!(at(5), (Field::Count, 2, 4, 3));
        assert_eq!(at(6), (Field::Method, 6, 1, 0));
        assert_eq!(at(9), (Field::Address, 7, 3, 2));
        assert_eq!(at(10), (Field::End, 10, 0, 0));
    }
}
