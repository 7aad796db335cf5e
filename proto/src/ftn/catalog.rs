//! Entries of a CATALOG (`docs/token-service/protocol/conventions.md` C5 to C7). An entry with the empty name is a
//! marker. The first marker names the survey, and each later marker names the kind of hold for the tokens that follow
//! the marker. The client writes a CATALOG and a server reads it.

use std::fmt::{self, Write as _};
use std::str;

/// First entry of a CATALOG. The entry names the survey that the CATALOG answers, and the part of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marker {
    /// C: number of the configuration of the survey that the CATALOG answers.
    pub configuration: u64,
    /// PART: number of this part, from 0.
    pub part: u32,
    /// PARTS: number of parts, at least 1.
    pub parts: u32,
    /// FLOOR: a message of this session about a token is late if its msgnum is below FLOOR.
    pub floor: i64,
}

impl Marker {
    /// Parses the data of a first entry. Returns `None` if the data are not a marker.
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

// Only digits are accepted, because `from_str` would also accept a sign.
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

/// Kind of hold that a client lists for a token in its CATALOG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
// The kinds are ordered, because a CATALOG lists its tokens sorted by kind.
pub enum HoldKind {
    /// `x`: exclusively.
    Exclusive,
    /// `u`: shared, and a server confirmed an update of this client after the grant.
    Updated,
    /// `s`: shared.
    Shared,
    /// `rx`: exclusive, and a RETURN with DEASSIGN is outstanding.
    ReturningExclusive,
    /// `rs`: shared, and a RETURN with DEASSIGN is outstanding.
    ReturningShared,
    /// `?`: unknown, because the token has no marker of a kind before it.
    Unknown,
}

impl HoldKind {
    /// All kinds that a marker can name.
    // `?` is missing here, because it means that there is no marker.
    pub const NAMED: [Self; 5] = [
        Self::Exclusive,
        Self::Updated,
        Self::Shared,
        Self::ReturningExclusive,
        Self::ReturningShared,
    ];

    /// Parses the data of a later marker. Returns `None` if the data do not specify a kind.
    pub fn parse(data: &[u8]) -> Option<Self> {
        let mut named = Self::NAMED.into_iter();
        named.find(|kind| kind.name().as_bytes() == data)
    }

    /// Returns the kind's name. This name is the data of the kind's marker.
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

impl fmt::Display for HoldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns a token's name in hexadecimal digits, for listings.
pub fn hex_digits(name: &[u8]) -> String {
    name.iter()
        // The digits are hexadecimal, because a name may contain any bytes.
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
        for kind in HoldKind::NAMED {
            assert_eq!(HoldKind::parse(kind.name().as_bytes()), Some(kind));
        }
        assert_eq!(HoldKind::parse(b"?"), None);
    }
}
