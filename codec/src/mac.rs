//! MAC addresses.

use core::cmp::Ordering;
use core::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A MAC address. Addresses are ordered like their six bytes.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Default,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// The broadcast address, `ff:ff:ff:ff:ff:ff`.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether this is the address of a single machine. Such an address is neither all zero nor a group address. The
    /// broadcast address is a group address.
    #[inline]
    pub const fn is_unicast(self) -> bool {
        // The lowest bit of the first byte marks a group.
        self.number() != 0 && self.0[0] & 1 == 0
    }

    /// Returns the six bytes as one number.
    #[inline]
    const fn number(self) -> u64 {
        // The comparison of one number is faster than the comparison of six bytes. That comparison was the most
        // expensive part of reading a frame, and of finding a member.
        let [vendor @ .., x, y, z] = self.0;
        u64::from_be_bytes([0, 0, vendor[0], vendor[1], vendor[2], x, y, z])
    }
}

impl Ord for MacAddr {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.number().cmp(&other.number())
    }
}

impl PartialOrd for MacAddr {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let colon = if i == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// In a format for people, an address is a text, so that it can be a key of a map. In other formats it is six bytes.
impl Serialize for MacAddr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for MacAddr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(TextVisitor)
        } else {
            Deserialize::deserialize(deserializer).map(Self)
        }
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = MacAddr;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a MAC address")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MacAddr, E> {
        let mut mac = MacAddr::default();
        let mut parts = text.split(':');
        for byte in &mut mac.0 {
            let part = parts
                .next()
                .and_then(|part| u8::from_str_radix(part, 16).ok());
            *byte = part.ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))?;
        }
        match parts.next() {
            None => Ok(mac),
            Some(_) => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn a_station_is_neither_nobody_nor_a_group() {
        assert!(MacAddr([2, 0, 0, 0, 0, 1]).is_unicast());
        assert!(MacAddr([0, 0, 0, 0, 0, 1]).is_unicast());
        assert!(MacAddr([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff]).is_unicast());
        assert!(!MacAddr([0; 6]).is_unicast());
        assert!(!MacAddr::BROADCAST.is_unicast());
        assert!(!MacAddr([1, 0, 0x5e, 0, 0, 1]).is_unicast());
    }

    #[test]
    fn it_is_written_as_people_write_it() {
        let mac = MacAddr([0x02, 0, 0xab, 0xcd, 0, 0x0f]);
        assert_eq!(
            format!("{mac} {mac:?}"),
            "02:00:ab:cd:00:0f 02:00:ab:cd:00:0f"
        );
    }
}
