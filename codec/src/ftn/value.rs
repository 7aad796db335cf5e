//! Values within messages.

use super::wire;
use crate::list::{Item, List};
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{DecodeError, Field, Problem};

/// Defines enums whose variants are ints on the wire.
macro_rules! int_enum {
    ($(
        $(#[$meta:meta])* $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $value:literal,)*
        }
    )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(i8)]
        pub enum $name {
            $($(#[$variant_meta])* $variant = $value,)*
        }

        impl $name {
            /// Returns the value with this number on the wire.
            pub const fn from_wire(value: i32) -> Option<Self> {
                match value {
                    $($value => Some(Self::$variant),)*
                    _ => None,
                }
            }

            pub(super) fn read_field(
                reader: &mut Reader<'_>,
                field: Field,
            ) -> Result<Self, DecodeError> {
                wire::decode_enum(reader, field, Self::from_wire)
            }

            pub(super) fn put(self, writer: &mut Writer<'_>) {
                wire::put(writer, self as i8);
            }
        }
    )* };
}

int_enum! {
    /// State of a server.
    ServerState {
        /// The server is responsible for no token.
        Down = 0,
        /// The server is responsible for tokens that it does not know yet.
        Booting = 1,
        /// The server serves its tokens.
        Ready = 2,
    }

    /// Kind of hold.
    Access {
        /// Several clients hold the token, for reading.
        Shared = 1,
        /// Only one client holds the token.
        Exclusive = -1,
    }

    /// Changes that a RETURN requests.
    Flags {
        /// Sets the data of the token.
        Update = 1,
        /// Gives the token up.
        Deassign = 2,
        /// Sets the data and gives the token up in one step.
        Both = 3,
    }
}

/// A token: a name and its data. The name and the data may consist of any bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token<'a> {
    /// Name of the token.
    pub name: &'a [u8],
    /// Data of the token.
    pub data: &'a [u8],
}

/// A session in the leader's announcement (not in the FTN documents).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListedSession<'a> {
    /// Id of the session.
    pub id: i32,
    /// Address of its client, as `address:port`.
    pub address: &'a [u8],
}

/// Holders of a token (not in the FTN documents).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holders<'a> {
    /// No client holds the token.
    Nobody,
    /// One client holds the token exclusively.
    Exclusive(i32),
    /// At least one client shares the token.
    Shared(List<'a, i32>),
}

/// A token in a TRANSFER, with its holders (not in the FTN documents).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment<'a> {
    /// Token with its data.
    pub token: Token<'a>,
    /// Holders of the token.
    pub holders: Holders<'a>,
}

impl<'a> Item<'a> for i32 {
    const MIN_LEN: usize = 1;

    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        wire::int(reader, Field::Id)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        wire::put(writer, *self);
    }
}

impl<'a> Item<'a> for ServerState {
    const MIN_LEN: usize = 1;

    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Self::read_field(reader, Field::Sstate)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.put(writer);
    }
}

impl<'a> Item<'a> for Token<'a> {
    const MIN_LEN: usize = 2;

    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            name: wire::string(reader, Field::Name)?,
            data: wire::string(reader, Field::Data)?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        wire::put_string(writer, Field::Name, self.name);
        wire::put_string(writer, Field::Data, self.data);
    }
}

impl<'a> Item<'a> for ListedSession<'a> {
    const MIN_LEN: usize = 2;

    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            id: wire::int(reader, Field::Id)?,
            address: wire::string(reader, Field::Address)?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        wire::put(writer, self.id);
        wire::put_string(writer, Field::Address, self.address);
    }
}

/// The number in the field `access` if no client holds the token.
const NO_ACCESS: i32 = 0;

impl<'a> Holders<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let access = wire::decode_enum(reader, Field::Access, |value| match value {
            NO_ACCESS => Some(None),
            _ => Access::from_wire(value).map(Some),
        })?;
        let offset = reader.offset();
        let count = wire::length(reader, Field::Holders)?;
        let expected = match access {
            None => 0,
            Some(Access::Exclusive) => 1,
            Some(Access::Shared) => count.max(1),
        };
        if count != expected {
            let (value, expected) = (count as u64, expected as u64);
            let problem = Problem::WrongLength { value, expected };
            return Err(DecodeError::new(Field::Holders, offset, problem));
        }
        Ok(match access {
            None => Self::Nobody,
            Some(Access::Exclusive) => Self::Exclusive(wire::int(reader, Field::Id)?),
            Some(Access::Shared) => Self::Shared(List::read(reader, count)?),
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Nobody => {
                wire::put(writer, NO_ACCESS);
                put_array(writer, Field::Holders, List::<i32>::default());
            }
            Self::Exclusive(id) => {
                Access::Exclusive.put(writer);
                put_array(writer, Field::Holders, List::from(&[*id]));
            }
            Self::Shared(ids) => {
                writer.require(!ids.is_empty(), Field::Holders);
                Access::Shared.put(writer);
                put_array(writer, Field::Holders, *ids);
            }
        }
    }
}

impl<'a> Item<'a> for Assignment<'a> {
    const MIN_LEN: usize = 4;

    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            token: Token::read(reader)?,
            holders: Holders::read(reader)?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.token.write(writer);
        self.holders.write(writer);
    }
}

pub(super) fn array<'a, T: Item<'a>>(
    reader: &mut Reader<'a>,
    field: Field,
) -> Result<List<'a, T>, DecodeError> {
    let count = wire::length(reader, field)?;
    List::read(reader, count)
}

pub(super) fn put_array<'a, T: Item<'a>>(
    writer: &mut Writer<'_>,
    field: Field,
    entries: List<'a, T>,
) {
    wire::put_length(writer, field, entries.len());
    entries.write(writer);
}
