//! Names, requests and views of named locks (`docs/reference/lab2/locks.md`).

use std::fmt::{self, Write};
use std::time::Duration;

use ring_codec::MacAddr;
use ring_codec::lab2::{
    LockMode, MAX_LOCK_NAME_LEN, MAX_LOCK_PROGRAM_LEN, Token, locks::pack_program, stamps::is_name,
};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::lab2::Grade;

/// A lock's name: 1 to 64 printable ASCII characters without blanks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockName([u8; MAX_LOCK_NAME_LEN]);

impl LockName {
    /// Parses a name from a text. Returns `None` if the text is not a valid name.
    pub fn new(text: &str) -> Option<Self> {
        let mut name = [0; MAX_LOCK_NAME_LEN];
        name.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Self::from_bytes(name)
    }

    /// Decodes a name from the bytes in a frame. Returns `None` if the bytes are not a valid name.
    pub fn from_bytes(name: [u8; MAX_LOCK_NAME_LEN]) -> Option<Self> {
        is_name(&name).then_some(Self(name))
    }

    /// Returns the encoding of the name in frames.
    pub const fn bytes(&self) -> &[u8; MAX_LOCK_NAME_LEN] {
        &self.0
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut letters = self.0.iter().take_while(|&&byte| byte != 0);
        letters.try_for_each(|&byte| f.write_char(char::from(byte)))
    }
}

impl fmt::Debug for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for LockName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LockName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || D::Error::invalid_value(Unexpected::Str(&text), &"the name of a lock");
        Self::new(&text).ok_or_else(wrong)
    }
}

/// The name of the program that takes a lock, for people. A longer name is shortened.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
pub struct LockProgram([u8; MAX_LOCK_PROGRAM_LEN]);

impl LockProgram {
    /// Creates the name from a text.
    pub fn new(text: &str) -> Self {
        Self(pack_program(text))
    }

    /// Decodes the name from the bytes in a frame.
    pub const fn from_bytes(name: [u8; MAX_LOCK_PROGRAM_LEN]) -> Self {
        Self(name)
    }

    /// Returns the encoding of the name in frames.
    pub const fn bytes(&self) -> &[u8; MAX_LOCK_PROGRAM_LEN] {
        &self.0
    }

    /// Returns the name as a text.
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|&byte| byte == 0);
        std::str::from_utf8(&self.0[..len.unwrap_or(self.0.len())]).unwrap_or_default()
    }
}

/// The request of an application for a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct LockRequest {
    /// A number that this node has not used for another request. It must not be used again after a restart either.
    pub session: u64,
    /// The name of the lock.
    pub name: LockName,
    /// Whether other members may hold the lock at the same time, in this mode.
    pub mode: LockMode,
    /// The grade that the owner of the token must have when it grants the lock.
    pub grade: Grade,
    /// The program that takes the lock.
    pub program: LockProgram,
}

/// A lock that a session holds, or that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LockView {
    /// The name of the lock.
    pub name: LockName,
    /// The member whose program holds the lock or waits for it.
    pub member: MacAddr,
    /// The number of the session at this member.
    pub session: u64,
    /// Whether other members may hold the lock at the same time.
    pub mode: LockMode,
    /// The grade that the session requires.
    pub grade: Grade,
    /// Whether the session holds the lock. Otherwise it waits.
    pub is_held: bool,
    /// The place in the queue of this name: smaller numbers come first.
    pub place: u64,
    /// The fencing token of a held lock.
    pub fence: Token,
    /// The time since the session asked for the lock.
    pub age: Duration,
    /// The program.
    pub program: LockProgram,
}
