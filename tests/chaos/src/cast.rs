//! Who takes part in a run.

use ring_segment::MacAddr;
use serde::{Deserialize, Serialize};

/// A station's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A real `ringd`.
    Daemon,
    /// A member by the second implementation, which wants the token.
    Member,
    /// Sends what it should not.
    Stranger,
}

/// A station.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Station {
    /// As the report calls it.
    pub name: String,
    /// Its address on the segment.
    pub mac: String,
    /// Its part.
    pub part: Part,
}

impl Station {
    /// Its address.
    pub fn address(&self) -> MacAddr {
        // The run itself wrote it; one that was edited matches no frame.
        self.mac.parse().unwrap_or_default()
    }
}

/// The stations by place, which is also the port of the switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cast(pub Vec<Station>);

impl Cast {
    /// Daemons first, then members, then the stranger.
    pub fn new(macs: &[MacAddr], daemons: usize, members: usize) -> Self {
        let stations = macs.iter().enumerate().map(|(place, mac)| {
            let (part, name) = if place < daemons {
                (Part::Daemon, format!("ringd {}", place + 1))
            } else if place < daemons + members {
                (Part::Member, format!("member {}", place + 1))
            } else {
                (Part::Stranger, "stranger".to_owned())
            };
            Station {
                name,
                mac: mac.to_string(),
                part,
            }
        });
        Self(stations.collect())
    }

    /// The places of those with a part.
    pub fn places(&self, part: Part) -> impl Iterator<Item = usize> + '_ {
        let stations = self.0.iter().enumerate();
        stations
            .filter(move |(_, station)| station.part == part)
            .map(|(place, _)| place)
    }

    /// The places of all who are in the ring.
    pub fn ring(&self) -> Vec<usize> {
        self.places(Part::Daemon)
            .chain(self.places(Part::Member))
            .collect()
    }

    /// The place of an address.
    pub fn place_of(&self, mac: MacAddr) -> Option<usize> {
        self.0.iter().position(|station| station.address() == mac)
    }

    /// What to call a place.
    pub fn name(&self, place: usize) -> &str {
        self.0.get(place).map_or("?", |station| &station.name)
    }
}
