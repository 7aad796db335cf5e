//! Stations of a run.

use ring_segment::MacAddr;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StationRole {
    Daemon,
    /// A member of the second implementation. It often wants the token.
    Member,
    /// A station that sends invalid frames.
    Stranger,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Station {
    pub name: String,
    pub mac: String,
    pub part: StationRole,
}

impl Station {
    pub fn address(&self) -> MacAddr {
        // The run wrote this address. If a person has edited the address, it matches no frame.
        self.mac.parse().unwrap_or_default()
    }
}

/// Stations by place. The place of a station is also its port on the switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stations(pub Vec<Station>);

impl Stations {
    /// Makes the list of stations: first the daemons, then the members, then the stranger.
    pub fn new(macs: &[MacAddr], daemons: usize, members: usize) -> Self {
        let stations = macs.iter().enumerate().map(|(place, mac)| {
            let (part, name) = if place < daemons {
                (StationRole::Daemon, format!("ringd {}", place + 1))
            } else if place < daemons + members {
                (StationRole::Member, format!("member {}", place + 1))
            } else {
                (StationRole::Stranger, "stranger".to_owned())
            };
            Station {
                name,
                mac: mac.to_string(),
                part,
            }
        });
        Self(stations.collect())
    }

    /// Returns the places of the stations with this role.
    pub fn places(&self, part: StationRole) -> impl Iterator<Item = usize> + '_ {
        let stations = self.0.iter().enumerate();
        stations
            .filter(move |(_, station)| station.part == part)
            .map(|(place, _)| place)
    }

    /// Returns the places of all members of the ring.
    pub fn ring(&self) -> Vec<usize> {
        self.places(StationRole::Daemon)
            .chain(self.places(StationRole::Member))
            .collect()
    }

    pub fn place_of(&self, mac: MacAddr) -> Option<usize> {
        self.0.iter().position(|station| station.address() == mac)
    }

    /// Returns the name of the station at a place.
    pub fn name(&self, place: usize) -> &str {
        self.0.get(place).map_or("?", |station| &station.name)
    }
}
