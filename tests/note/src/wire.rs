//! The bytes. All integers are big-endian.
//!
//! ```text
//! announcement  "NOTE" number u64 author u64 port u16          a datagram, 22 bytes
//! request       "GET " number u64 author u64                   at least this version, 20 bytes
//! answer        "NOTE" number u64 author u64 sum u64 len u32   32 bytes, then the note and an end
//! ```

use super::Version;

/// Bytes of an announcement.
pub const ANNOUNCEMENT: usize = 22;
/// Bytes of a request.
pub const REQUEST: usize = 20;
/// Bytes of an answer's header.
pub const HEADER: usize = 32;
/// The longest note, in bytes.
pub const MAX_NOTE: usize = 1 << 20;

const NOTE: &[u8; 4] = b"NOTE";
const GET: &[u8; 4] = b"GET ";

/// An announced version and the port that serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announcement {
    /// The version.
    pub version: Version,
    /// The port.
    pub port: u16,
}

/// What an answer says of the note behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The version.
    pub version: Version,
    /// XXH3-64 of the note.
    pub sum: u64,
    /// Its length in bytes; at most [`MAX_NOTE`].
    pub len: usize,
}

impl Announcement {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ANNOUNCEMENT] {
        let mut bytes = [0; ANNOUNCEMENT];
        bytes[..4].copy_from_slice(NOTE);
        put(&mut bytes[4..20], self.version);
        bytes[20..].copy_from_slice(&self.port.to_be_bytes());
        bytes
    }

    /// Reads one; `None`: the bytes are none.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; ANNOUNCEMENT] = bytes.try_into().ok()?;
        (bytes[..4] == *NOTE).then(|| Self {
            version: version(&bytes[4..20]),
            port: u16::from_be_bytes([bytes[20], bytes[21]]),
        })
    }
}

/// The request for at least a version.
#[must_use]
pub fn request(wanted: Version) -> [u8; REQUEST] {
    let mut bytes = [0; REQUEST];
    bytes[..4].copy_from_slice(GET);
    put(&mut bytes[4..], wanted);
    bytes
}

/// The version that a request asks for; `None`: the bytes are no request.
#[must_use]
pub fn requested(bytes: &[u8]) -> Option<Version> {
    let bytes: &[u8; REQUEST] = bytes.try_into().ok()?;
    (bytes[..4] == *GET).then(|| version(&bytes[4..]))
}

impl Header {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(NOTE);
        put(&mut bytes[4..20], self.version);
        bytes[20..28].copy_from_slice(&self.sum.to_be_bytes());
        let len = u32::try_from(self.len).unwrap_or(u32::MAX);
        bytes[28..].copy_from_slice(&len.to_be_bytes());
        bytes
    }

    /// Reads one; `None`: the bytes are none, or announce a note that is too long.
    #[must_use]
    pub fn decode(bytes: &[u8; HEADER]) -> Option<Self> {
        let len = u32::from_be_bytes([bytes[28], bytes[29], bytes[30], bytes[31]]);
        let header = Self {
            version: version(&bytes[4..20]),
            sum: number(&bytes[20..28]),
            len: usize::try_from(len).ok()?,
        };
        (bytes[..4] == *NOTE && header.len <= MAX_NOTE).then_some(header)
    }
}

fn put(bytes: &mut [u8], version: Version) {
    bytes[..8].copy_from_slice(&version.number.to_be_bytes());
    bytes[8..].copy_from_slice(&version.author.to_be_bytes());
}

fn version(bytes: &[u8]) -> Version {
    Version {
        number: number(&bytes[..8]),
        author: number(&bytes[8..]),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}
