//! The macro that defines a format from one table. The macro defines the enum of kinds and the enum of messages. The
//! macro also generates the code that calls the functions of each message's module.

/// Defines the enums of kinds and messages of a format from rows of `number "DOCUMENT_NAME" Variant { fields } in
/// module`. A message without fields has no module.
///
/// Each module has `read(&mut Reader) -> Result<fields, DecodeError>` for the bytes after the kind. If a message has
/// several fields, `read` returns them as a tuple. The inverse of `read` is `write(&mut Writer, fields…)`.
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
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
        )]
        #[repr(u8)]
        pub enum $kind {
            $($(#[$meta])* $variant = $number,)*
        }

        impl $kind {
            /// All kinds, in the order of their numbers on the wire.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$variant),*];

            /// Returns the kind with this number on the wire.
            #[inline]
            pub const fn from_wire(kind: u8) -> Option<Self> {
                match kind {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the name in the spelling of the format's document.
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
        // Without a fixed representation the compiler would place small fields next to the tag. The processor would
        // then copy a decoded message in pieces that stall its store forwarding.
        #[repr(u8)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $message<'a> {
            $($(#[$meta])* $variant $({ $($(#[$field_meta])* $field: $ty,)* })?,)*
        }

        impl<'a> $message<'a> {
            /// Returns the message's kind.
            #[inline]
            pub const fn kind(&self) -> $kind {
                match self {
                    $(Self::$variant { .. } => $kind::$variant,)*
                }
            }

            /// Reads the fields after the kind.
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

            /// Writes the fields after the kind.
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
