//! Errors of decoding and encoding, shared by all four formats.

use core::fmt;

use crate::Field;

/// The reason why bytes are not a valid message: a field, its offset and the problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// The field.
    pub field: Field,
    /// The offset of the field in the input, in bytes.
    pub offset: usize,
    /// The problem.
    pub problem: Problem,
}

impl DecodeError {
    pub(crate) const fn new(field: Field, offset: usize, problem: Problem) -> Self {
        Self {
            field,
            offset,
            problem,
        }
    }

    /// Whether the only problem is that the input ends too early.
    pub const fn is_truncated(&self) -> bool {
        matches!(self.problem, Problem::Truncated { .. })
    }
}

/// A problem with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The input ends before the end of the field.
    Truncated {
        /// Length of the field, in bytes.
        need: usize,
        /// Bytes that are left at the field's offset.
        have: usize,
    },
    /// The format does not define this value.
    Unknown {
        /// The value found.
        value: u64,
    },
    /// A reserved field is not zero.
    Reserved {
        /// The value found.
        value: u64,
    },
    /// The value is larger than the format allows.
    TooLarge {
        /// The value found.
        value: u64,
        /// The largest allowed value.
        max: u64,
    },
    /// The value fits the field's type, but the format does not allow it.
    Illegal {
        /// The value found.
        value: i64,
    },
    /// An integer of variable length needs more bits than the field has.
    DoesNotFit {
        /// Width of the field in bits, including the sign bit.
        bits: u32,
    },
    /// A length or count contradicts other fields of the message.
    WrongLength {
        /// The value found.
        value: u64,
        /// The value that the other fields require.
        expected: u64,
    },
    /// The message's kind exists, but this transport does not carry messages of that kind.
    OtherTransport {
        /// The kind found.
        value: u64,
    },
    /// Bytes follow the message in a datagram.
    Trailing {
        /// Number of these bytes.
        extra: usize,
    },
    /// The address does not belong to a single machine: it is all zero, a group address or the broadcast address.
    NotUnicast,
    /// The message's author is not the sender of the frame.
    NotTheSource,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}: ", self.field, self.offset)?;
        match self.problem {
            Problem::Truncated { need, have } => write!(f, "needs {need} bytes, has {have}"),
            Problem::Unknown { value } => write!(f, "unknown value {value}"),
            Problem::Reserved { value } => write!(f, "reserved, but {value}"),
            Problem::TooLarge { value, max } => write!(f, "{value} is above {max}"),
            Problem::Illegal { value } => write!(f, "{value} is not a legal value"),
            Problem::DoesNotFit { bits } => write!(f, "does not fit {bits} bits"),
            Problem::WrongLength { value, expected } => {
                write!(f, "{value} instead of {expected}")
            }
            Problem::OtherTransport { value } => {
                write!(f, "this transport does not carry {value}")
            }
            Problem::Trailing { extra } => write!(f, "{extra} bytes after the message"),
            Problem::NotUnicast => f.write_str("not the address of a single machine"),
            Problem::NotTheSource => f.write_str("not the frame's source address"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// The reason why a message was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer does not hold the message.
    BufferTooSmall {
        /// Length of the message, in bytes.
        need: usize,
        /// Length of the buffer, in bytes.
        have: usize,
    },
    /// A variable-length field is longer than the format allows.
    TooLong {
        /// The field.
        field: Field,
        /// Length of the value, in the field's unit.
        len: usize,
        /// The largest allowed length.
        max: usize,
    },
    /// The format does not allow the value of a field.
    Illegal {
        /// The field.
        field: Field,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BufferTooSmall { need, have } => {
                write!(f, "the message takes {need} bytes, the buffer has {have}")
            }
            Self::TooLong { field, len, max } => write!(f, "{field}: {len} is above {max}"),
            Self::Illegal { field } => write!(f, "{field}: not a legal value"),
        }
    }
}

impl core::error::Error for EncodeError {}
