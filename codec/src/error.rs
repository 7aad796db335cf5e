//! The one error type of all four formats.

use core::fmt;

use crate::Field;

/// Why bytes are not a message: which field, where, and what is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// The field.
    pub field: Field,
    /// Where the field begins, in bytes from the start of the input.
    pub offset: usize,
    /// What is wrong with it.
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

    /// Whether nothing is wrong but that the input ends too soon.
    pub const fn is_truncated(&self) -> bool {
        matches!(self.problem, Problem::Truncated { .. })
    }
}

/// What can be wrong with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The input ends before the field does.
    Truncated {
        /// Bytes that the field takes.
        need: usize,
        /// Bytes that are left at its offset.
        have: usize,
    },
    /// The value is none of those that the format defines.
    Unknown {
        /// The value found.
        value: u64,
    },
    /// A reserved field is not zero.
    Reserved {
        /// The value found.
        value: u64,
    },
    /// The value is above what the format allows.
    TooLarge {
        /// The value found.
        value: u64,
        /// The largest that is allowed.
        max: u64,
    },
    /// The value is within the field's type, but not one that the format allows.
    Illegal {
        /// The value found.
        value: i64,
    },
    /// An integer of variable length needs more bits than the field has.
    DoesNotFit {
        /// The field's width, sign included.
        bits: u32,
    },
    /// A length or count is not the one that the message's other fields call for.
    WrongLength {
        /// The value found.
        value: u64,
        /// The value called for.
        expected: u64,
    },
    /// The kind exists, but does not travel over this transport.
    OtherTransport {
        /// The kind found.
        value: u64,
    },
    /// A datagram goes on after its message.
    Trailing {
        /// Bytes too many.
        extra: usize,
    },
    /// A station's address is all zero, a group address or the broadcast address.
    NotAStation,
    /// The message's author is not the station that the frame came from.
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
                write!(f, "{value}, where {expected} is called for")
            }
            Problem::OtherTransport { value } => {
                write!(f, "{value} does not travel over this transport")
            }
            Problem::Trailing { extra } => write!(f, "{extra} bytes after the message"),
            Problem::NotAStation => f.write_str("not the address of a single station"),
            Problem::NotTheSource => f.write_str("not the frame's source address"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Why a message was not written: the caller's buffer is too small, or the message is not legal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer does not hold the message.
    BufferTooSmall {
        /// Bytes that the message takes.
        need: usize,
        /// Bytes that the buffer has.
        have: usize,
    },
    /// A variable-length field is longer than the format allows.
    TooLong {
        /// The field.
        field: Field,
        /// Its length, in the field's own unit.
        len: usize,
        /// The longest that is allowed.
        max: usize,
    },
    /// A field's value is none that the format allows.
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
