//! What the entries of a CATALOG mean: markers, which are tokens of the empty name, and how the tokens behind
//! them are held (`docs/ftn.md`, section 2). A client writes them, a server reads them.

use std::fmt::{self, Write as _};
use std::str;

/// The first entry: what the CATALOG answers, and which part of the answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// C: the configuration that is answered.
    pub configuration: u64,
    /// PART: which part this is, from 0.
    pub part: u32,
    /// PARTS: how many there are, at least 1.
    pub parts: u32,
    /// FLOOR: from this session messages about tokens with a lower msgnum are late.
    pub floor: i64,
}

impl Marker {
    /// Reads the data of a first entry; `None`: they are not those of one.
    pub fn parse(data: &[u8]) -> Option<Self> {
        let mut fields = str::from_utf8(data).ok()?.split(' ');
        let marker = Self {
            configuration: number(fields.next()?)?,
            part: number(fields.next()?)?,
            parts: number(fields.next()?)?,
            floor: number(fields.next()?)?,
        };
        let is_whole = fields.next().is_none() && marker.part < marker.parts;
        is_whole.then_some(marker)
    }
}

/// Digits alone: `from_str` would also take a sign.
fn number<T: str::FromStr>(digits: &str) -> Option<T> {
    let is_decimal = digits.bytes().all(|digit| digit.is_ascii_digit());
    is_decimal.then(|| digits.parse().ok()).flatten()
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            configuration,
            part,
            parts,
            floor,
        } = self;
        write!(f, "{configuration} {part} {parts} {floor}")
    }
}

/// How a client holds a token of its CATALOG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holding {
    /// `x`: exclusive.
    Exclusive,
    /// `u`: shared, and updated by this client since.
    Updated,
    /// `s`: shared.
    Shared,
    /// `rx`: exclusive, and a RETURN with DEASSIGN is under way.
    ReturningExclusive,
    /// `rs`: shared, and a RETURN with DEASSIGN is under way.
    ReturningShared,
    /// `?`: not told, by a client that sends no markers.
    Unknown,
}

impl Holding {
    /// Every kind that a marker can name.
    pub const NAMED: [Self; 5] = [
        Self::Exclusive,
        Self::Updated,
        Self::Shared,
        Self::ReturningExclusive,
        Self::ReturningShared,
    ];

    /// Reads the data of a later marker; `None`: they name no kind.
    pub fn parse(data: &[u8]) -> Option<Self> {
        let mut named = Self::NAMED.into_iter();
        named.find(|kind| kind.name().as_bytes() == data)
    }

    /// Its name, the data of its marker.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exclusive => "x",
            Self::Updated => "u",
            Self::Shared => "s",
            Self::ReturningExclusive => "rx",
            Self::ReturningShared => "rs",
            Self::Unknown => "?",
        }
    }
}

impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name of a token as listings show it: hexadecimal digits.
pub fn hex(name: &[u8]) -> String {
    name.iter()
        .fold(String::with_capacity(2 * name.len()), |mut digits, byte| {
            // Writing to a string does not fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_read_as_they_are_written_and_nothing_else_is_one() {
        let marker = Marker {
            configuration: 7,
            part: 1,
            parts: 3,
            floor: i64::MAX,
        };
        assert_eq!(Marker::parse(marker.to_string().as_bytes()), Some(marker));
        for wrong in [
            "",
            "7 1 3",
            "7 1 3 4 5",
            "7 3 3 4",
            "7 -1 3 4",
            "+7 1 3 4",
            "7  1 3 4",
            "x 1 3 4",
            "7 1 3 ",
        ] {
            assert_eq!(Marker::parse(wrong.as_bytes()), None, "{wrong}");
        }
        for kind in Holding::NAMED {
            assert_eq!(Holding::parse(kind.name().as_bytes()), Some(kind));
        }
        assert_eq!(Holding::parse(b"?"), None);
    }
}
