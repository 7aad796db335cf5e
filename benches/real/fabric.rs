//! The segment: stations with an `eth0` each in a namespace of its own, and nothing that looks at
//! their frames. (A [`ring_segment::Segment`] on a bridge records them all, which costs.)

use std::fmt;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ring_codec::MacAddr;
use ring_segment::NetNs;

/// How long a new link may take to carry frames.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);

/// What joins the stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "not every bench needs both")]
pub(crate) enum Kind {
    /// A cable between two.
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

/// A place for one station.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its `eth0`'s address.
    pub mac: MacAddr,
    /// Where its `eth0` is.
    pub ns: NetNs,
}

/// A segment.
#[derive(Debug)]
pub(crate) struct Fabric {
    /// The stations' places, in ring order.
    pub places: Vec<Place>,
    _hub: NetNs,
}

impl Fabric {
    /// A segment for `stations`.
    ///
    /// # Errors
    /// The kernel has no veth devices or no bridge, or refuses.
    pub(crate) fn new(kind: Kind, stations: usize) -> Result<Self> {
        let hub = NetNs::new()?;
        if kind == Kind::Bridge {
            let bridge = "link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0\n\
                          link set br0 up\n";
            hub.ip(bridge)
                .context("cannot make a bridge: CONFIG_BRIDGE is needed")?;
        }
        let places = (1..=stations).map(|n| {
            let mac = MacAddr([2, 0, 0, 0, 0, u8::try_from(n)?]);
            let ns = NetNs::new()?;
            Ok(Place { mac, ns })
        });
        let places = places.collect::<Result<Vec<_>>>()?;
        match (kind, &places[..]) {
            (Kind::Bridge, places) => {
                for (at, place) in places.iter().enumerate() {
                    plug(&hub, at, place)?;
                }
            }
            (Kind::Pair, [left, right]) => {
                let here = format!("name eth0 address {}", left.mac);
                cable(&left.ns, &here, right)?;
                left.ns.ip("link set eth0 up\n")?;
            }
            (Kind::Pair, _) => anyhow::bail!("a pair has two stations"),
        }
        for place in &places {
            wait_for_link(&place.ns)?;
        }
        Ok(Self { places, _hub: hub })
    }
}

fn plug(hub: &NetNs, at: usize, place: &Place) -> Result<()> {
    cable(hub, &format!("name p{at}"), place)?;
    hub.ip(&format!("link set p{at} master br0\nlink set p{at} up\n"))
}

/// A cable from a device `here` in `ns` to the `eth0` of `place`.
fn cable(ns: &NetNs, here: &str, place: &Place) -> Result<()> {
    let mac = place.mac;
    place.ns.run(|| {
        // By number, since `thread-self` is another one to `ip`; as the mounted /proc counts them.
        let own = fs::read_link("/proc/thread-self").context("cannot read /proc/thread-self")?;
        let there = format!(
            "name eth0 address {mac} netns /proc/{}/ns/net",
            own.display()
        );
        ns.ip(&format!("link add {here} type veth peer {there}\n"))
    })??;
    place.ns.ip("link set eth0 up\n")
}

fn wait_for_link(ns: &NetNs) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !ns.ask_ip(&["link", "show", "eth0"])?.contains("LOWER_UP") {
        ensure!(Instant::now() < deadline, "eth0 does not come up");
        thread::sleep(POLL);
    }
    Ok(())
}
