//! A segment of stations in separate namespaces, each with an `eth0`. The capture and the switch of the tests do not
//! run, so they cost no time.

use std::fmt;

use anyhow::Result;
pub(crate) use ring_segment::Node as Place;
use ring_segment::{Layout, Segment};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "not every benchmark uses both kinds")]
pub(crate) enum Kind {
    /// A veth pair between two stations.
    Pair,
    /// The kernel's bridge.
    Bridge,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pair => "pair",
            Self::Bridge => "bridge",
        })
    }
}

#[derive(Debug)]
pub(crate) struct Fabric {
    /// Places of the stations, in ring order.
    pub places: Vec<Place>,
    _bridge: Option<Segment>,
}

impl Fabric {
    /// Makes a segment for `stations` stations. A pair has exactly two stations.
    pub(crate) fn new(kind: Kind, stations: usize) -> Result<Self> {
        if kind == Kind::Pair {
            return Ok(Self {
                places: Segment::pair()?.into(),
                _bridge: None,
            });
        }
        let bridge = Layout::new(stations).without_capture().bridge()?;
        Ok(Self {
            places: bridge.nodes().to_vec(),
            _bridge: Some(bridge),
        })
    }
}
