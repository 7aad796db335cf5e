//! One table a format: it makes the enum of kinds, the enum of messages, and the dispatch between
//! them and the files that know one message each.

/// Defines `Kind` and `Message` of a format from rows of
/// `number "DOCUMENT_NAME" Variant { fields } in module`; a message of its kind only has no fields and no module.
///
/// Each module has `read(&mut Reader) -> Result<fields, DecodeError>` for what follows the kind, with a tuple of several
/// fields, and `write(&mut Writer, fields…)`, its inverse.
macro_rules! messages {
    (
        $(#[$kind_meta:meta])* kind $kind:ident;
        $(#[$message_meta:meta])* message $message:ident;
        $(
            $(#[$meta:meta])*
            $number:literal $name:literal $variant:ident
            $({ $($(#[$field_meta:meta])* $field:ident: $ty:ty,)* } in $module:ident)?;
        )*
    ) => {
        $(#[$kind_meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $kind {
            $($(#[$meta])* $variant = $number,)*
        }

        impl $kind {
            /// Every kind, in the order of its number on the wire.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$variant),*];

            /// The kind with this number on the wire.
            #[inline]
            pub const fn from_wire(kind: u8) -> Option<Self> {
                match kind {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The name as the format's document spells it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl core::fmt::Display for $kind {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }

        $(#[$message_meta])*
        // Without a fixed representation the compiler keeps small fields beside the tag, and a decoded
        // message is then copied in pieces that stall the processor's store forwarding.
        #[repr(u8)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $message<'a> {
            $($(#[$meta])* $variant $({ $($(#[$field_meta])* $field: $ty,)* })?,)*
        }

        impl<'a> $message<'a> {
            /// The message's kind.
            #[inline]
            pub const fn kind(&self) -> $kind {
                match self {
                    $(Self::$variant { .. } => $kind::$variant,)*
                }
            }

            /// Reads what follows the kind.
            #[inline]
            #[allow(unused_parens, reason = "of one field there is no tuple")]
            pub(crate) fn read(
                kind: $kind,
                reader: &mut $crate::reader::Reader<'a>,
            ) -> Result<Self, $crate::DecodeError> {
                match kind {
                    $($kind::$variant => {
                        $(let ($($field),*) = $module::read(reader)?;)?
                        Ok(Self::$variant $({ $($field),* })?)
                    })*
                }
            }

            /// Writes what follows the kind.
            #[inline]
            pub(crate) fn write(&self, writer: &mut $crate::writer::Writer<'_>) {
                match *self {
                    $(Self::$variant $({ $($field),* })? => {
                        $($module::write(writer $(, $field)*);)?
                    })*
                }
            }
        }
    };
}

pub(crate) use messages;
